"""The command line: figures that are right, and one sentence for everything that is wrong."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pdviz.options  # reads pdviz.export before the tests put another in its place
from pdviz import cli
from pdviz.catalogue import Catalogue, default_catalogue
from pdviz.errors import InputError
from pdviz.explain import KEYS
from pdviz.field import Field
from pdviz.fields import FIELDS
from pdviz.scenario import Scenario, to_line

ROOT = Path(pdviz.__file__).parent.parent
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in ("PYTHONUNBUFFERED", "PYTHONIOENCODING")}
ENVIRONMENT["PYTHONPATH"] = str(ROOT)

# Llama 3.1 8B in BF16 and an H100 SXM, by hand.
PARAMETERS = 8_030_261_248
WEIGHTS, KV = 2 * PARAMETERS, 131_072
PEAK, BANDWIDTH = 989e12, 3.35e12
COMPUTE, STREAM = 0.55 * PEAK, 0.75 * BANDWIDTH


@pytest.fixture(scope="module", autouse=True)
def drawn() -> Iterator[list[dict[str, Any]]]:
    """Stand-ins for what draws: each call is noted, nothing is opened or written."""
    calls: list[dict[str, Any]] = []
    app, export = ModuleType("pdviz.app"), ModuleType("pdviz.export")

    def run(scenario: Scenario | None, *, theme: str | None, reset: bool) -> int:
        calls.append({"scenario": scenario, "theme": theme, "reset": reset})
        return 0

    def render(view: str, scenario: Scenario, out: str, **settings: object) -> None:
        calls.append({"view": view, "scenario": scenario, "out": out, **settings})

    app.run = run
    export.VIEWS, export.render = ("request", "other"), render
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pdviz.app", app)
        patch.setitem(sys.modules, "pdviz.export", export)
        yield calls


@pytest.fixture(autouse=True)
def _nothing_drawn_yet(drawn: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn.clear()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pdviz.server_commands.cache_folder", lambda: tmp_path / "studies")


def run(*argv: str) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of the command line in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = cli.main(argv)
    return code, out.getvalue(), err.getvalue()


def answer(*argv: str) -> str:
    """What a command prints that succeeds without a warning."""
    code, out, err = run(*argv)
    assert (code, err) == (0, "")
    return out


def complaint(*argv: str) -> str:
    """The one sentence with which a command refuses."""
    code, out, err = run(*argv)
    assert code == 2
    assert out == ""
    assert err.startswith("pdviz: ")
    assert err.endswith("\n")
    assert len(err.splitlines()) == 1
    assert "Traceback" not in err
    assert len(err) < 1300
    return err.removeprefix("pdviz: ").removesuffix("\n")


def estimate(*argv: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(answer("estimate", "--json", *argv))
    return found


def process(*argv: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    """The command line as a process of its own."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "pdviz", *argv],
        env={**ENVIRONMENT, **settings.pop("env", {})},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        **settings,
    )


# --- figures ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "ttft_ms", "itl_ms", "e2e_ms", "bound", "flops"),
    [
        (50, 6.3922, 6.3982, 818.963, "bandwidth", 8.03694592e11),
        (128, 6.3922, 6.4023, 819.480, "bandwidth", 2.060075401216e12),
        (216, 6.4001, 6.4069, 820.071, "compute", 3.481360072704e12),
        (512, 15.2438, 6.4223, 830.875, "compute", 8.291841212416e12),
        (4000, 125.8157, 6.6043, 964.557, "compute", 6.84374425600e13),
        (32768, 1484.9798, 8.1050, 2514.318, "compute", 8.07754767794176e14),
    ],
)
def test_that_the_textbook_table_comes_out(
    prompt: int, ttft_ms: float, itl_ms: float, e2e_ms: float, bound: str, flops: float
) -> None:
    found = estimate("--prompt", str(prompt))
    assert found["ttft_s"] == pytest.approx(ttft_ms / 1e3, abs=0.51e-7)
    assert found["itl_s"] == pytest.approx(itl_ms / 1e3, abs=0.51e-7)
    assert found["e2e_s"] == pytest.approx(e2e_ms / 1e3, abs=0.51e-6)
    assert found["prefill"]["bound"] == bound
    assert found["prefill"]["flops"] == flops
    # the same by hand, exactly
    pairs = prompt * (prompt + 1) / 2
    by_hand = 2 * PARAMETERS * prompt + 4 * 32 * 32 * 128 * pairs
    itl = (WEIGHTS + KV * (prompt + 64)) / STREAM
    assert found["prefill"]["flops"] == pytest.approx(by_hand, rel=1e-12)
    assert found["ttft_s"] == pytest.approx(max(by_hand / COMPUTE, WEIGHTS / STREAM), rel=1e-6)
    assert found["itl_s"] == pytest.approx(itl, rel=1e-6)
    assert found["e2e_s"] == pytest.approx(found["ttft_s"] + 127 * itl, rel=1e-6)


