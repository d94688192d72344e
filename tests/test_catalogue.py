"""The shipped catalogue is sound, found by what people type, and survives any damage."""

import json
import sys
import types
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdviz import assets, names
from pdviz.catalogue import Catalogue, default_catalogue, load
from pdviz.costmodel.accelerator import check_accelerator
from pdviz.costmodel.dtypes import PEAK_DTYPES
from pdviz.errors import InputError

ACCELERATORS = assets.read_bytes("catalogue/accelerators.json")
H100, H200 = json.loads(ACCELERATORS)["accelerators"][:2]
MODELS = json.dumps(
    {
        "models": [
            {"id": "llama-3.1-8b", "name": "Llama 3.1 8B", "config": {"hidden_size": 4096}},
            {"id": "llama-3.1-70b", "name": "Llama 3.1 70B", "config": {}},
            {"id": "llama-2-7b", "name": "Llama 2 7B", "aliases": ["Llama-2-7b-hf"], "config": {}},
            {"id": "mistral-7b-v0.1", "name": "Mistral 7B v0.1", "config": {}},
            {"id": "mistral-7b-v0.3", "name": "Mistral 7B v0.3", "config": {}},
            {"id": "mixtral-8x7b", "name": "Mixtral 8x7B", "config": {}},
            {"id": "command-r", "name": "Command R", "config": {}},
            {"id": "command-r-plus", "name": "Command R+", "config": {}},
            {"id": "deepseek-v3", "name": "DeepSeek V3", "aliases": ["DeepSeek-R1"], "config": {}},
        ]
    }
).encode()
CATALOGUE = Catalogue.from_bytes(ACCELERATORS, MODELS)


def with_accelerators(*entries: object) -> Catalogue:
    return Catalogue.from_bytes(json.dumps({"accelerators": entries}).encode(), MODELS)


# --- what is shipped


def test_that_the_shipped_files_have_no_problem_and_no_name_twice():
    shipped = default_catalogue()
    assert shipped.problems == ()
    assert shipped.clashes() == ()
    assert len({entry.id for entry in shipped.accelerators}) == len(shipped.accelerators) == 50
    assert len({entry.name for entry in shipped.accelerators}) == 50
    assert shipped is default_catalogue()


def test_that_the_h100_comes_first_and_holds_the_datasheet_figures():
    first = default_catalogue().accelerators[0]
    assert (first.id, first.name) == ("h100-sxm", "H100 SXM")
    assert first.peak_flops_per_s["bf16"] == 989e12
    assert first.memory_bandwidth_bytes_per_s == 3.35e12
    assert first.memory_bytes == 81_559 * 2**20
    assert first.ridge_flops_per_byte("bf16") == pytest.approx(295.2, abs=0.05)
    assert any("989.4" in note for note in first.notes)


@pytest.mark.parametrize("entry", CATALOGUE.accelerators, ids=lambda entry: entry.id)
def test_that_every_shipped_accelerator_is_possible_and_sourced(entry):
    check_accelerator(entry, entry.id)
    assert entry.sources
    assert entry.confidence in ("high", "medium", "low")
    assert entry.memory_basis
    assert (entry.link_bytes_per_s is None) == (entry.link == "none")
    assert list(entry.peak_flops_per_s) == [d for d in PEAK_DTYPES if d in entry.peak_flops_per_s]


@pytest.mark.parametrize("entry", CATALOGUE.accelerators, ids=lambda entry: entry.id)
def test_that_an_accelerator_answers_to_all_its_names_in_any_spelling(entry):
    for text in (entry.id, entry.name, *entry.aliases):
        for spelling in (
            text,
            text.upper(),
            text.lower(),
            text.replace(" ", "-"),
            f"  {text.replace('-', '_')} ",
        ):
            assert CATALOGUE.accelerator(spelling) is entry


# --- names


@pytest.mark.parametrize(
    "text",
    [
        "llama-3.1-8b",
        "Llama 3.1 8B",
        "LLAMA_3_1_8B",
        "llama3.1-8b",
        "llama3.1:8b",
        "meta-llama/Llama-3.1-8B",
        "meta-llama/Llama-3.1-8B-Instruct",
        "meta-llama/Meta-Llama-3.1-8B-Instruct",
        " Llama\u00a03.1\u20118B ",
    ],
)
def test_that_one_model_answers_to_every_usual_spelling(text: str):
    assert CATALOGUE.model(text).id == "llama-3.1-8b"


