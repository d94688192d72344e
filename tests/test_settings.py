"""Settings: what is kept comes back, and nothing that a file may hold is ever fatal."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from pdviz import files as files_module
from pdviz import settings as settings_module
from pdviz.scenario import PRESETS, Scenario, to_keys
from pdviz.settings import FILE, RECENT_LIMIT, THEME_CHOICES, Settings, forget, load, save

FULL = Settings(
    theme="light",
    rate=0.02,
    loops=False,
    window=(-40, 20, 1440, 900),
    maximised=True,
    scenario=Scenario(model="Gemma 3 27B", weights_dtype="fp8", others=63, others_context_tokens=2_000),
    text_size=1.25,
    reduced_motion=True,
    recent=("model='Phi-4 14B' prompt=77", "model='Llama 3.1 8B' gpu=L4"),
)


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "pdviz")


def written(folder: str, content: bytes | str | object) -> Path:
    """A settings file with that content."""
    path = Path(folder) / FILE
    path.parent.mkdir(exist_ok=True)
    if not isinstance(content, (bytes, str)):
        content = json.dumps(content)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def is_one_sentence(text: str) -> bool:
    return "\n" not in text and text.endswith(".") and text.startswith(FILE) and len(text) < 600


def is_a_name(text: str) -> bool:
    return text == text.strip() != "" and text.isprintable()


# --- round trip ----------------------------------------------------------------------------------


def test_that_there_are_standard_settings_without_a_file_and_nothing_to_say(folder: str) -> None:
    assert load(folder) == (Settings(), [])
    assert not os.path.exists(folder)  # reading leaves no traces


settings_values = st.builds(
    Settings,
    theme=st.sampled_from(THEME_CHOICES),
    rate=st.floats(1e-5, 100),
    loops=st.booleans(),
    window=st.one_of(
        st.none(),
        st.tuples(*(st.integers(-(10**4), 10**4) for _ in "xy"), *(st.integers(1, 10**4) for _ in "wh")),
    ),
    maximised=st.booleans(),
    text_size=st.floats(0.7, 2.0),
    reduced_motion=st.booleans(),
    recent=st.lists(st.text(), max_size=RECENT_LIMIT).map(tuple),
    scenario=st.one_of(
        st.none(),
        st.sampled_from([preset.apply(Scenario(model="Phi-4 14B")) for preset in PRESETS]),
        st.builds(Scenario, model=st.text(min_size=1).filter(is_a_name)),
    ),
)


@given(settings_values)
@example(FULL)
@hypothesis_settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_that_settings_come_back_as_they_were_saved(folder: str, kept: Settings) -> None:
    assert save(folder, kept) is None
    assert load(folder) == (kept, [])
    assert os.listdir(folder) == [FILE]


def test_that_saving_again_replaces_what_was_there(folder: str) -> None:
    save(folder, FULL)
    save(folder, Settings())
    assert load(folder) == (Settings(), [])


def test_that_forgotten_settings_are_the_standard_ones(folder: str) -> None:
    save(folder, FULL)
    forget(folder)
    assert load(folder) == (Settings(), [])
    forget(folder)  # nothing there: nothing to do


# --- damaged entries -----------------------------------------------------------------------------

DAMAGE = [
    ("theme", "blue", "dark"),
    ("theme", 3, "dark"),
    ("theme", None, "dark"),
    ("theme", ["dark"], "dark"),
    ("rate", "fast", "number"),
    ("rate", 0, "0.00001"),
    ("rate", 1e9, "100"),
    ("rate", True, "number"),
    ("rate", float("nan"), "number"),
    ("rate", float("inf"), "100"),
    ("rate", 10**400, "100"),
    ("loops", "yes", "true or false"),
    ("loops", 1, "true or false"),
    ("maximised", None, "true or false"),
    ("window", [1, 2, 3], "four whole numbers"),
    ("window", [0, 0, 0, 500], "four whole numbers"),
    ("window", [0, 0, 800, 10**9], "four whole numbers"),
    ("window", [0, 0, 800.5, 600], "four whole numbers"),
    ("window", {"x": 1}, "four whole numbers"),
    ("window", "800x600", "four whole numbers"),
    ("text_size", 9, "0.7"),
    ("text_size", "large", "number"),
    ("text_size", float("nan"), "number"),
    ("text_size", True, "number"),
    ("reduced_motion", 0, "true or false"),
    ("recent", "prompt=77", "list"),
    ("recent", ["prompt=77", 3], "list"),
    ("recent", {"a": 1}, "list"),
    ("scenario", "Llama", "object"),
    ("scenario", [], "object"),
    ("scenario", {"prompt": -5}, "whole number"),
    ("scenario", {"prompt": None}, "whole number"),
    ("scenario", {"weights": "fp7"}, "bf16"),
    ("scenario", {"colour": "red"}, "prompt"),
    ("scenario", {"cached": 512}, "below prompt"),
    ("scenario", {"model": ""}, "name"),
]


@pytest.mark.parametrize(("key", "value", "expectation"), DAMAGE)
def test_that_a_damaged_entry_is_one_sentence_with_file_key_and_expectation_and_the_rest_is_kept(
    folder: str, key: str, value: object, expectation: str
) -> None:
    save(folder, FULL)
    path = Path(folder) / FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    found, problems = load(folder)
    assert len(problems) == 1
    assert is_one_sentence(problems[0])
    assert key in problems[0]
    assert expectation in problems[0]
    assert found == Settings(
        **{name: getattr(FULL, name) for name in Settings.__struct_fields__ if name != key}
    )


def test_that_each_damaged_entry_has_a_sentence_of_its_own(folder: str) -> None:
    written(folder, {"theme": "blue", "rate": -1, "loops": True, "surprise": 1})
    found, problems = load(folder)
    assert found == Settings()
    assert len(problems) == 3
    assert all(map(is_one_sentence, problems))
    assert [problem.split()[1] for problem in problems] == ["theme", "rate", "unknown"]
    assert '"surprise"' in problems[2]


def test_that_what_was_found_is_quoted_but_not_at_length(folder: str) -> None:
    written(folder, {"theme": "b" * 10**6, "r" * 10**6: 1, "window": list(range(10**5)), "rate": "a\nb"})
    _, problems = load(folder)
    assert len(problems) == 4
    assert all(map(is_one_sentence, problems))
    assert any('"bbb' in problem for problem in problems)


def test_that_a_problem_names_the_scenario_once(folder: str) -> None:
    written(folder, {"scenario": {"prompt": "many"}})
    _, (problem,) = load(folder)
    assert problem.count("scenario") == 1
    assert "prompt" in problem
    assert "many" in problem


# --- damaged files -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b'{"theme": "light"',
        b"\xff\xfe\x00",
        b"[]",
        b"3",
        b"null",
        b'"dark"',
        b"[" * 100_000,
        b"\x00",
    ],
    ids=["empty", "brace", "cut off", "not UTF-8", "list", "number", "null", "text", "deep", "zero"],
)
def test_that_a_file_that_is_no_json_object_is_set_aside_with_a_sentence(folder: str, content: bytes) -> None:
    path = written(folder, content)
    found, problems = load(folder)
    assert found == Settings()
    assert len(problems) == 1
    assert is_one_sentence(problems[0])
    aside = [name for name in os.listdir(folder) if name != FILE]
    assert len(aside) == 1
    assert aside[0] in problems[0]
    assert (Path(folder) / aside[0]).read_bytes() == content  # nothing is lost
    assert not path.exists()
    assert load(folder) == (Settings(), [])  # said once
    assert save(folder, FULL) is None
    assert load(folder) == (FULL, [])


def test_that_a_second_damaged_file_does_not_push_out_the_first(folder: str) -> None:
    for content in (b"{one", b"{two", b"{three"):
        written(folder, content)
        _, problems = load(folder)
        assert len(problems) == 1
    assert sorted(path.read_bytes() for path in Path(folder).iterdir()) == [b"{one", b"{three", b"{two"]


def test_that_a_byte_order_mark_is_not_damage(folder: str) -> None:
    written(folder, b"\xef\xbb\xbf" + b'{"theme": "light"}')
    assert load(folder) == (Settings(theme="light"), [])


def test_that_a_folder_in_the_place_of_the_file_is_said_so(folder: str) -> None:
    os.makedirs(os.path.join(folder, FILE))
    found, problems = load(folder)
    assert found == Settings()
    assert len(problems) == 1
    assert is_one_sentence(problems[0])
    sentence = save(folder, FULL)
    assert sentence is not None
    assert is_one_sentence(sentence)


def test_that_a_file_in_the_place_of_the_folder_is_said_so(tmp_path: Path) -> None:
    folder = tmp_path / "pdviz"
    folder.write_text("not a folder")
    found, problems = load(str(folder))
    assert found == Settings()
    assert all(map(is_one_sentence, problems))
    sentence = save(str(folder), FULL)
    assert sentence is not None
    assert is_one_sentence(sentence)
    assert "written" in sentence
    assert folder.read_text() == "not a folder"


def refuse(*_: object, **__: object) -> None:
    raise PermissionError(13, "Permission denied")


def test_that_a_file_that_may_not_be_read_is_said_so_and_left_alone(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(folder, {"theme": "light"})
    with monkeypatch.context() as patch:
        patch.setattr(settings_module, "open", refuse, raising=False)
        found, problems = load(folder)
    assert found == Settings()
    assert len(problems) == 1
    assert is_one_sentence(problems[0])
    assert "Permission denied" in problems[0]
    assert load(folder) == (Settings(theme="light"), [])


@pytest.mark.parametrize("kind", ["pipe", "long"])
def test_that_what_cannot_be_a_settings_file_is_set_aside_unread(folder: str, kind: str) -> None:
    path = written(folder, b"")
    if kind == "long":
        os.truncate(path, 200 * 2**20)
    elif hasattr(os, "mkfifo"):
        os.remove(path)
        os.mkfifo(path)
    else:
        pytest.skip("no pipes with names on this system")
    found, (problem,) = load(folder)
    assert found == Settings()
    assert is_one_sentence(problem)
    assert "it was set aside as settings.json.damaged" in problem
    assert not os.path.exists(path)
    assert save(folder, FULL) is None
    assert load(folder) == (FULL, [])


@pytest.mark.parametrize("step", ["open", "makedirs", "replace"])
def test_that_a_folder_that_may_not_be_written_is_said_so(
    folder: str, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    save(folder, FULL)
    with monkeypatch.context() as patch:
        patch.setattr(files_module if step == "open" else os, step, refuse, raising=False)
        sentence = save(folder, Settings())
    assert sentence is not None
    assert is_one_sentence(sentence)
    assert "Permission denied" in sentence
    assert load(folder) == (FULL, [])


def test_that_a_damaged_file_that_may_not_be_set_aside_is_said_so(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(folder, b"{")
    monkeypatch.setattr(os, "replace", refuse)
    found, problems = load(folder)
    assert found == Settings()
    assert len(problems) == 1
    assert is_one_sentence(problems[0])
    assert path.read_bytes() == b"{"


def test_that_a_write_that_fails_half_way_leaves_the_old_settings(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(folder, FULL)

    def full_disk(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(json, "dump", full_disk)
        patch.setattr(json, "dumps", full_disk)
        patch.setattr(os, "replace", full_disk)
        sentence = save(folder, Settings())
    assert sentence is not None
    assert "No space left on device" in sentence
    assert load(folder) == (FULL, [])


# --- anything ------------------------------------------------------------------------------------

json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(st.text(), inner, max_size=5)),
    max_leaves=8,
)
near_misses = st.dictionaries(
    st.one_of(st.sampled_from(Settings.__struct_fields__), st.text(max_size=5)),
    st.one_of(
        json_values,
        st.lists(st.integers(-(10**6), 10**6), min_size=4, max_size=4),
        st.dictionaries(st.sampled_from(list(to_keys(Scenario()))), json_values, max_size=4),
    ),
    max_size=6,
)


@given(st.one_of(json_values, near_misses))
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_that_no_json_is_fatal(folder: str, content: object) -> None:
    written(folder, json.dumps(content))
    found, problems = load(folder)
    assert all("\n" not in problem and problem.startswith(FILE) for problem in problems)
    assert save(folder, found) is None
    assert load(folder) == (found, [])


@given(st.binary(max_size=200))
@hypothesis_settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_that_no_bytes_are_fatal(folder: str, content: bytes) -> None:
    written(folder, content)
    found, problems = load(folder)
    assert found == Settings()
    assert len(problems) <= 1 or content.lstrip().startswith(b"{")