def test_that_the_rest_of_the_textbook_example_comes_out() -> None:
    found = estimate()
    assert found["scenario"]["model"] == "Llama 3.1 8B"
    assert found["fidelity"] == "textbook"
    assert found["model"] == {
        "name": "Llama 3.1 8B",
        "parameters": PARAMETERS,
        "active_parameters": PARAMETERS,
        "kv_bytes_per_token": KV,
    }
    assert found["ridge_flops_per_byte"] == pytest.approx(PEAK / BANDWIDTH, rel=1e-6)
    assert found["crossover_prompt_tokens"] == 216
    assert found["half_speed_context_tokens"] == pytest.approx(WEIGHTS / KV, rel=1e-6)
    assert found["decode_share"] == pytest.approx(0.982, abs=5e-4)
    memory = found["memory"]
    assert memory["weights_bytes"] == 16_060_522_496
    assert memory["kv_bytes"] == KV * 639
    assert memory["capacity_bytes"] == pytest.approx(81_559 * 2**20)
    assert memory["fits"] is True
    prefill, decode, last = found["prefill"], found["decode"], found["decode_last"]
    assert (prefill["bound"], decode["bound"], last["bound"]) == ("compute", "bandwidth", "bandwidth")
    assert prefill["compute_utilisation"] == pytest.approx(0.55, rel=1e-6)
    assert decode["bandwidth_utilisation"] == pytest.approx(0.75, rel=1e-6)
    assert decode["bytes"] == WEIGHTS + KV * 513
    assert last["bytes"] == WEIGHTS + KV * 639
    assert decode["flops"] == 2 * PARAMETERS + 524_288 * 513


def test_that_batching_costs_a_third_more_for_64_times_the_tokens() -> None:
    found = estimate("--others", "63")
    by_hand = (WEIGHTS + 64 * KV * (512 + 64)) / STREAM
    assert found["itl_s"] == pytest.approx(8.3154e-3, abs=0.51e-7)
    assert found["itl_s"] == pytest.approx(by_hand, rel=1e-6)
    assert found["tokens_per_s_total"] == pytest.approx(64 / by_hand, rel=1e-6)


@pytest.mark.parametrize(
    ("gpu", "ridge", "crossover", "ttft_ms", "itl_ms"),
    [
        ("A100 80 SXM", 153, 165, (7.37, 95.2, 423), 7.49),
        ("H100 SXM", 295, 317, (4.49, 30.0, 133), 4.56),
        ("H200", 206, 221, (3.13, 30.0, 133), 3.18),
        ("L40S", 419, 449, (17.4, 82.0, 365), 17.7),
        ("MI300X", 247, 265, (2.84, 22.7, 101), 2.88),
    ],
)
def test_that_the_speed_of_light_table_comes_out(
    gpu: str, ridge: int, crossover: int, ttft_ms: tuple[float, ...], itl_ms: float
) -> None:
    name = {"A100 80 SXM": "A100 80GB SXM"}.get(gpu, gpu)
    for prompt, expected in zip(("128", "2K", "8K"), ttft_ms, strict=True):
        found = estimate("--fidelity", "ideal", "--gpu", name, "--prompt", prompt)
        assert found["ttft_s"] * 1e3 == pytest.approx(expected, rel=5e-3)
        assert found["crossover_prompt_tokens"] == crossover
        assert round(found["ridge_flops_per_byte"]) == ridge
    found = estimate("--fidelity", "ideal", "--gpu", name, "--prompt", "2047", "--output", "2")
    assert found["itl_s"] * 1e3 == pytest.approx(itl_ms, rel=5e-3)


