"""The commands about a server: golden values, files of all kinds, studies that go on where they were."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import shlex
import subprocess
import sys
import tracemalloc
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from pdviz import cli, console
from pdviz.serving import study as studies
from pdviz.serving.account import runs_json
from pdviz.serving.measures import Targets
from pdviz.serving.outcome import Outcome
from pdviz.serving.plan import serve
from pdviz.serving.presets import steady_chat
from pdviz.serving.server import simulate

A = " ".join([f"{0.05 * i:.2f}:512>100" for i in range(8)] + ["0.29:16384>20"])
B = " ".join(f"{0.02 * i:.2f}:700>150" for i in range(8)) + " 0.05:5000>10"
POLICIES = ("static", "continuous", "chunked", "disaggregated", "interleaved")


@pytest.fixture(autouse=True)
def _a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pdviz.server_commands.cache_folder", lambda: tmp_path / "kept")


def run(*argv: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = cli.main(argv)
    return code, out.getvalue(), err.getvalue()


def answer(*argv: str) -> str:
    code, out, err = run(*argv)
    assert (code, err) == (0, "")
    return out


def complaint(*argv: str) -> str:
    code, out, err = run(*argv)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("pdviz: ")
    return err


def served(*argv: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(answer("serve", *argv, "--json"))
    return found


# --- serve


@pytest.mark.parametrize(
    ("policy", "passes", "longest_ms", "mean_gap_ms", "mean_ttft_ms", "long_ttft_ms", "last_ms"),
    [
        ("static", 200, 7.475, 7.328, 1032.413, 1080.809, 2108.834),
        ("continuous", 138, 651.078, 11.859, 215.940, 615.559, 1605.536),
        ("chunked", 171, 22.894, 10.018, 222.089, 630.833, 1605.017),
        ("disaggregated", 245, 52.022, 6.660, 213.534, 613.124, 1589.841),
    ],
)
def test_that_one_long_prompt_freezes_the_others_as_computed_by_hand(
    policy: str, passes: int, longest_ms: float, mean_gap_ms: float, mean_ttft_ms: float, long_ttft_ms: float,
    last_ms: float,
) -> None:  # fmt: skip
    found = served(A, "--policy", policy)
    rows = found["requests"]
    assert (found["policy"], found["passes"], found["preemptions"], found["rejected"]) == (
        policy,
        passes,
        0,
        [],
    )
    assert [row["output_tokens"] for row in rows] == [100] * 6 + [20, 100, 100]
    assert max(row["longest_gap_s"] for row in rows) * 1e3 == pytest.approx(longest_ms, abs=6e-4)
    assert found["summary"]["itl_s"]["mean"] * 1e3 == pytest.approx(mean_gap_ms, abs=6e-4)
    assert sum(row["ttft_s"] for row in rows) / 9 * 1e3 == pytest.approx(mean_ttft_ms, abs=6e-4)
    assert rows[6]["ttft_s"] * 1e3 == pytest.approx(long_ttft_ms, abs=6e-4)
    assert max(row["last_token_s"] for row in rows) * 1e3 == pytest.approx(last_ms, abs=6e-4)
    for row in rows:
        assert row["first_token_s"] - row["arrival_s"] == pytest.approx(row["ttft_s"])
        assert row["last_token_s"] - row["arrival_s"] == pytest.approx(row["e2e_s"])
    assert sum(found["summary"]["mean_parts_s"].values()) == pytest.approx(found["summary"]["e2e_s"]["mean"])


def test_that_what_does_not_fit_is_listed() -> None:
    found = served(B, "--policy", "continuous", "--capacity-tokens", "4000")
    assert (found["passes"], found["preemptions"], len(found["requests"])) == (304, 1, 8)
    assert found["rejected"] == [
        {"id": "8", "reason": "needs 5,009 tokens of KV cache, the server has 4,000"}
    ]
    text = answer("serve", B, "--capacity-tokens", "4000")
    assert "rejected: request 8: needs 5,009 tokens" in text


def test_that_two_policies_stand_side_by_side_where_both_are_asked_for() -> None:
    head = answer("serve", "--policy", "static", "--against", "chunked").splitlines()[0]
    assert head.split() == ["static", "chunked"]
    assert answer("serve", "--policy", "static").splitlines()[0].split() == ["static"]
    both = served("--policy", "static", "--against", "chunked")
    assert (both["policy"], both["against"]["policy"]) == ("static", "chunked")
    assert both["against"] == served("--policy", "chunked")


def test_that_a_file_is_served_whatever_its_line_ends_and_rows_that_are_none_are_listed() -> None:
    rows = "arrival_s,prompt_tokens,output_tokens\r\n1,100,5\n0.5,200,1\r\n1,50,0\n1,-3,4\r\nNaN,5,5\n1,100,5"
    Path("a trace.csv").write_bytes(rows.encode())
    found = served("a trace.csv")
    assert [row["id"] for row in found["requests"]] == ["1", "0", "5"]
    assert [row["longest_gap_s"] is None for row in found["requests"]] == [True, False, False]
    assert sorted(one["id"] for one in found["rejected"]) == ["2", "3", "4"]
    assert all(one["reason"] for one in found["rejected"])
    assert found["summary"]["rejected"] == 3


HEAD = "arrival_s,prompt_tokens,output_tokens\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"\n\r\n", "empty"),
        (HEAD.encode(), "at least one request"),
        (b"arrival_s,prompt_tokens\n0,5\n", "expected columns"),
        (f"{HEAD}0,0,5\n".encode(), "at least one request"),
        (f"{HEAD}0,-7,5\n".encode(), "at least one request"),
        (f"{HEAD}nan,7,5\n".encode(), "at least one request"),
        (f"{HEAD}0,2000000,5\n".encode(), "context"),
        (b"GGUF\0\0\0\3", "binary"),
        (b"\x89PNG\r\n\x1a\n\0\0", "binary"),
        (b'{"model_type": "llama"}', "expected columns"),
        (b"[1, 2]", "JSON"),
    ],
)
def test_that_a_file_that_is_no_trace_is_one_sentence(content: bytes, words: str) -> None:
    Path("t.csv").write_bytes(content)
    assert words in complaint("serve", "t.csv")
    assert words in complaint("study", "t.csv", "--vary", "load=1,2")


@pytest.mark.parametrize(
    "argv",
    [
        ("missing.csv",),
        ("~ nobody/x",),
        ("a\0b.csv",),
        ("\ud800.csv",),
        ("nonsense",),
        ("0.5:512",),
        ("0.5:0>5",),
        ("long-prompt", "--workload", "chat"),
        ("--policy", "fifo"),
        ("--token-budget", "0"),
        ("--max-seqs", "-1"),
        ("--capacity-tokens", "0"),
        ("--prefill-steps", "0"),
        ("--link-bandwidth", "0"),
        ("--link-latency", "nan"),
        ("--ttft-target", "-1"),
        ("--chrome-trace", "no/such/folder.json"),
        ("--chrome-trace", "."),
        ("--chrome-trace", "x.json", "--against", "static"),
        ("--model", "llama-3.1-405b"),
    ],
)
def test_that_bad_words_are_one_sentence(argv: tuple[str, ...]) -> None:
    assert complaint("serve", *argv)
    assert not Path("x.json").exists()


@pytest.mark.parametrize("policy", POLICIES)
def test_that_absurd_knobs_work(policy: str) -> None:
    few = "0:5>3 0:5>3 0.001:7>1"
    knobs = ("--token-budget", "1", "--max-seqs", "1", "--max-batched-tokens", "1", "--capacity-tokens", "7")
    found = served(few, "--policy", policy, *knobs)
    assert [row["output_tokens"] for row in found["requests"]] == [3, 3, 1]
    assert len(served(few, "--policy", policy, "--capacity-tokens", "1")["rejected"]) == 3


def test_that_json_comes_in_pieces_whatever_the_number_of_requests() -> None:
    (before,) = serve(console.evaluated(cli_scenario()))
    outcome = Outcome(simulate(steady_chat(8.0, 60_000), before.knobs, before.costs))
    for piece in runs_json([outcome], Targets()):  # the arrays are made by now
        assert piece
    tracemalloc.start()
    size = sum(map(len, runs_json([outcome], Targets())))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size > 12e6
    assert peak < 14e6


def cli_scenario() -> Any:
    from pdviz.scenario import Scenario, edit

    return edit(Scenario(), against="none")


def test_that_no_window_is_loaded() -> None:
    code = (
        "import sys; from pdviz.cli import main; code = main(['serve', '--json'])\n"
        "heavy = [name for name in ('PySide6', 'pyqtgraph', 'distributed') if name in sys.modules]\n"
        "sys.exit(f'loaded {heavy}' if heavy else code)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(cli.__file__).parent.parent, capture_output=True
    )
    assert (found.returncode, found.stderr) == (0, b"")


def test_that_progress_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream, shown in ((io.StringIO(), False), (Terminal(), True)):
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(console, "_EVERY_S", -1.0)
        with console.Progress("serving") as watch:
            watch(0.25)
        assert ("serving  25%" in stream.getvalue()) is shown


# --- Chrome trace


@pytest.mark.parametrize("policy", POLICIES)
def test_that_a_chrome_trace_has_every_pass_stream_and_counter(policy: str) -> None:
    found = served(B, "--policy", policy, "--capacity-tokens", "4000", "--chrome-trace", "run.json")
    events = json.loads(Path("run.json").read_bytes())["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    passes = [event for event in slices if event["pid"] >= 100]
    assert len(passes) == found["passes"]
    assert {event["args"]["bound"] for event in passes} == {"compute", "bandwidth"}
    tokens = sum(event["args"]["decoding"] for event in passes)
    first_s = min(row["arrival_s"] for row in found["requests"])
    if policy != "static" and not found["preemptions"]:
        assert tokens == sum(row["output_tokens"] - 1 for row in found["requests"])
        prompts = sum(event["args"].get("prompt_tokens", 0) for event in passes)
        assert prompts == sum(row["prompt_tokens"] for row in found["requests"])
    streams = [event for event in slices if event["pid"] == 1 and event["name"] != "stall"]
    spent = Counter[int]()
    for event in streams:
        assert event["dur"] > 0
        assert event["ts"] >= first_s * 1e6
        spent[event["tid"]] += event["dur"]
    for number, row in enumerate(found["requests"]):
        assert spent[number] == pytest.approx(row["e2e_s"] * 1e6, rel=1e-9)
    late = {number for number, row in enumerate(found["requests"]) if row["longest_gap_s"] > 0.05}
    assert {event["tid"] for event in slices if event["name"] == "stall"} == late
    counters = {event["name"] for event in events if event["ph"] == "C"}
    assert counters == {"compute %", "bandwidth %", "batch", "KV tokens", "queue"}
    queue = [event["args"]["queue"] for event in events if event["name"] == "queue"]
    assert min(queue) == queue[-1] == 0
    shares = [
        v for event in events if event["ph"] == "C" and "%" in event["name"] for v in event["args"].values()
    ]
    assert 0 <= min(shares) <= max(shares) <= 100
    kept = [event["args"]["KV tokens"] for event in events if event["name"] == "KV tokens"]
    assert 0 < max(kept) <= 4000


def test_that_a_stall_names_the_prompt_that_caused_it() -> None:
    answer("serve", A, "--policy", "continuous", "--chrome-trace", "run.json")
    events = json.loads(Path("run.json").read_bytes())["traceEvents"]
    stalls = [event for event in events if event["name"] == "stall"]
    assert len(stalls) >= 6
    assert max(event["dur"] for event in stalls) == pytest.approx(651_078, abs=1)
    assert all("8" in event["args"]["caused_by_prompts_of"] for event in stalls if event["dur"] > 6e5)


# --- study

BUDGETS = ("study", "long-prompt", "--policy", "chunked", "--vary", "token-budget=256..1024:x2")


def test_that_a_study_has_a_row_for_each_point_that_a_run_agrees_with() -> None:
    rows = json.loads(answer(*BUDGETS, "--json"))["points"]
    assert [row["token-budget"] for row in rows] == [256, 512, 1024]
    for row in rows:
        alone = served("long-prompt", "--policy", "chunked", "--token-budget", str(row["token-budget"]))
        assert row["itl_p99_s"] == alone["summary"]["itl_s"]["p99"]
        assert row["ttft_p50_s"] == alone["summary"]["ttft_s"]["p50"]
        assert row["goodput_requests_per_s"] == alone["summary"]["goodput_requests_per_s"]
    table = list(csv.DictReader(io.StringIO(answer(*BUDGETS, "--csv"))))
    assert [float(row["itl_p99_s"]) for row in table] == [row["itl_p99_s"] for row in rows]
    assert len(answer(*BUDGETS).splitlines()) == 4


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("load=1..2:3", [1, 1.5, 2]),
        ("load=0.5..4:x2", [0.5, 1, 2, 4]),
        ("rate=4,8", [4, 8]),
        ("max-seqs=1..6:x2", [1, 2, 4, 6]),
        ("max-seqs=3..5:3", [3, 4, 5]),
        ("max-seqs=2", [2]),
        ("policy=static,chunked", ["static", "chunked"]),
        ("gpu=h100,h200", ["h100", "h200"]),
    ],
)
def test_that_a_knob_takes_the_values_that_are_said(text: str, values: list[Any]) -> None:
    knob = text.partition("=")[0]
    rows = json.loads(answer("study", "long-prompt", "--vary", text, "--json"))["points"]
    assert [row[knob if knob != "rate" else "rate_per_s"] for row in rows] == pytest.approx(values) or (
        [row[knob] for row in rows] == values
    )


def test_that_two_knobs_make_every_combination() -> None:
    both = ("--vary", "policy=static,chunked", "--vary", "load=1,2")
    rows = json.loads(answer("study", "long-prompt", *both, "--json"))["points"]
    assert [(row["policy"], row["load"]) for row in rows] == [
        ("static", 1), ("static", 2), ("chunked", 1), ("chunked", 2),
    ]  # fmt: skip


def test_that_the_best_is_marked() -> None:
    most = json.loads(answer("study", "chat", "--vary", "tp=1,2", "--best", "load", "--json"))
    assert most["best"] == most["points"][1]
    assert most["points"][1]["load"] > 1.3 * most["points"][0]["load"] > 0
    assert all(row["good_share"] >= 0.99 for row in most["points"])
    loose = ("--ttft-target", "10", "--itl-target", "10")
    cheap = json.loads(answer("study", "chat", "--vary", "tp=1,2", *loose, "--best", "cost", "--json"))
    assert cheap["best"]["tp"] == 1
    assert "best" in answer("study", "chat", "--vary", "tp=1,2", "--best", "goodput")
    none = ("study", "chat", "--vary", "tp=1,2", "--ttft-target", "0", "--best", "goodput")
    assert "no point meets the targets" in answer(*none)
    assert json.loads(answer(*none, "--json"))["best"] is None


def test_that_a_study_that_was_stopped_goes_on_and_a_repeated_one_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted: list[Any] = []
    real = studies.run_point

    def once(*given: Any) -> Any:
        counted.append(given)
        if len(counted) == 3:
            raise KeyboardInterrupt
        return real(*given)

    monkeypatch.setattr(studies, "REQUESTS_AT_ONCE", 1)
    monkeypatch.setattr(studies, "run_point", once)
    argv = ("study", "long-prompt", "--vary", "max-seqs=1..16:x2", "--json")
    assert run(*argv) == (130, "", "")
    first = answer(*argv)
    assert len(counted) == 3 + 3
    assert answer(*argv) == first
    assert len(counted) == 6
    assert answer(*argv, "--keep", "elsewhere") == first
    assert len(counted) == 11


@pytest.mark.parametrize(
    "argv",
    [
        (),
        ("--vary", "load"),
        ("--vary", "load="),
        ("--vary", "load=0..2"),
        ("--vary", "load=2..1"),
        ("--vary", "load=nan"),
        ("--vary", "load=1..2:0"),
        ("--vary", "load=1..2:x1"),
        ("--vary", "load=1..2:x1.0000001"),
        ("--vary", "speed=1..2"),
        ("--vary", "workload=chat"),
        ("--vary", "gpu=h100..h200"),
        ("--vary", "token-budget=0..5"),
        ("--vary", "token-budget=1..9999G:2"),
        ("--vary", "load=1", "--vary", "load=2"),
        ("--vary", "load=1", "--vary", "rate=2"),
        ("--vary", "load=1", "--vary", "tp=1", "--vary", "max-seqs=2"),
        ("batch", "--vary", "rate=2"),
        ("--vary", "load=1", "--json", "--csv"),
        ("--vary", "load=1", "--workers", "0"),
        ("--vary", "load=1", "--workers", "2", "--cluster", "tcp://127.0.0.1:9"),
        ("--vary", "load=1", "--best", "beauty"),
        ("--vary", "load=1..2:200", "--vary", "max-seqs=1..200:200"),
    ],
)
def test_that_a_study_that_cannot_be_is_one_sentence(argv: tuple[str, ...]) -> None:
    assert complaint("study", *argv)


def test_that_a_folder_that_cannot_be_written_is_one_sentence() -> None:
    Path("file").write_text("")
    assert "cannot be written" in complaint("study", "--vary", "load=1", "--keep", "file/under")


def test_that_processes_give_the_same() -> None:
    assert answer(*BUDGETS, "--json", "--workers", "2") == answer(*BUDGETS, "--json", "--keep", "other")


needs_cluster = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="the extra cluster is not installed"
)


@needs_cluster
def test_that_a_local_cluster_of_two_workers_gives_the_same() -> None:
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as local:
        found = answer(*BUDGETS, "--json", "--cluster", local.scheduler_address)
    assert found == answer(*BUDGETS, "--json", "--keep", "other")


@needs_cluster
def test_that_a_cluster_that_does_not_answer_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies, "PATIENCE_S", 0.2)
    assert "127.0.0.1:9" in complaint("study", "--vary", "load=1", "--cluster", "tcp://127.0.0.1:9")


def test_that_a_cluster_without_its_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert "pdviz[cluster]" in complaint("study", "--vary", "load=1", "--cluster", "tcp://127.0.0.1:9")


def test_that_the_commands_in_the_readme_work() -> None:
    text = (Path(cli.__file__).parent.parent / "README.md").read_text("utf-8")
    lines = [line for line in text.splitlines() if line.startswith(("$ pdviz serve", "$ pdviz study"))]
    assert len(lines) >= 5
    for line in lines:
        assert answer(*shlex.split(line)[2:])
