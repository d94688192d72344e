"""What the card beside the cursor says of a pass."""

from __future__ import annotations

import pytest

from pdviz.evaluation import evaluate
from pdviz.scenario import Scenario
from pdviz.scene.request.hover import hover

RESULT = evaluate(Scenario(prompt_tokens=1_000, output_tokens=5))


@pytest.mark.parametrize("index", [1, 2, 4])
def test_that_a_decode_pass_attends_to_the_prompt_and_all_tokens_before_its_own_result(index: int) -> None:
    """The first decode pass reads the prompt and the token that prefill made."""
    found = hover(RESULT, index)
    assert dict(found.rows)["context"] == f"1,00{index} tokens"
    assert found.title == f"Decode pass {index} of 4"
    assert [name for name, _ in found.rows][2:5] == ["tokens", "context", "FLOPs"]
    assert found.index == index


def test_that_cached_tokens_and_others_leave_the_context_as_it_is() -> None:
    result = evaluate(Scenario(prompt_tokens=1_000, output_tokens=5, cached_tokens=600, others=3))
    assert dict(hover(result, 1).rows)["context"] == "1,001 tokens"
    assert dict(hover(result, 1).rows)["tokens"] == "4 tokens"


def test_that_prefill_is_said_to_have_tokens_and_no_context() -> None:
    found = hover(RESULT, 0)
    assert "context" not in dict(found.rows)
    assert dict(found.rows)["tokens"] == "1,000 tokens"
    assert found.title == "Prefill"


def test_that_the_floor_is_not_compared_with_itself() -> None:
    names = [name for name, _ in hover(RESULT, 1).rows]
    assert names[-1] == "speed of light"
    floor = evaluate(Scenario(prompt_tokens=1_000, output_tokens=5, fidelity="ideal"))
    assert "speed of light" not in dict(hover(floor, 1).rows)