@pytest.mark.parametrize("text", ["Llama 31 8B", "Llama 3 18B", "llama318b", "Llama 3.18B"])
def test_that_digits_do_not_run_together(text: str):
    with pytest.raises(InputError, match=r"nearest names are Llama 3\.1 8B"):
        CATALOGUE.model(text)


@pytest.mark.parametrize(
    ("text", "identifier"),
    [
        ("mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3"),
        ("mistralai/Mistral-7B-v0.1", "mistral-7b-v0.1"),
        ("command r+", "command-r-plus"),
        ("Command-R", "command-r"),
        ("meta-llama/Llama-2-7b-chat-hf", "llama-2-7b"),
        ("deepseek-r1", "deepseek-v3"),
    ],
)
def test_that_versions_and_pluses_are_told_apart(text: str, identifier: str):
    assert CATALOGUE.model(text).id == identifier


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("h100", "H100 SXM"),
        ("H100-SXM-80GB", "H100 SXM"),
        ("H100 SXM5 80GB", "H100 SXM"),
        ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("a100", "A100 80GB SXM"),
        ("a100-80gb", "A100 80GB SXM"),
        ("NVIDIA A100-SXM4-40GB", "A100 40GB SXM"),
        ("4090", "RTX 4090"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("AMD Instinct MI300X", "MI300X"),
        ("Tesla T4", "T4"),
        ("tpu v5e", "TPU v5e"),
        ("Apple M3 Max", "M3 Max"),
        ("strix halo", "Ryzen AI Max+ 395"),
        ("GB10 (DGX Spark)", "DGX Spark"),
    ],
)
def test_that_an_accelerator_answers_to_what_people_and_drivers_call_it(text: str, name: str):
    assert CATALOGUE.accelerator(text).name == name


def test_that_a_near_miss_is_answered_with_the_three_nearest_names():
    with pytest.raises(InputError) as caught:
        CATALOGUE.model("llama-3.1-9b")
    assert str(caught.value) == (
        'unknown model "llama-3.1-9b": the nearest names are Llama 3.1 8B, Llama 3.1 70B, Llama 2 7B'
    )


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("h1000", "H100 SXM"),
        ("rtx 4080", "RTX 4090"),
        ("mi30x0", "MI300X"),
        ("ironwod", "TPU v7 Ironwood"),
        ("gaudi", "Gaudi 3"),
        ("40GB A100 SXM", "A100 40GB SXM"),
        ("rtx pro 6000 server", "RTX PRO 6000"),
    ],
)
def test_that_typing_errors_parts_and_other_orders_are_near(text: str, first: str):
    assert CATALOGUE.nearest_accelerators(text)[0] == first
    assert len(CATALOGUE.nearest_accelerators(text)) == 3


def test_that_a_name_which_could_be_two_models_is_not_decided_silently():
    models = [{"id": f"m-{tune}", "name": f"Some 4B {tune}", "config": {}} for tune in ("Base", "Instruct")]
    both = Catalogue.from_bytes(ACCELERATORS, json.dumps({"models": models}).encode())
    assert both.model("some-4b-instruct").id == "m-Instruct"
    with pytest.raises(InputError, match="nearest names are Some 4B Base, Some 4B Instruct"):
        both.model("some 4b")


def test_that_a_name_claimed_twice_is_reported_and_stays_with_the_first():
    twice = with_accelerators(H100, H200 | {"aliases": ["h-100 sxm"]})
    assert twice.clashes() == ('accelerator name "h-100 sxm" of h200 already belongs to h100-sxm',)
    assert twice.accelerator("H 100 SXM").id == "h100-sxm"


@given(st.text(max_size=80))
def test_that_any_text_finds_an_entry_or_gets_one_printable_sentence(text: str):
    for find in (CATALOGUE.accelerator, CATALOGUE.model):
        answer = "the nearest names are"
        try:
            find(text)
        except InputError as error:
            answer = str(error)
        known = ("the nearest names are", "no such file", "cannot be read", "this is a folder")
        assert any(words in answer for words in known)
        assert answer.isprintable()


