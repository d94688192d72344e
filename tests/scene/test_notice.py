"""What is to be noticed is true, told whenever it is, and leads somewhere."""

from __future__ import annotations

import math
import re

import msgspec
import pytest
from costmodel_shapes import per_sample, per_token
from hypothesis import given, settings
from hypothesis import strategies as st

from pdviz.catalogue import default_catalogue
from pdviz.costmodel.dtypes import DTYPES
from pdviz.evaluation import Result, evaluate
from pdviz.fields import FIELDS
from pdviz.scenario import PRESETS, Scenario, edit
from pdviz.scene.request.notice import ATTENTION_SHARE, LIKE, MOST, RULES, SAVED, Notice, notices
from pdviz.scene.request.suggestion import LESSON, WORDS, suggestion
from pdviz.units import count, duration, percent, significant, size

CATALOGUE = default_catalogue()
MODELS = (
    *("Llama 3.1 8B", "Mistral 7B v0.1", "Gemma 3 27B", "Mixtral 8x7B", "DeepSeek V3", "gpt-oss 120B"),
    *("Qwen3-Next 80B-A3B", "Mamba 2.8B", "Llama 3.1 405B", "Llama 2 7B"),
)
EVERY_MODEL = tuple(m.name for m in CATALOGUE.models)


def log_counts(low: int, high: int) -> st.SearchStrategy[int]:
    """Whole numbers, as many between 1 and 10 as between 1,000 and 10,000."""
    return st.floats(math.log(low), math.log(high)).map(lambda x: min(max(round(math.exp(x)), low), high))


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    prompt = draw(st.one_of(log_counts(1, 2**18), st.sampled_from((128, 512, 2000, 16_384, 32_768))))
    return Scenario(
        model=draw(st.sampled_from((*MODELS, *EVERY_MODEL))),
        accelerator=draw(st.sampled_from(("H100 SXM", "H200", "L4", "MI300X", "B200"))),
        accelerators=draw(st.sampled_from((1, 1, 4, 16))),
        weights_dtype=draw(st.sampled_from(("bf16", "bf16", "fp8", "int4"))),
        kv_dtype=draw(st.sampled_from(("bf16", "fp8"))),
        prompt_tokens=prompt,
        output_tokens=draw(st.one_of(st.sampled_from((1, 2, 3)), log_counts(1, 10**5))),
        others=draw(st.one_of(st.just(0), log_counts(1, 8_191))),
        others_context_tokens=draw(st.one_of(st.none(), log_counts(1, 2**17))),
        cached_tokens=draw(st.one_of(st.just(0), st.integers(0, prompt - 1))),
        fidelity=draw(st.sampled_from(("textbook", "textbook", "ideal"))),
        compute_efficiency=draw(st.sampled_from((0.55, 1.0, 0.02))),
    )


changes = st.frozensets(st.sampled_from([field.name for field in FIELDS]), max_size=2)


def result_of(**values: object) -> Result:
    return evaluate(edit(Scenario(), **values))


def all_notices(result: Result) -> dict[str, Notice]:
    """Whatever any rule has to say, not only the two that are shown."""
    found = [notice for rule in RULES if (notice := rule.find(result)) is not None]
    assert len({notice.key for notice in found}) == len(found)
    return {notice.key: notice for notice in found}


def again(result: Result, **fields: object) -> Result:
    """The scenario evaluated with other fields, from the start."""
    return evaluate(msgspec.structs.replace(result.scenario, **fields))


def numbers(text: str) -> list[str]:
    return re.findall(r"\d[\d,]*(?:\.\d+)?", text)


# --- each claim ------------------------------------------------------------------------------------


@settings(max_examples=120)
@given(scenarios())
def test_that_something_is_said_and_never_more_than_two_things(scenario: Scenario) -> None:
    found = notices(evaluate(scenario))
    assert 1 <= len(found) <= MOST == 2
    for notice in found:
        assert notice.headline.endswith(".")
        assert notice.details
        assert notice.spoken.startswith(notice.headline)
        for text in (notice.headline, *notice.details):
            assert text == text.strip()
            assert not re.search(r"\b(nan|inf|None)\b|  |\be[+-]?\d", text)
            assert not re.search(r"(?<![\d,.])1 (tokens|others|passes|streams|experts)\b", text), text


