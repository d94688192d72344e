"""The one state: checked edits, and texts that give it back."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdviz.costmodel.dtypes import KV_DTYPES, WEIGHT_DTYPES
from pdviz.costmodel.fidelities import FIDELITIES
from pdviz.errors import InputError
from pdviz.field import ACCELERATORS_LIMIT, OTHERS_LIMIT, TOKENS_LIMIT
from pdviz.fields import BY_KEY, BY_NAME, FIELDS, POLICIES
from pdviz.scenario import (
    PRESETS,
    Scenario,
    changed,
    edit,
    from_keys,
    from_line,
    parse_keys,
    to_keys,
    to_line,
)

printable = st.characters(exclude_categories=("C", "Z")) | st.just(" ")
names = st.text(printable, min_size=1, max_size=12).map(str.strip).filter(bool)
fractions = st.floats(1e-6, 1.0)


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Any valid scenario."""
    prompt = draw(st.integers(1, TOKENS_LIMIT))
    return Scenario(
        model=draw(names),
        accelerator=draw(names),
        accelerators=draw(st.integers(1, ACCELERATORS_LIMIT)),
        weights_dtype=draw(st.sampled_from(WEIGHT_DTYPES)),
        kv_dtype=draw(st.sampled_from(KV_DTYPES)),
        prompt_tokens=prompt,
        output_tokens=draw(st.integers(1, TOKENS_LIMIT)),
        others=draw(st.integers(0, OTHERS_LIMIT)),
        others_context_tokens=draw(st.none() | st.integers(1, TOKENS_LIMIT)),
        cached_tokens=draw(st.integers(0, prompt - 1)),
        fidelity=draw(st.sampled_from(tuple(FIDELITIES))),
        compute_efficiency=draw(fractions),
        bandwidth_efficiency=draw(fractions),
        workload=draw(st.sampled_from(("steady chat", "0.5:512>128 1:7>2", "trace one.csv 3:16384>20"))),
        policy=draw(st.sampled_from(POLICIES)),
        against=draw(st.sampled_from(("none", *POLICIES))),
        token_budget=draw(st.integers(1, TOKENS_LIMIT)),
        capacity_tokens=draw(st.none() | st.integers(1, 2**31)),
        replicas=draw(st.integers(1, 1024)),
        link_bytes_per_s=draw(st.floats(1, 1e13)),
        ttft_target_s=draw(st.floats(0, 1e6)),
    )


def values(scenario: Scenario) -> dict[str, object]:
    return {field.name: getattr(scenario, field.name) for field in FIELDS}


# --- the table ---------------------------------------------------------------------------------------


def test_that_the_table_has_every_field_of_the_scenario_once() -> None:
    assert sorted(field.name for field in FIELDS) == sorted(Scenario.__struct_fields__)
    assert len(BY_KEY) == len(BY_NAME) == len(FIELDS)


def test_that_keys_are_the_options_of_the_command_line() -> None:
    expected = "model gpu tp weights kv prompt output others others-context cached fidelity"
    server = (
        "workload policy against token-budget max-batched-tokens max-seqs capacity-tokens prefill-steps "
        "decode-steps replicas prefill-engines decode-engines link-bandwidth link-latency ttft-target "
        "itl-target"
    )
    shares = "compute-efficiency bandwidth-efficiency"
    assert list(BY_KEY) == [*expected.split(), *shares.split(), *server.split()]


def test_that_every_field_has_words_for_the_user() -> None:
    for field in FIELDS:
        assert field.label
        assert field.help.endswith(".")
        assert field.expectation
        assert field.kind in ("name", "choice", "count", "fraction", "amount")
        assert bool(field.choices) == (field.kind == "choice")


def test_that_the_default_is_the_lesson_s_request_and_valid() -> None:
    scenario = Scenario()
    assert edit(Scenario(), **values(scenario)) == scenario
    assert (scenario.model, scenario.accelerator) == ("Llama 3.1 8B", "H100 SXM")
    assert (scenario.prompt_tokens, scenario.output_tokens, scenario.others) == (512, 128, 0)
    assert scenario.fidelity == "textbook"
    assert (scenario.compute_efficiency, scenario.bandwidth_efficiency) == (0.55, 0.75)