def test_that_a_megabyte_as_a_name_is_answered_briefly():
    with pytest.raises(InputError) as caught:
        CATALOGUE.accelerator("h100x" * 200_000)
    assert len(str(caught.value)) < 200


@given(st.text(alphabet="ab1.- ", max_size=9), st.text(alphabet="ab1.- ", max_size=9))
def test_that_the_edit_distance_is_a_symmetric_count_of_edits(a: str, b: str):
    distance = names._distance(a, b)
    assert distance == names._distance(b, a)
    assert (distance == 0) == (a == b)
    assert abs(len(a) - len(b)) <= distance <= max(len(a), len(b))
    assert names._distance(a + b, a) == len(b)


@given(st.text(max_size=30))
def test_that_levelling_a_name_twice_changes_nothing(text: str):
    assert names.normalised(names.normalised(text)) == names.normalised(text)


# --- architectures


@dataclass
class Built:
    name: str
    hidden: int


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A stand-in for the reader of configurations, and the names that it was asked for."""
    asked: list[str] = []

    def read_config(config: dict, name: str) -> Built:
        asked.append(name)
        if "hidden_size" not in config:
            raise InputError(f"{name}: hidden_size is missing")
        return Built(name, config["hidden_size"])

    module = types.ModuleType("pdviz.readers.hf.config")
    module.read_config = read_config
    monkeypatch.setitem(sys.modules, "pdviz.readers.hf.config", module)
    return asked


def test_that_an_architecture_is_read_once_whatever_it_is_called(reader: list[str]):
    catalogue = Catalogue.from_bytes(ACCELERATORS, MODELS)
    assert reader == []
    built = catalogue.architecture("llama-3.1-8b")
    assert built.hidden == 4096
    assert catalogue.architecture("meta-llama/Llama-3.1-8B-Instruct") is built
    assert reader == ["Llama 3.1 8B"]


def test_that_a_configuration_which_cannot_be_read_fails_only_its_own_model(reader: list[str]):
    catalogue = Catalogue.from_bytes(ACCELERATORS, MODELS)
    with pytest.raises(InputError, match="Llama 2 7B: hidden_size is missing"):
        catalogue.architecture("Llama 2 7B")
    assert catalogue.architecture("Llama 3.1 8B").hidden == 4096


# --- damage


def test_that_a_damaged_entry_is_named_and_the_others_stay():
    catalogue = with_accelerators(
        H100, H100 | {"id": "b", "name": "B"}, H200 | {"memory_bandwidth_bytes_per_s": "fast"}
    )
    assert catalogue.problems == (
        "accelerators.json: entry 3 (h200): memory_bandwidth_bytes_per_s must be a positive number, "
        'got "fast"',
    )
    assert [entry.id for entry in catalogue.accelerators] == ["h100-sxm", "b"]
    assert len(catalogue.models) == 9


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (
            H200 | {"memory_bandwidth_bytes_per_s": 4800},
            "entry 2 (h200): memory_bandwidth_bytes_per_s must be in bytes per",
        ),
        (H200 | {"bandwith": 1}, 'entry 2 (h200): "bandwith" is no field here'),
        (H200 | {"memory_bytes": 150e9}, None),
        (
            H200 | {"peak_flops_per_s": {"bf16": -1}},
            "entry 2 (h200): peak_flops_per_s.bf16 must be a positive number, got -1",
        ),
        ("h200", 'entry 2: must be a table of fields, got "h200"'),
        ({"name": "Empty"}, "entry 2 (Empty): memory_bytes is missing"),
    ],
)
def test_that_each_kind_of_damage_names_file_entry_and_field(entry: object, problem: "str | None"):
    catalogue = with_accelerators(H100, entry)
    assert catalogue.accelerators[0].id == "h100-sxm"
    if problem is None:
        assert catalogue.problems == ()
        assert len(catalogue.accelerators) == 2
    else:
        assert len(catalogue.problems) == 1
        assert catalogue.problems[0].startswith(f"accelerators.json: {problem}")


def test_that_a_number_out_of_range_costs_only_its_entry():
    text = json.dumps({"accelerators": [H100, H200]}).replace("4800000000000.0", "1e999")
    catalogue = Catalogue.from_bytes(text.encode(), MODELS)
    assert [entry.id for entry in catalogue.accelerators] == ["h100-sxm"]
    assert catalogue.problems[0].startswith("accelerators.json: entry 2: cannot be read")


def test_that_a_damaged_model_is_named_and_the_others_stay():
    entries = json.loads(MODELS)["models"]
    entries[1]["config"] = "config.json"
    entries[2]["published_parameters"] = -7
    entries[3]["published_parameters"] = 7.0
    entries[4]["unheard_of"] = 1
    catalogue = Catalogue.from_bytes(ACCELERATORS, json.dumps({"models": entries}).encode())
    assert catalogue.problems == (
        'models.json: entry 2 (llama-3.1-70b): config must be a table, got "config.json"',
        "models.json: entry 3 (llama-2-7b): published_parameters must be a positive whole number or nothing, "
        "got -7",
    )
    assert len(catalogue.models) == 7
    assert catalogue.model("mistral 7b v0.1").published_parameters == 7


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (
            b'{"accelerators": [\n  {"id": "x"\n   "name": 1}]}',
            "not JSON at line 3, column 4: expected ',' or '}'",
        ),
        (b'{"accelerators": [\n  {"id": ', "not JSON at line 2, column 10: the file ends too early"),
        (b"", "not JSON at line 1, column 1: the file ends too early"),
        (b"[]", 'expected an object with a list "accelerators"'),
        (b'{"accelerators": 3}', 'expected an object with a list "accelerators"'),
        (b'{"models": []}', 'expected an object with a list "accelerators"'),
        (b"[" * 100_000, 'expected an object with a list "accelerators"'),
        (b'{"accelerators": ' + b"[" * 100_000, "not a catalogue, lists or objects are nested too deeply"),
    ],
)
def test_that_a_file_beyond_reading_is_named_with_the_place(data: bytes, problem: str):
    catalogue = Catalogue.from_bytes(data, MODELS)
    assert catalogue.problems == (f"accelerators.json: {problem}",)
    assert catalogue.accelerators == ()
    assert catalogue.model("llama-3.1-8b").id == "llama-3.1-8b"
    with pytest.raises(
        InputError, match=r'^unknown accelerator "h100": the catalogue holds none; accelerators\.json: '
    ):
        catalogue.accelerator("h100")


def test_that_a_byte_order_mark_is_no_damage():
    assert Catalogue.from_bytes(b"\xef\xbb\xbf" + ACCELERATORS, b"\xef\xbb\xbf" + MODELS).problems == ()


def test_that_a_missing_file_leaves_the_other_one_usable():
    def read(relative: str) -> bytes:
        if relative == "catalogue/models.json":
            raise InputError("it is not there")
        return assets.read_bytes(relative)

    catalogue = load(read)
    assert catalogue.problems == ("models.json: it is not there",)
    assert len(catalogue.accelerators) == 50
    with pytest.raises(InputError, match=r"the catalogue holds none; models\.json: it is not there"):
        catalogue.model("Llama 3.1 8B")


SMALL = json.dumps({"accelerators": [H100, H200]}).encode()


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_that_random_bytes_give_problems_and_nothing_worse(one: bytes, other: bytes):
    catalogue = Catalogue.from_bytes(one, other)
    assert len(catalogue.problems) == 2
    assert all(problem.isprintable() for problem in catalogue.problems)


@given(st.integers(0, len(SMALL) - 1), st.integers(0, len(MODELS) - 1))
def test_that_truncated_files_give_problems_and_nothing_worse(one: int, other: int):
    catalogue = Catalogue.from_bytes(SMALL[:one], MODELS[:other])
    assert [problem.split(":")[0] for problem in catalogue.problems] == ["accelerators.json", "models.json"]


@given(st.integers(0, len(SMALL) - 1), st.binary(min_size=1, max_size=3))
def test_that_overwritten_bytes_never_leave_an_impossible_accelerator(place: int, junk: bytes):
    catalogue = Catalogue.from_bytes(SMALL[:place] + junk + SMALL[place + len(junk) :], MODELS)
    assert len(catalogue.models) == 9
    assert len(catalogue.accelerators) == 2 or catalogue.problems
    for entry in catalogue.accelerators:
        check_accelerator(entry, entry.id)