@given(scenarios())
def test_that_what_does_not_fit_is_said_first_with_what_is_missing(scenario: Scenario) -> None:
    result = evaluate(scenario)
    notice = all_notices(result).get("too_large")
    assert (notice is None) == result.memory.fits
    if notice is not None:
        m = result.memory
        assert notices(result)[0] == notice
        assert size(m.used_bytes + m.uneven_bytes + m.reserve_bytes - m.capacity_bytes) in notice.headline
        for part in (m.weights_bytes, m.kv_bytes, m.capacity_bytes - m.reserve_bytes):
            assert size(part) in notice.details[0]


@given(scenarios())
def test_that_one_token_has_no_decode_pass(scenario: Scenario) -> None:
    result = evaluate(scenario)
    notice = all_notices(result).get("one_token")
    assert (notice is None) == (scenario.output_tokens > 1)
    if notice is not None:
        assert duration(result.e2e_s) in notice.details[0]
        for key in ("batch", "kv_outweighs", "turn", "decode_share", "prefill_share", "pace"):
            assert key not in all_notices(result)


@given(scenarios())
def test_that_a_cached_prefix_is_compared_with_none(scenario: Scenario) -> None:
    result = evaluate(scenario)
    notice = all_notices(result).get("cached")
    assert (notice is None) == (scenario.cached_tokens == 0)
    if notice is not None:
        without = again(result, cached_tokens=0).ttft_s
        new = scenario.prompt_tokens - scenario.cached_tokens
        assert numbers(notice.headline) == [count(scenario.cached_tokens), count(scenario.prompt_tokens)]
        assert f"the other {count(new)}." in notice.details[0]
        saves = result.ttft_s < (1 - SAVED) * without
        words = "{} instead of {}" if saves else "saves little here: TTFT is {}, without it {}"
        assert words.format(duration(result.ttft_s), duration(without)) in notice.details[0]


@settings(max_examples=120)
@given(scenarios())
def test_that_a_short_prompt_is_one_read(scenario: Scenario) -> None:
    result = evaluate(scenario)
    notice = all_notices(result).get("short_prompt")
    assert (notice is None) == (result.prefill.bound == "compute")
    if notice is None:
        return
    cost, first = result.prefill, result.decode
    assert cost.time_s == pytest.approx(result.machine.bandwidth_s(cost.bytes))
    weights = result.model.weights_read_bytes(cost.tokens)
    assert ("one weight read" in notice.headline) == (cost.bytes - weights < LIKE * cost.bytes)
    assert ("new token" in notice.headline) == (scenario.cached_tokens > 0)
    assert numbers(notice.headline) == [count(cost.tokens)]
    alike = first is not None and abs(cost.time_s / first.time_s - 1) <= LIKE
    assert ("like a decode pass" in notice.headline) == alike
    assert f"TTFT is {duration(result.ttft_s)}" in notice.details[0]
    assert (first is not None) == ("a decode pass takes" in notice.details[0])
    if first is not None:
        assert f"a decode pass takes {duration(first.time_s)}" in notice.details[0]
    turns = result.crossover_prompt_tokens
    if turns is None:
        assert "No prompt is long enough" in notice.details[0]
    else:
        assert f"compute-bound at {count(turns)} prompt token" in notice.details[0]
        assert turns > scenario.prompt_tokens


@settings(max_examples=120)
@given(scenarios())
def test_that_attention_is_worth_a_word_where_it_has_its_share(scenario: Scenario) -> None:
    result = evaluate(scenario)
    notice = all_notices(result).get("attention")
    new, cost, model = result.prefill.tokens, result.prefill, result.model
    weights = per_token(model) * new + per_sample(model)
    share = 1 - weights / cost.flops
    if abs(share - ATTENTION_SHARE) < 1e-9:
        return
    assert (notice is not None) == (share > ATTENTION_SHARE and cost.bound == "compute")
    if notice is None:
        return
    shown = re.search(r"([\d.]+) % of prefill", notice.headline)
    assert shown is not None
    assert float(shown[1]) / 100 == pytest.approx(share, abs=6e-4)
    longer = again(result, prompt_tokens=2 * scenario.prompt_tokens, output_tokens=1).ttft_s / cost.time_s
    assert notice.value("longer") == pytest.approx(longer, rel=1e-9)
    text = notice.details[0]
    if "Twice the prompt" in text:
        assert f"{significant(longer)} times" in text
        assert 2 < longer <= 4.0001 or scenario.cached_tokens
        assert ("its square" in text) == (not model.windows)
    else:
        assert f"to all {count(scenario.cached_tokens)} cached ones" in text
        assert scenario.cached_tokens
        assert not model.windows


