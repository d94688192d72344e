"""Files of requests in every known form, with the traps that real ones have."""

import json

import pytest

from pdviz.errors import InputError
from pdviz.serving.trace_kinds import is_trace
from pdviz.serving.traces import read_trace

ROWS = [(0.0, 374, 44), (4.314579, 396, 109), (4.541877, 879, 55)]
BURST = "Model,Request tokens,Response tokens,Total tokens,Log Type"
LATER = "4.314579,396,109", "4.541877,879,55"


def lines(*parts):
    return "\n".join(parts) + "\n"


FORMS = {
    "azure.csv": lines(
        "TIMESTAMP,ContextTokens,GeneratedTokens",
        "2023-11-16 18:15:46.6805900,374,44",
        "2023-11-16 18:15:50.9951690,396,109",
        "2023-11-16 18:15:51.2224670,879,55",
    ),
    "azure_zone.csv": lines(
        "TIMESTAMP,ContextTokens,GeneratedTokens",
        "2024-05-10 00:00:00.009930+00:00,374,44",
        "2024-05-10T00:00:04.324509Z,396,109",
        "2024-05-10 02:00:04.551807+02:00,879,55",
    ),
    "burst6.csv": lines(
        f"Timestamp,{BURST}",
        "0,ChatGPT,374,44,418,Conversation log",
        "4.314579,GPT-4,396,109,505,API log",
        "4.541877,GPT-4,879,55,934,API log",
    ),
    "burst8.csv": lines(
        f"Timestamp,Session ID,Elapsed time,{BURST}",
        '0,1,3.2,ChatGPT,374,44,418,"Conversation, log"',
        "4.314579,2,1,GPT-4,396,109,505,API log",
        "4.541877,1,1,GPT-4,879,55,934,API log",
    ),
    "vidur.csv": lines("arrived_at,num_prefill_tokens,num_decode_tokens", "0.0,374,44", *LATER),
    "servegen.csv": lines(
        "timestamp,input_tokens,output_tokens,reason_ratio",
        "0.0,374,44,0.9",
        *(f"{one},0.1" for one in LATER),
    ),
    "plain.csv": lines("arrival_s,prompt_tokens,output_tokens", "0,374,44", *LATER),
    "semicolons.csv": lines(
        "prompt_tokens;output_tokens;arrival_s", "374;44;0", "396;109;4.314579", "879;55;4.541877"
    ),
    "milliseconds.csv": lines(
        "arrival_ms,prompt_tokens,output_tokens", "0,374,44", "4314.579,396,109", "4541.877,879,55"
    ),
    "mooncake.jsonl": lines(
        '{"timestamp": 0, "input_length": 374, "output_length": 44, "hash_ids": [0]}',
        '{"timestamp": 4314.579, "input_length": 396, "output_length": 109, "hash_ids": [1]}',
        '{"timestamp": 4541.877, "input_length": 879, "output_length": 55, "hash_ids": [2, 3]}',
    ),
    "plain.jsonl": lines(
        *(json.dumps({"arrival_s": a, "prompt_tokens": p, "output_tokens": o}) for a, p, o in ROWS)
    ),
    "nanoseconds.jsonl": lines(
        '{"input_toks": 374, "output_toks": 44, "arrival_time_ns": 0}',
        '{"input_toks": 396, "output_toks": 109, "arrival_time_ns": 4314579000}',
        '{"input_toks": 879, "output_toks": 55, "arrival_time_ns": 4541877000}',
    ),
    "vllm.jsonl": lines(
        *(
            json.dumps(
                {
                    "request_id": f"bench-{p}",
                    "input_toks": p,
                    "output_toks": o,
                    "arrival_time": 1787267980 + a,
                }
                | {"queued_ts": 27536.6 + a, "first_token_ts": 27537.0 + a}
            )
            for a, p, o in ROWS
        )
    ),
    "list.json": json.dumps([{"arrival_s": a, "prompt_tokens": p, "output_tokens": o} for a, p, o in ROWS]),
}


