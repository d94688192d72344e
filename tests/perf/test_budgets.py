"""What single steps may take, against a yardstick of the same run: parsing the model catalogue once."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from timing import fastest_s

from pdviz import assets, binding
from pdviz.catalogue import default_catalogue, load
from pdviz.evaluation import evaluate
from pdviz.readers.hf.config import read_config
from pdviz.scenario import Scenario


@pytest.fixture(scope="module")
def parse_s() -> float:
    """Parsing the model catalogue once with the standard library's json: the yardstick."""
    text = assets.read_bytes("catalogue/models.json")
    return fastest_s(lambda: json.loads(text))


def test_that_the_catalogue_is_loaded_in_a_few_parses(parse_s: float, say: Callable[[str], None]) -> None:
    loaded_s = fastest_s(load)
    say(f"catalogue: {loaded_s * 1e3:.2f} ms, json alone {parse_s * 1e3:.2f} ms")
    assert loaded_s < 3 * parse_s


def test_that_a_model_is_read_and_evaluated_in_a_few_parses(
    parse_s: float, say: Callable[[str], None]
) -> None:
    catalogue = default_catalogue()
    slowest_s, slowest = max(
        (fastest_s(lambda m=m: read_config(m.config, m.name), 3), m.name) for m in catalogue.models
    )
    answer_s = max(fastest_s(lambda m=m: evaluate(Scenario(model=m.name)), 3) for m in catalogue.models)
    say(f"slowest to read: {slowest}, {slowest_s * 1e3:.2f} ms; slowest answer {answer_s * 1e3:.2f} ms")
    assert slowest_s + answer_s < 5 * parse_s


def test_that_the_start_up_guards_cost_next_to_nothing(parse_s: float, say: Callable[[str], None]) -> None:
    binding.binding_problem()  # loads Qt, which the program does anyway
    guard_s = fastest_s(binding.binding_problem)
    libraries_s = fastest_s(lambda: binding.window_problem({"DISPLAY": ":0"}, "linux"))
    say(f"guard {guard_s * 1e3:.2f} ms, libraries {libraries_s * 1e3:.2f} ms")
    assert guard_s + libraries_s < 2 * parse_s