# --- there and back ----------------------------------------------------------------------------------


@given(scenarios())
def test_that_a_share_line_gives_the_scenario_back(scenario: Scenario) -> None:
    line = to_line(scenario)
    assert line.isprintable()
    assert from_line(line) == scenario


@settings(max_examples=40)
@given(scenarios())
def test_that_keys_give_the_scenario_back_even_through_json(scenario: Scenario) -> None:
    assert from_keys(to_keys(scenario), "test") == scenario
    assert from_keys(json.loads(json.dumps(to_keys(scenario))), "test") == scenario


@settings(max_examples=40)
@given(scenarios(), scenarios())
def test_that_an_edit_of_every_field_from_its_text_gives_the_other_scenario(a: Scenario, b: Scenario) -> None:
    texts = {name: BY_NAME[name].absent if value is None else str(value) for name, value in values(b).items()}
    assert edit(a, **texts) == edit(a, **values(b)) == b


@settings(max_examples=40)
@given(scenarios(), scenarios())
def test_that_what_changed_is_exactly_what_an_edit_must_set(a: Scenario, b: Scenario) -> None:
    names = changed(a, b)
    assert edit(a, **{name: getattr(b, name) for name in names}) == b
    assert changed(a, a) == frozenset()
    assert all(getattr(a, name) == getattr(b, name) for name in set(BY_NAME) - names)


def test_that_a_share_line_is_short_and_quoted_for_a_shell() -> None:
    assert to_line(Scenario()) == "model='Llama 3.1 8B' gpu='H100 SXM' prompt=512 output=128"
    busy = Scenario(model="gpt2", accelerator="L4", others=63, kv_dtype="fp8", compute_efficiency=0.6)
    assert to_line(busy) == "model=gpt2 gpu=L4 kv=fp8 prompt=512 output=128 others=63 compute-efficiency=0.6"


@pytest.mark.parametrize(
    "name", ["it's", 'a "b"', "back\\slash", "semi;colon $HOME", "a=b", "#1", "日本 語", "~"]
)
def test_that_awkward_names_survive_a_share_line(name: str) -> None:
    scenario = Scenario(model=name, accelerator=name)
    assert from_line(to_line(scenario)) == scenario


def test_that_what_a_line_or_a_table_leaves_out_is_as_in_the_base() -> None:
    assert from_line("prompt=32K") == Scenario(prompt_tokens=32_768)
    assert from_line('prompt=1,000 model="Mistral 7B"') == Scenario(prompt_tokens=1000, model="Mistral 7B")
    base = Scenario(others=9)
    assert edit(base, **parse_keys({"tp": 2}, "test")) == Scenario(others=9, accelerators=2)
    assert from_keys({}, "test") == Scenario()


# --- bad input ---------------------------------------------------------------------------------------

BAD: dict[str, tuple[object, ...]] = {
    "name": ("", "  ", None, True, [], {}),
    "choice": ("bf17", "", None, True, 16, ["bf16"]),
    "count": ("many", "", "1.5", -1, 0.5, True, [1], 10**12, float("nan"), float("inf")),
    "amount": ("fast", "", -1, None, True, float("nan"), float("inf"), "5 apples", "1e999"),
    "fraction": ("high", "", 0, 1.5, -0.1, None, True, float("nan"), "200%"),
}