@settings(max_examples=120)
@given(scenarios())
def test_that_a_batch_is_compared_with_one_stream(scenario: Scenario) -> None:
    result = evaluate(scenario)
    notice = all_notices(result).get("batch")
    assert (notice is not None) == (scenario.others > 0 and result.itl_s is not None)
    if notice is None:
        return
    alone = again(result, others=0)
    assert alone.itl_s is not None
    assert result.itl_s is not None
    assert result.decode is not None
    streams, ratio = 1 + scenario.others, result.itl_s / alone.itl_s
    assert ratio >= 1 - 1e-12
    assert count(streams) in notice.headline
    text = notice.details[0]
    if "above that of one stream" in text:
        assert f"only {percent(ratio - 1)} above" in text
        assert ratio < 1.5
    else:
        assert f"ITL is {significant(ratio)} times that of one stream" in text
    is_compute = result.decode.bound == "compute"
    assert ("compute-bound" in notice.headline) == is_compute
    assert ("hardly more" in notice.headline) == (streams / ratio < 2 and not is_compute)
    if "share every weight read" in notice.headline:
        assert not result.architecture.is_mixture
        assert result.decode.bound == "bandwidth"
    if "together" in text:
        assert f"for {count(streams)} times the tokens: {significant(streams / result.itl_s)} tok/s" in text


@settings(max_examples=120)
@given(scenarios())
def test_that_kv_outweighs_weights_where_more_of_it_is_moved(scenario: Scenario) -> None:
    result = evaluate(scenario)
    notice = all_notices(result).get("kv_outweighs")
    first, last = result.decode, result.decode_last
    if first is None or last is None:
        assert notice is None
        return
    weights = result.model.weights_read_bytes(result.streams)
    kv_first, kv_last = first.bytes - weights, last.bytes - weights
    if min(abs(kv_last / weights - 1), abs(kv_first / weights - 1)) < 1e-9:
        return
    assert (notice is not None) == (kv_last > weights)
    if notice is None:
        return
    assert notice.headline.startswith("A decode pass" if kv_first > weights else "In the end")
    assert notice.value("last") == pytest.approx(kv_last, rel=1e-6)
    assert size(notice.value("last")) in notice.details[0]
    assert size(weights) in notice.details[0]
    if "alike" in notice.details[0]:
        half = result.half_speed_context_tokens
        assert half is not None
        assert f"at {count(half)} token" in notice.details[0]
        assert result.streams * result.model.kv_bytes(half) == pytest.approx(weights)
        assert scenario.others_context_tokens is None or not scenario.others


def check_turn(result: Result) -> bool:
    """The notice of a changing limit is there where it changes, and true. Tells whether it does."""
    notice = all_notices(result).get("turn")
    first, last = result.decode, result.decode_last
    assert (notice is not None) == (first is not None and last is not None and first.bound != last.bound)
    if notice is None or first is None or last is None:
        return False
    number = int(notice.value("number"))
    assert f"From pass {count(number)} on decode is {last.bound}-bound" in notice.headline
    assert result.request.pass_cost(number - 1).bound == first.bound
    assert result.request.pass_cost(number).bound == last.bound
    assert number > 1
    assert f"it is {first.bound}-bound" in notice.details[0]
    assert f"bytes grow by {percent(last.bytes / first.bytes - 1)}" in notice.details[0]
    assert f"FLOPs by {percent(last.flops / first.flops - 1)}" in notice.details[0]
    return True


@settings(max_examples=120)
@given(scenarios())
def test_that_the_pass_is_named_where_decode_changes_its_limit(scenario: Scenario) -> None:
    check_turn(evaluate(scenario))


@pytest.mark.parametrize("others", [320, 400, 450])
def test_that_a_growing_kv_cache_changes_the_limit_of_decode(others: int) -> None:
    result = result_of(prompt_tokens=16, output_tokens=20_000, others=others, compute_efficiency=0.3)
    assert check_turn(result)


def test_that_what_counts_as_alike_is_alike() -> None:
    assert LIKE <= 0.1
    assert SAVED <= 0.1 <= ATTENTION_SHARE