@pytest.mark.parametrize(
    ("model", "parameters", "kv_bytes_per_token"),
    [
        ("mixtral-8x7b", 46_702_792_704, 131_072),
        ("deepseek-ai/DeepSeek-V3", 671_026_419_200, 70_272),
        ("Llama 2 7B", 6_738_415_616, 524_288),
        ("qwen3-4b", 4_022_468_096, 147_456),
    ],
)
def test_that_models_are_counted_exactly(model: str, parameters: int, kv_bytes_per_token: int) -> None:
    found = estimate("--model", model)["model"]
    assert (found["parameters"], found["kv_bytes_per_token"]) == (parameters, kv_bytes_per_token)


def test_that_one_token_has_no_latency_between_tokens() -> None:
    found = estimate("--output", "1")
    assert found["itl_s"] is found["decode"] is found["decode_last"] is None


def test_that_what_does_not_fit_is_computed_and_warned_about() -> None:
    found = estimate("--model", "Llama 3.1 405B")
    assert found["memory"]["fits"] is False
    assert found["warnings"][0].startswith("Does not fit: ")
    assert answer("estimate", "--model", "Llama 3.1 405B").startswith("WARNING  Does not fit: ")


def test_that_options_mean_the_same_in_every_spelling() -> None:
    wanted = estimate("--prompt", "32768", "--compute-efficiency", "0.6")
    assert estimate("--prompt=32K", "--compute-efficiency=60%") == wanted
    assert estimate("--prompt", "32,768", "--compute-efficiency", ".6") == wanted
    assert estimate("--scenario", "prompt=32K compute-efficiency=0.6") == wanted
    assert estimate("--scenario", "prompt=7 compute-efficiency=0.6", "--prompt", "32K") == wanted
    assert estimate("--prompt", "1", "--prompt", "32K", "--compute-efficiency", "0.6") == wanted


def test_that_names_are_answered_as_the_catalogue_has_them() -> None:
    scenario = estimate("--model", "meta-llama/Llama-3.1-8B", "--gpu", " h100 ")["scenario"]
    assert (scenario["model"], scenario["gpu"]) == ("Llama 3.1 8B", "H100 SXM")


# --- explanations ----------------------------------------------------------------------------------


def test_that_figures_are_explained_with_their_numbers() -> None:
    text = answer("estimate", "--prompt", "128", "--explain", "ttft", "prefill.bound", "--output", "2")
    assert text.startswith("ttft\nTime to first token: 6.39 ms\n")
    assert "TTFT = max(FLOPs / (e_c × peak), bytes / (e_b × bandwidth))\n" in text
    assert "\n\nprefill.bound\nPrefill: what limits it: bandwidth-bound\n" in text
    assert max(map(len, text.splitlines())) <= 100


def test_that_without_a_name_every_figure_is_explained() -> None:
    found = json.loads(answer("estimate", "--explain", "--json", "--model", "Mixtral 8x7B"))
    assert [one["key"] for one in found] == list(KEYS)
    assert answer("estimate", "--explain", "--model", "Mixtral 8x7B").count("\n\n\n") == 0


def test_that_explanations_agree_with_the_estimate() -> None:
    options = ("--others", "63", "--prompt", "4000")
    found = {
        one["key"]: one["figure"] for one in json.loads(answer("estimate", "--explain", "--json", *options))
    }
    figures = estimate(*options)
    for key, name in (
        ("ttft", "ttft_s"),
        ("itl", "itl_s"),
        ("e2e", "e2e_s"),
        ("decode_share", "decode_share"),
    ):
        assert found[key] == pytest.approx(figures[name], rel=1e-12)
    for name, value in figures["prefill"].items():
        key = {"time_s": "time", "intensity_flops_per_byte": "intensity"}.get(name, name)
        if name != "bound":
            assert found[f"prefill.{key}"] == pytest.approx(value, rel=1e-12)


def test_that_figures_can_be_named_in_several_ways() -> None:
    wanted = answer("estimate", "--explain", "ttft", "itl")
    assert answer("estimate", "--explain=ttft", "--explain", "itl") == wanted
    assert answer("estimate", "--explain", "TTFT,itl") == wanted
    assert answer("estimate", "--explain", "memory", "--json").count('"key"') == 14