def read(tmp_path, text, name="trace"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_trace(path)


@pytest.mark.parametrize("name", FORMS)
def test_that_every_form_gives_the_same_requests(tmp_path, name):
    made = read(tmp_path, FORMS[name], name)
    assert made.arrival_s.tolist() == pytest.approx([row[0] for row in ROWS], abs=2e-7)
    assert [tuple(row[1:3]) for row in made.rows] == [row[1:] for row in ROWS]
    assert not made.rejected
    assert name in made.description


@pytest.mark.parametrize(
    "change", ["crlf", "cr", "mixed", "bom", "no final newline", "blank lines", "spaces"]
)
def test_that_the_ways_of_writing_lines_do_not_matter(tmp_path, change):
    text = FORMS["plain.csv"]
    changed = {
        "crlf": text.replace("\n", "\r\n"),
        "cr": text.replace("\n", "\r"),
        "mixed": text.replace("\n", "\r\n", 2),
        "bom": "\ufeff" + text,
        "no final newline": text.rstrip("\n"),
        "blank lines": text.replace("\n", "\n\n"),
        "spaces": text.replace(",", " , "),
    }[change]
    assert read(tmp_path, changed).rows == read(tmp_path, text).rows


def test_that_blocks_seen_before_are_cached_but_never_a_whole_prompt(tmp_path):
    rows = [
        {"timestamp": 0, "input_length": 1100, "output_length": 5, "hash_ids": [1, 2, 3]},
        {"timestamp": 2000, "input_length": 1500, "output_length": 5, "hash_ids": [1, 2, 9]},
        {"timestamp": 1000, "input_length": 700, "output_length": 5, "hash_ids": [7, 2]},
        {"timestamp": 3000, "input_length": 1100, "output_length": 5, "hash_ids": [1, 2, 3]},
        {"timestamp": 3000, "input_length": 2000, "output_length": 5, "hash_ids": [1, 8, 3, 4]},
    ]
    made = read(tmp_path, "\n".join(map(json.dumps, rows)))
    assert made.cached_tokens.tolist() == [0, 0, 1024, 1099, 512]


def test_that_bad_rows_are_left_out_and_listed(tmp_path):
    text = (
        "id,arrival_s,prompt_tokens,output_tokens\na,0,10,5\nb,0.5,10,0\nc,x,10,5\nd,1\n"
        "e,2,-4,5\nf,nan,3,3\ng,inf,3,3\nh,1,,3\ni,1,2.5,3\nj,0.25,10,1\n"
    )
    made = read(tmp_path, text)
    assert made.ids == ("a", "j")
    assert {one.id: one.reason for one in made.rejected} == {
        "d": "2 of 4 columns",
        "b": "no tokens come out (an output of 0)",
        "c": "the arrival time is no number",
        "e": "a prompt of -4 tokens",
        "f": "the arrival time is no number",
        "g": "the arrival time is no number",
        "h": "the prompt length is no number",
        "i": "the prompt length 2.5 is no whole number",
    }


def test_that_bad_json_lines_are_left_out_and_listed(tmp_path):
    good = {"arrival_s": 0, "prompt_tokens": 7, "output_tokens": 2}
    lines = [json.dumps(good), "{broken", "[1]", json.dumps(good | {"arrival_s": float("nan")}), "{}", "7"]
    made = read(tmp_path, "\n".join(lines))
    assert len(made) == 1
    reasons = {one.id: one.reason for one in made.rejected}
    assert reasons["1"] == reasons["2"] == reasons["5"] == "the line is no request"
    assert reasons["3"] == reasons["4"] == "the arrival time is no number"


def test_that_unsorted_arrivals_are_sorted_and_equal_ones_stay_as_they_are(tmp_path):
    made = read(tmp_path, "arrival_s,prompt_tokens,output_tokens\n5,1,1\n2,2,1\n5,3,1\n2,4,1\n")
    assert made.prompt_tokens.tolist() == [2, 4, 1, 3]
    assert made.positions.tolist() == [1, 3, 0, 2]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("\n \n", "empty"),
        ("arrival_s,prompt_tokens,output_tokens\n", "at least one request"),
        ("arrival_s,prompt_tokens\n1,2\n", "found arrival_s, prompt_tokens"),
        ("arrival_s,prompt_tokens,output_tokens\n1,2,0\n", "no tokens come out"),
        (b"\x89PNG\r\n\x1a\n\0\0", "binary"),
        ("hello\nworld\n", "found hello"),
        ("[]", "list of JSON objects"),
        ("[1, 2]", "list of JSON objects"),
        ("[{", "not JSON"),
        ('{"traceEvents": []}', "found traceevents"),
        ("{oops}", "line 1"),
    ],
)
def test_that_another_file_is_refused_in_one_sentence(tmp_path, text, said):
    with pytest.raises(InputError, match=said) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith("trace: ")
    assert "\n" not in str(caught.value)


def test_that_a_missing_file_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match=r"nowhere.csv: No such file"):
        read_trace(tmp_path / "nowhere.csv")


def test_that_reading_tells_how_far_it_is_and_can_be_stopped(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("arrival_s,prompt_tokens,output_tokens\n" + "1,2,3\n" * 120_000)
    shares = []
    assert len(read_trace(path, shares.append)) == 120_000
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert 0 < shares[0] < 1

    class StoppedError(Exception):
        pass

    def stop(share):
        raise StoppedError

    with pytest.raises(StoppedError):
        read_trace(path, stop)


@pytest.mark.parametrize("name", [name for name in FORMS if name != "list.json"])
def test_that_a_trace_is_known_by_the_beginning_of_its_text(name):
    assert is_trace(FORMS[name][:700].encode())


def test_that_other_text_is_no_trace():
    for head in ("", "\ufeff", "hello, world", "{", '{"model_type": "llama"}', "[accelerator]\nname = 1"):
        assert not is_trace(head.encode())