@settings(max_examples=120)
@given(scenarios())
def test_that_experts_are_counted_for_the_tokens_of_the_pass(scenario: Scenario) -> None:
    result = evaluate(scenario)
    notice = all_notices(result).get("experts")
    assert (notice is not None) == result.architecture.is_mixture
    if notice is None:
        return
    total, active = max((b.total, b.active) for _, b in result.architecture.experts())
    tokens = result.streams if scenario.output_tokens > 1 else result.prefill.tokens

    def hit(tokens: int) -> float:
        return total - total * (1 - active / total) ** tokens

    assert f"reads {count(hit(tokens))} of {count(total)} experts" in notice.headline
    assert notice.headline.startswith("A decode pass" if scenario.output_tokens > 1 else "Prefill")
    assert notice.value("hit") == pytest.approx(hit(tokens))
    if tokens == 1:
        assert f"32 tokens together would read {count(hit(32))} of them" in notice.details[0]
    else:
        assert f"One token meets {count(active)} of them" in notice.details[0]


@given(scenarios())
def test_that_shares_of_the_time_are_those_of_the_request(scenario: Scenario) -> None:
    result = evaluate(scenario)
    found = all_notices(result)
    share = result.decode_share
    if result.itl_s is None or result.decode is None:
        assert not {"decode_share", "prefill_share"} & set(found)
    elif share >= 0.5:
        notice = found["decode_share"]
        assert notice.headline == f"{percent(share)} of this request is decoding."
        assert f"{percent(result.prefill.compute_utilisation)} of the peak" in notice.details[0]
        assert percent(result.decode.compute_utilisation) in notice.details[0]
        assert ("waits for memory" in notice.details[0]) == (result.decode.bound == "bandwidth")
    else:
        notice = found["prefill_share"]
        assert notice.headline == f"Prefill is {percent(result.ttft_s / result.e2e_s)} of this request."
        assert f"first token takes {duration(result.ttft_s)}" in notice.details[0]
        assert duration(result.itl_s) in notice.details[0]
        assert f"{count(scenario.output_tokens - 1)} further token" in notice.details[0]


@given(scenarios())
def test_that_the_pace_of_prefill_is_compared_with_decode(scenario: Scenario) -> None:
    result = evaluate(scenario)
    notice = all_notices(result).get("pace")
    if notice is None:
        assert (
            result.decode is None
            or result.prefill.bound == "bandwidth"
            or result.ttft_s < 1.5 * result.decode.time_s
        )
        return
    assert result.decode is not None
    assert result.tokens_per_s_total is not None
    assert significant(result.ttft_s / result.decode.time_s) in notice.headline
    assert significant(result.prefill.tokens / result.ttft_s) in notice.details[0]
    assert significant(result.tokens_per_s_total) in notice.details[0]


# --- what is shown ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "keys", "next_title"),
    [
        ("Chat", ("decode_share", "pace"), "128-token prompt"),
        ("128-token prompt", ("short_prompt", "decode_share"), "32K document"),
        ("32K document", ("attention", "decode_share"), "Agent turn"),
        ("Agent turn", ("cached", "attention"), "Busy server"),
        ("Busy server", ("batch", "decode_share"), "Code completion"),
        ("Code completion", ("decode_share", "pace"), "Chat"),
    ],
)
def test_that_each_preset_has_its_lesson_and_leads_to_the_next(
    title: str, keys: tuple[str, ...], next_title: str
) -> None:
    preset = next(p for p in PRESETS if p.title == title)
    result = evaluate(preset.apply(Scenario()))
    assert tuple(n.key for n in notices(result)) == keys
    found = suggestion(result)
    assert found is not None
    assert found.preset == next_title
    assert found.text == f"next: {WORDS[next_title]}"
    wanted = next(p for p in PRESETS if p.title == next_title)
    assert wanted.matches(found.apply(result.scenario))


def test_that_the_lesson_visits_every_preset() -> None:
    assert set(LESSON) == {p.title for p in PRESETS} == set(WORDS)


def test_that_the_examples_read_like_this() -> None:
    short = notices(result_of(prompt_tokens=128))[0]
    assert short.headline == "At 128 tokens prefill costs one weight read, like a decode pass."
    assert short.details == (
        "TTFT is 6.39 ms, a decode pass takes 6.40 ms. Prefill turns compute-bound at 216 prompt tokens.",
    )
    busy = notices(result_of(others=63))[0]
    assert busy.spoken == (
        "64 streams share every weight read. ITL is only 29.5 % above that of one stream, "
        "for 64 times the tokens: 7,697 tok/s together."
    )
    long = notices(result_of(prompt_tokens="32K", output_tokens=256))[0]
    assert long.headline == "At 32,768 tokens 34.8 % of prefill's FLOPs are attention."
    expert = all_notices(result_of(model="DeepSeek V3", accelerators=16))["experts"]
    assert (
        expert.spoken
        == "A decode pass reads 8 of 256 experts a layer. 32 tokens together would read 163 of them."
    )