def test_that_an_unknown_figure_is_one_sentence_with_near_ones() -> None:
    text = complaint("estimate", "--explain", "tfft")
    assert text.startswith('unknown figure "tfft"; the nearest are ttft, ')
    assert text.count(", ") == 2
    assert complaint("estimate", "--explain", "ttft", "nonsense", "--json").startswith(
        'unknown figure "nonsense"'
    )


# --- scenario lines and files ----------------------------------------------------------------------


def toml_or_skip() -> None:
    if sys.version_info < (3, 11):
        pytest.importorskip("tomli")


def test_that_a_file_is_a_base_that_options_override() -> None:
    toml_or_skip()
    text = '\ufeff# busy\r\nmodel = "qwen3-8b"\r\nprompt = "2K"\r\nothers = 63\r\nothers-context = 4096\r\n'
    Path("busy.toml").write_bytes(text.encode())
    found = estimate("--scenario", "busy.toml", "--others", "7")["scenario"]
    keys = ("model", "prompt", "others", "others-context", "gpu")
    assert [found[key] for key in keys] == ["Qwen3 8B", 2048, 7, 4096, "H100 SXM"]
    assert (
        estimate("--scenario", "busy.toml", "--others-context", "same")["scenario"]["others-context"] is None
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"prompt = ", "not a TOML scenario file"),
        (b"\xff\xfe", "not a scenario"),
        (b"promt = 5", 'unknown key "promt"'),
        (b"prompt = 0", "prompt must be"),
        (b"prompt = true", "prompt must be"),
        (b"prompt = [1]", "prompt must be"),
        (b"prompt = nan", "prompt must be"),
        (b"model = 1979-05-27", "model must be"),
        (b"[scenario]\nprompt = 5", 'unknown key "scenario"'),
        (b"a = " + b"[" * 5000, "not a TOML scenario file"),
        (b"#" * (2**20 + 1), "too long"),
        (b"\0", "not a scenario"),
    ],
)
def test_that_a_bad_file_is_refused_by_name(content: bytes, words: str) -> None:
    toml_or_skip()
    Path("bad.toml").write_bytes(content)
    for argv in (("estimate", "--scenario", "bad.toml"), ("show", "bad.toml")):
        text = complaint(*argv)
        assert text.startswith("bad.toml: ")
        assert words in text


def test_that_a_file_without_keys_is_refused() -> None:
    toml_or_skip()
    Path("empty.toml").touch()
    assert "empty.toml: it names nothing of a scenario" in complaint("estimate", "--scenario", "empty.toml")


@pytest.mark.parametrize(
    "text",
    ["", " ", "nothing.toml", "prompt", "prompt=", "prompt=5 prompt=6", 'model="', "a=b", ".", "\0", "=5"],
)
def test_that_a_bad_line_is_refused(text: str) -> None:
    complaint("show", text)
    complaint("estimate", "--scenario", text)


# --- the window ------------------------------------------------------------------------------------


def test_that_no_command_opens_the_window(drawn: list[dict[str, Any]]) -> None:
    assert run() == (0, "", "")
    assert drawn == [{"scenario": None, "theme": None, "reset": False}]


def test_that_the_window_takes_options(drawn: list[dict[str, Any]]) -> None:
    answer("--theme", "light", "--reset")
    answer("--prompt", "32K", "--gpu", "l4")
    assert drawn == [
        {"scenario": None, "theme": "light", "reset": True},
        {"scenario": Scenario(prompt_tokens=32_768, accelerator="L4"), "theme": None, "reset": False},
    ]


def test_that_show_opens_a_line_with_and_without_its_quotes(drawn: list[dict[str, Any]]) -> None:
    scenario = Scenario(model="Qwen3 8B", others=63, weights_dtype="fp8")
    line = to_line(scenario)
    answer("show", line, "--theme", "system")
    answer("show", *shlex.split(line))
    answer("show", "--reset", "--", line)
    assert [call["scenario"] for call in drawn] == [scenario] * 3
    assert [call["theme"] for call in drawn] == ["system", None, None]
    assert [call["reset"] for call in drawn] == [False, False, True]


def test_that_what_cannot_be_computed_opens_no_window(drawn: list[dict[str, Any]]) -> None:
    assert "nearest names" in complaint("--model", "lama")
    assert "nearest names" in complaint("show", "gpu=h1000")
    assert "theme must be" in complaint("--theme", "blue")
    assert "theme must be" in complaint("show", "prompt=5", "--theme", "print")
    assert "needs a scenario" in complaint("show")
    assert not drawn