@pytest.mark.parametrize(
    ("key", "bad"),
    [(field.key, bad) for field in FIELDS for bad in BAD[field.kind]],
    ids=lambda value: repr(value)[:20],
)
def test_that_a_bad_value_is_refused_with_the_place_and_the_key(key: str, bad: object) -> None:
    with pytest.raises(InputError) as error:
        from_keys({key: bad}, "mine.toml")
    assert str(error.value).startswith(f"mine.toml: {key} must be ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("field", [field for field in FIELDS if field.kind == "count"], ids=lambda f: f.key)
def test_that_counts_stop_at_their_limits(field: object) -> None:
    base = Scenario(prompt_tokens=TOKENS_LIMIT)
    most = field.high - 1 if field.key == "cached" else field.high
    assert getattr(edit(base, **{field.name: most}), field.name) == most
    assert getattr(edit(base, **{field.name: field.low}), field.name) == field.low
    for beyond in (field.low - 1, field.high + 1):
        with pytest.raises(InputError, match=rf"^{field.key} must be .*a whole number from {field.low:,} to"):
            edit(base, **{field.name: beyond})


def test_that_choices_are_understood_in_any_case_and_listed_when_missed() -> None:
    assert edit(Scenario(), weights_dtype=" FP8 ").weights_dtype == "fp8"
    with pytest.raises(InputError, match=r'^weights must be one of fp32, bf16, .*, got "q4"$'):
        edit(Scenario(), weights_dtype="q4")


def test_that_only_the_context_of_the_others_may_be_absent() -> None:
    assert edit(Scenario(others_context_tokens=5), others_context_tokens=None) == Scenario()
    assert edit(Scenario(others_context_tokens=5), others_context_tokens="Same") == Scenario()
    for field in FIELDS:
        if not field.optional:
            with pytest.raises(InputError, match=f"^{field.key} must be"):
                edit(Scenario(), **{field.name: None})


def test_that_a_cached_prefix_leaves_a_token_to_compute() -> None:
    assert edit(Scenario(), cached_tokens=511).cached_tokens == 511
    for values in ({"cached_tokens": 512}, {"prompt_tokens": 10, "cached_tokens": 11}):
        with pytest.raises(InputError, match=r"^cached must be below prompt"):
            edit(Scenario(), **values)
    with pytest.raises(InputError, match=r"^cached must be below prompt \(100 tokens\).*, got 400$"):
        edit(Scenario(cached_tokens=400), prompt_tokens=100)


def test_that_an_edit_leaves_the_old_scenario_alone() -> None:
    old = Scenario()
    assert edit(old, prompt_tokens=7) == Scenario(prompt_tokens=7)
    assert old == Scenario()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "it is empty"),
        ("   ", "it is empty"),
        ("prompt", '"prompt" is not of the form key=value'),
        ("prompt=1 prompt=2", "prompt is given twice"),
        ("promt=1", 'unknown key "promt", expected one of model, gpu, tp'),
        ("model='Llama", "no closing quotation"),
        ("prompt=x", "prompt must be a whole number"),
        ("=5", 'unknown key ""'),
    ],
)
def test_that_a_line_that_cannot_be_read_says_why(line: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        from_line(line)
    assert str(error.value).startswith(f"scenario line: {message}")


@given(st.text())
def test_that_any_line_is_a_scenario_or_an_input_error(line: str) -> None:
    try:
        found: object = from_line(line)
    except InputError as error:
        found = str(error)
    assert isinstance(found, Scenario) or str(found).startswith("scenario line: ")


# --- presets -----------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(scenarios())
def test_that_a_preset_matches_once_applied_and_sets_only_the_request(scenario: Scenario) -> None:
    for preset in PRESETS:
        applied = preset.apply(scenario)
        assert preset.matches(applied)
        assert edit(applied) == applied
        for name in ("model", "accelerator", "accelerators", "weights_dtype", "kv_dtype", "fidelity"):
            assert getattr(applied, name) == getattr(scenario, name)


def test_that_no_two_presets_match_and_any_edit_of_the_request_ends_the_match() -> None:
    for preset in PRESETS:
        applied = preset.apply(Scenario())
        assert [p.title for p in PRESETS if p.matches(applied)] == [preset.title]
        for name in ("prompt_tokens", "output_tokens", "others", "cached_tokens"):
            moved = msgspec.structs.replace(applied, **{name: getattr(applied, name) + 1})
            assert not preset.matches(moved)
        assert not preset.matches(msgspec.structs.replace(applied, others_context_tokens=9))
        assert preset.matches(msgspec.structs.replace(applied, fidelity="ideal"))


def test_that_the_presets_are_the_promised_ones() -> None:
    found = {p.title: (p.prompt_tokens, p.output_tokens, p.others, p.cached_tokens) for p in PRESETS}
    assert found["Chat"] == (512, 128, 0, 0)
    assert found["128-token prompt"][0] == 128
    assert found["32K document"][0] == 32_768
    assert found["Code completion"][:2] == (2000, 40)
    assert found["Busy server"] == (512, 128, 63, 0)
    assert found["Agent turn"] == (16 * 1024, 256, 0, 15 * 1024)