@given(scenarios(), changes)
def test_that_what_was_changed_is_spoken_about_first(scenario: Scenario, changed: frozenset[str]) -> None:
    result = evaluate(scenario)
    shown = notices(result, changed)
    about = {rule.find: bool(rule.fields & changed) for rule in RULES}
    said = [(rule, notice) for rule in RULES if (notice := rule.find(result)) is not None]
    urgent = [notice for rule, notice in said if rule.is_urgent]
    wanted = [notice for rule, notice in said if about[rule.find] and not rule.is_urgent]
    rest = [notice for rule, notice in said if not about[rule.find] and not rule.is_urgent]
    assert list(shown) == [*urgent, *wanted, *rest][:MOST] or len(urgent) > 1
    assert set(notices(result)) <= {notice for _, notice in said}


def test_that_every_rule_is_about_fields_that_exist() -> None:
    names = {field.name for field in FIELDS}
    assert all(rule.fields <= names for rule in RULES)


# --- what to try next ------------------------------------------------------------------------------


@settings(max_examples=120)
@given(scenarios())
def test_that_a_suggestion_can_be_followed_and_changes_something(scenario: Scenario) -> None:
    result = evaluate(scenario)
    found = suggestion(result)
    if found is None:
        return
    wanted = found.apply(scenario)
    assert wanted != scenario
    assert found.text.startswith("next: ")
    assert dict(found.edits).keys() <= {field.name for field in FIELDS}
    after = evaluate(wanted)
    assert after.memory.fits or not result.memory.fits
    limit = result.architecture.max_context_tokens
    longest = wanted.prompt_tokens + wanted.output_tokens
    assert limit is None or longest <= max(limit, scenario.prompt_tokens + scenario.output_tokens)
    assert (found.preset is not None) == any(p.title == found.preset and p.matches(wanted) for p in PRESETS)


@settings(max_examples=120)
@given(scenarios())
def test_that_where_it_does_not_fit_the_first_suggestion_makes_it_fit(scenario: Scenario) -> None:
    result = evaluate(scenario)
    if result.memory.fits:
        return
    found = suggestion(result)
    assert found is not None
    after = evaluate(found.apply(scenario))
    name, value = found.edits[0]
    if name in ("accelerators", "others", "weights_dtype") and found.preset is None:
        assert after.memory.fits
        assert (
            count(value) in found.text if isinstance(value, int) else DTYPES[str(value)].title in found.text
        )


def test_that_too_many_others_are_sent_away_where_accelerators_do_not_help() -> None:
    result = result_of(others=65_535, accelerators=1_024, prompt_tokens=2**20)
    assert not result.memory.fits
    found = suggestion(result)
    assert found is not None
    (name, value), *_ = found.edits
    assert name == "others"
    assert isinstance(value, int)
    assert evaluate(found.apply(result.scenario)).memory.fits
    assert not again(result, others=value + 1).memory.fits


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"prompt_tokens": 50}, "next: try 216 tokens, where prefill turns compute-bound"),
        ({"output_tokens": 1}, "next: ask for 128 tokens"),
        ({"cached_tokens": 100}, "next: drop the cached prefix"),
        ({"others": 7}, "next: send the 7 others away"),
        ({"others": 1}, "next: send the other away"),
        ({"prompt_tokens": 100_000}, "next: cache 93,750 of its tokens"),
        ({"model": "Llama 3.1 405B"}, "next: share it among 16 accelerators"),
        ({"prompt_tokens": 600}, "next: try a 128-token prompt"),
    ],
)
def test_that_a_suggestion_follows_from_what_is_noticed(values: dict[str, object], text: str) -> None:
    found = suggestion(result_of(**values))
    assert found is not None
    assert found.text == text


def test_that_a_preset_beyond_the_model_s_context_is_passed_over() -> None:
    scenario = edit(Scenario(), model="Llama 2 7B", prompt_tokens=128)  # made for 4,096 tokens
    found = suggestion(evaluate(scenario))
    assert found is not None
    assert found.preset == "Busy server"


def test_that_a_preset_that_does_not_fit_is_passed_over() -> None:
    scenario = edit(Scenario(), model="Llama 2 7B", accelerator="L4", prompt_tokens=128)
    result = evaluate(scenario)
    busy = next(p for p in PRESETS if p.title == "Busy server")
    assert result.memory.fits
    assert not evaluate(busy.apply(scenario)).memory.fits
    found = suggestion(result)
    assert found is not None
    assert found.preset == "Code completion"