def test_that_the_window_s_exit_code_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["pdviz.app"], "run", lambda scenario, theme, reset: 3)
    assert run()[0] == 3


def test_that_a_window_that_cannot_be_opened_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(scenario: object, theme: object, reset: object) -> int:
        raise InputError("There is no display to open a window on.")

    monkeypatch.setattr(sys.modules["pdviz.app"], "run", fail)
    assert complaint() == "There is no display to open a window on."
    assert complaint("show", "prompt=5") == "There is no display to open a window on."


# --- render ----------------------------------------------------------------------------------------


def test_that_render_passes_on_what_was_asked_for(drawn: list[dict[str, Any]]) -> None:
    answer("render", "--out", "a.png")
    answer(
        *("render", "--view", "request", "--out", "b.PDF", "--size", "640x480", "--scale", "1.5"),
        *("--theme", "print", "--at", "0.25", "--prompt", "4000"),
    )
    answer("render", "--out", "c.svg", "--at-fraction", "50%", "--output", "1")
    assert drawn[0] == {
        **{"view": "request", "scenario": Scenario(), "out": "a.png", "theme": "dark", "time_s": None},
        **{"width": 1920, "height": 1080, "scale": 1.0},
    }
    assert drawn[1] == {
        **{"view": "request", "scenario": Scenario(prompt_tokens=4000), "out": "b.PDF", "theme": "print"},
        **{"width": 640, "height": 480, "scale": 1.5, "time_s": 0.25},
    }
    assert drawn[2]["time_s"] == pytest.approx(15.2438e-3 / 2, rel=1e-5)


def test_that_the_ends_of_a_request_can_be_drawn(drawn: list[dict[str, Any]]) -> None:
    answer("render", "--out", "a.png", "--at", "0")
    answer("render", "--out", "a.png", "--at-fraction", "1")
    end_s = drawn[1]["time_s"]
    answer("render", "--out", "a.png", "--at", repr(end_s))
    assert [call["time_s"] for call in drawn] == [0, end_s, end_s]
    assert complaint("render", "--out", "a.png", "--at", repr(end_s * 1.0001)).startswith("--at must be")


@pytest.mark.parametrize(
    "argv",
    [
        *(("--at", text) for text in ("-1", "1000", "nan", "inf", "x", "", "10%", "1s")),
        *(("--at-fraction", text) for text in ("-0.1", "1.1", "nan", "inf", "x", "", "101%")),
        ("--at", "0", "--at-fraction", "0"),
        *(
            ("--size", text)
            for text in ("0x0", "0x1", "1x0", "16385x1", "1x16385", "x", "", "5", "1x2x3", "-1x5")
        ),
        *(("--size", text) for text in ("1.5x2", "9" * 400 + "x1", "nanxnan", "1920 x")),
        *(("--scale", text) for text in ("0", "-1", "8.1", "nan", "inf", "x", "", "1e999")),
        ("--size", "16384x16384", "--scale", "8"),
        ("--size", "1x1", "--scale", "0.1"),
        *(("--theme", text) for text in ("blue", "", "system")),
        *(("--view", text) for text in ("nothing", "", "requests", "servers")),
        *(("--out", text) for text in ("", "a", "a.gif", ".png", "a.png.txt", "no/a.png", ".", "folder.png")),
        *(("--out", text) for text in ("file.txt/a.png", "\0.png", "a\0.png", "folder.png/")),
        ("word",),
        ("--model", "lama"),
    ],
)
def test_that_render_refuses_before_it_draws(argv: tuple[str, ...], drawn: list[dict[str, Any]]) -> None:
    Path("folder.png").mkdir()
    Path("file.txt").touch()
    complaint("render", "--out", "a.png", *argv)
    assert not drawn
    assert not Path("a.png").exists()


def test_that_render_needs_a_file() -> None:
    assert complaint("render").startswith("render needs --out")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_that_a_folder_that_cannot_be_written_is_refused() -> None:
    Path("locked").mkdir(mode=0o500)
    assert "cannot be written" in complaint("render", "--out", "locked/a.png")


def test_that_a_file_that_cannot_be_written_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "cannot be written" in complaint("render", "--out", "a.png")


@pytest.mark.parametrize("error", [InputError("no such view yet"), OSError(28, "No space left on device")])
def test_that_trouble_while_drawing_is_one_sentence(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **settings: object) -> None:
        raise error

    monkeypatch.setattr(sys.modules["pdviz.export"], "render", fail)
    assert str(error.args[-1]) in complaint("render", "--out", "a.png")


# --- bad input -------------------------------------------------------------------------------------


def bad_values(field: Field) -> tuple[str, ...]:
    if field.kind == "count":
        far = ("-1", str(field.low - 1), str(field.high + 1), "16G", "9" * 5000, "1e400", "1e300")
        return (
            *far,
            "",
            " ",
            "x",
            "1.5",
            "K",
            "5KK",
            "nan",
            "inf",
            "0x10",
            "--",
            "1 2 x",
            "½",
            "5\n6",
            "\udcff",
        )
    if field.kind == "fraction":
        return (
            "0",
            "-0.5",
            "1.01",
            "101%",
            "",
            "%",
            "x",
            "nan",
            "inf",
            "-inf",
            "1e999",
            "0.5\n0.5x",
            "\udcff",
        )
    if field.kind == "amount":
        return ("", "x", "-1", "nan", "inf", "1e999", "5 apples", "\udcff")
    if field.name == "workload":  # looked up where it is needed
        return ("", "  ", "\n", "\udcff", "\0")
    if field.kind == "choice":
        return ("", "x", "bf", "16", "\n", "\udcff", "bf16\0")
    return ("", "  ", "no such thing", "???", "\n", "\udcff", "\0", "x" * 5000, "💥")


@pytest.mark.parametrize(
    ("key", "value"), [(field.key, value) for field in FIELDS for value in bad_values(field)], ids=ascii
)
def test_that_a_bad_value_is_refused_with_its_option_named(key: str, value: str) -> None:
    for text in (
        complaint("estimate", f"--{key}", value),
        complaint("estimate", "--json", f"--{key}={value}"),
    ):
        kind = {"model": "model", "gpu": "accelerator"}.get(key, key)
        assert kind in text or key in text
    if value and "\n" not in value and value != "--":
        complaint("show", f"{key}={shlex.quote(value)}")


@pytest.mark.parametrize("key", [*(field.key for field in FIELDS), "scenario"])
def test_that_a_missing_value_is_said(key: str) -> None:
    assert complaint("estimate", f"--{key}") == f"--{key} needs a value"
    assert complaint("estimate", f"--{key}", "--json") == f"--{key} needs a value"


def test_that_an_unknown_name_is_answered_with_three_near_ones() -> None:
    assert complaint("estimate", "--model", "lama 3.1 8b").count(", ") == 2
    assert "H100 SXM" in complaint("estimate", "--gpu", "h1000", "--json")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("estimat",), 'unknown command "estimat"; did you mean estimate?'),
        (("nonsense",), 'unknown command "nonsense"'),
        (("",), 'unknown command ""; expected show, estimate, serve, study, render, models or accelerators'),
        (("prompt=5",), '"pdviz show" opens a scenario'),
        (("--prompt", "5", "estimate"), 'unexpected "estimate"; a command comes before the options'),
        (("estimate", "--promt", "5"), 'unknown option "--promt"; did you mean --prompt?'),
        (("estimate", "--promt=5"), 'unknown option "--promt"; did you mean --prompt?'),
        (("estimate", "--prom", "5"), "did you mean --prompt?"),
        (("--zzz",), 'unknown option "--zzz"; "pdviz --help" lists the options'),
        (("estimate", "-x"), 'unknown option "-x"'),
        (("estimate", "--json=yes"), "--json takes no value, got 'yes'"),
        (("estimate", "--help=x"), "--help takes no value"),
        (("estimate", "word"), 'unexpected "word"'),
        (("estimate", "--", "--json"), 'unexpected "--json"'),
        (("estimate", "prompt=5"), 'a scenario line is given as --scenario "prompt=5"'),
        (("estimate", "--version"), 'unknown option "--version"'),
        (("models", "--prompt", "5"), 'unknown option "--prompt"'),
        (("models", "nothing", "like", "it"), 'unknown model "nothing like it": the nearest names are'),
        (("accelerators", "???"), "the nearest names are"),
        (("show", "prompt=5", "word"), '"word" is not of the form key=value'),
        (("estimate", "--cached", "512"), "cached must be below prompt"),
        (("-",), 'unexpected "-"'),
    ],
)
def test_that_misuse_is_answered_with_what_was_meant(argv: tuple[str, ...], words: str) -> None:
    assert words in complaint(*argv)


def test_that_a_very_long_sentence_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(scenario: object, theme: object, reset: object) -> int:
        raise InputError("the beginning " + "x" * 9000 + " the end")

    monkeypatch.setattr(sys.modules["pdviz.app"], "run", fail)
    text = complaint()
    assert text.startswith("the beginning x")
    assert text.endswith("x the end")


def test_that_a_damaged_catalogue_warns_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    good = default_catalogue()
    damaged = Catalogue(good.accelerators, good.models, ("models.json: entry 3 (x): name\nis missing",))
    monkeypatch.setattr("pdviz.catalogue.default_catalogue", lambda: damaged)
    for argv in (("estimate",), ("models",), ("accelerators", "--json")):
        code, out, err = run(*argv)
        assert code == 0
        assert out
        assert err == "pdviz: warning: models.json: entry 3 (x): name is missing\n"
    empty = Catalogue((), good.models, ("accelerators.json: no such file",))
    monkeypatch.setattr("pdviz.catalogue.default_catalogue", lambda: empty)
    code, out, err = run("estimate")
    assert (code, out) == (2, "")
    assert err.startswith("pdviz: unknown accelerator")
    assert err.count("accelerators.json: no such file") == 1
    assert len(err.splitlines()) == 1
    assert run("accelerators") == (2, "", "pdviz: accelerators.json: no such file\n")


# --- lists and help --------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["models", "accelerators"])
def test_that_lists_are_text_and_json(command: str) -> None:
    entries = getattr(default_catalogue(), command)
    assert len(answer(command).splitlines()) == 1 + len(entries)
    assert [entry["id"] for entry in json.loads(answer(command, "--json"))[command]] == [
        e.id for e in entries
    ]


def test_that_search_words_and_options_mix_freely() -> None:
    found = answer("models", "llama", "--json", "405b")
    assert (
        found == answer("models", "--json", "llama 405b") == answer("models", "--json", "--", "405B", "LLAMA")
    )
    assert [model["name"] for model in json.loads(found)["models"]] == ["Llama 3.1 405B"]


@pytest.mark.parametrize("command", list(cli.COMMANDS))
def test_that_help_shows_options_and_examples_that_work(command: str, drawn: list[dict[str, Any]]) -> None:
    text = answer(command, "--help")
    assert answer(command, "-h", "--nonsense") == text
    assert text.startswith(f"usage: pdviz {command}")
    if command not in ("models", "accelerators"):
        assert all(f"--{field.key} " in text for field in FIELDS)
    examples = text.partition("examples:\n")[2].splitlines()
    assert examples
    if sys.version_info >= (3, 11):
        Path("busy.toml").write_text("prompt = 5", "utf-8")
        for example in examples:
            answer(*shlex.split(example)[1:])


def test_that_the_main_help_names_every_command() -> None:
    text = answer("--help")
    assert all(f"\n  {command} " in text for command in cli.COMMANDS)
    assert "--reset" in text
    assert answer("--version") == f"pdviz {pdviz.__version__}\n"


# --- as a process ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "argv",
    [
        ("estimate",),
        ("estimate", "--json"),
        ("estimate", "--explain"),
        ("models",),
        ("accelerators", "--json"),
    ],
)
def test_that_nothing_that_draws_is_loaded_for_words(argv: tuple[str, ...]) -> None:
    code = (
        "import sys; from pdviz.cli import main; code = main(sys.argv[1:]); "
        "loaded = {name.partition('.')[0] for name in sys.modules}; "
        "heavy = loaded & {'PySide6', 'shiboken6', 'numpy', 'pyqtgraph'}; "
        "sys.exit(f'loaded {heavy}' if heavy else code)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, *argv],
        env=ENVIRONMENT,
        capture_output=True,
        timeout=60,
    )
    assert (found.returncode, found.stderr) == (0, b"")


def test_that_the_way_to_the_window_loads_nothing_on_its_own() -> None:
    code = (
        "import sys, types; app = types.ModuleType('pdviz.app'); sys.modules['pdviz.app'] = app\n"
        "app.run = lambda scenario, theme, reset: sys.exit(','.join(sorted(sys.modules)))\n"
        "from pdviz.cli import main; main([])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    loaded = found.stderr.strip().split(",")
    assert "pdviz.cli" in loaded
    assert not {"argparse", "msgspec", "pdviz.scenario", "pdviz.catalogue", "pdviz.options"} & set(loaded)


def test_that_a_process_answers_and_refuses_alike() -> None:
    good, bad = process("estimate", "--json"), process("estimate", "--prompt", "0")
    assert (good.returncode, good.stderr) == (0, "")
    assert json.loads(good.stdout)["crossover_prompt_tokens"] == 216
    assert (bad.returncode, bad.stdout, bad.stderr.count("\n")) == (2, "", 1)


def test_that_a_terminal_without_the_letters_gets_others() -> None:
    found = process("estimate", "--tp", "2", env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert (found.returncode, found.stderr) == (0, "")
    assert "2 ? H100 SXM" in found.stdout


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
@pytest.mark.parametrize("command", ["models --json", "estimate", "--help"])
def test_that_a_reader_that_goes_away_is_no_error(command: str) -> None:
    line = f"'{sys.executable}' -m pdviz {command} | true; echo ${{PIPESTATUS[0]}}"
    found = subprocess.run(
        ["bash", "-c", line],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (found.stdout.strip(), found.stderr) == ("0", "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a full device")
def test_that_output_that_cannot_be_written_is_one_sentence() -> None:
    with open("/dev/full", "w") as full:
        found = subprocess.run(
            [sys.executable, "-m", "pdviz", "models"],
            env=ENVIRONMENT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert found.returncode == 2
    assert re.fullmatch(r"pdviz: the output cannot be written: .+\n", found.stderr)


def test_that_closed_streams_do_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert cli.main(["estimate"]) == 0
    assert cli.main(["--help"]) == 0
    assert cli.main(["estimate", "--prompt", "0"]) == 2


def test_that_an_interrupt_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(argv: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setitem(cli.COMMANDS, "estimate", interrupted)
    assert run("estimate") == (130, "", "")


# --- anything at all -------------------------------------------------------------------------------

WORDS = st.one_of(
    st.sampled_from(
        [*cli.COMMANDS, "--json", "--help", "-h", "--version", "--reset", "--", "-", "--scenario"]
    ),
    st.sampled_from([f"--{field.key}" for field in FIELDS]),
    st.sampled_from(
        ["--out", "--view", "--at", "--at-fraction", "--theme", "--size", "--scale", "--explain"]
    ),
    st.sampled_from(
        ["h100", "qwen3-8b", "32K", "0.5", "fp8", "ideal", "a.png", "light", "9x9", "prompt=5 kv=fp8"]
    ),
    st.integers().map(str),
    st.floats().map(str),
    st.text(max_size=12),
    st.builds("--{}={}".format, st.sampled_from([field.key for field in FIELDS]), st.text(max_size=6)),
    st.builds("{}={}".format, st.sampled_from([field.key for field in FIELDS]), st.text(max_size=6)),
)


@settings(max_examples=400, deadline=None)
@given(st.lists(WORDS, max_size=7))
def test_that_any_words_give_an_answer_or_one_sentence(argv: list[str]) -> None:
    code, out, err = run(*argv)
    assert code in (0, 2)
    if code == 2:
        assert out == ""
        assert re.fullmatch(r"pdviz: [^\n]+\n", err)
        assert len(err.splitlines()) == 1
    else:
        assert err == ""


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(list(cli.COMMANDS)), st.lists(WORDS, max_size=4))
def test_that_any_words_after_a_command_give_an_answer_or_one_sentence(
    command: str, words: list[str]
) -> None:
    code, out, err = run(command, *words)
    assert code in (0, 2)
    assert (out == "" and len(err.splitlines()) == 1) if code else err == ""


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60) | st.text(max_size=40).map(str.encode))
def test_that_any_scenario_file_gives_an_answer_or_one_sentence(content: bytes) -> None:
    toml_or_skip()
    Path("any.toml").write_bytes(content)
    code, out, err = run("estimate", "--json", "--scenario", "any.toml")
    assert code in (0, 2)
    assert msgspec.json.decode(out) if code == 0 else (out == "" and len(err.splitlines()) == 1)
