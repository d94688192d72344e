"""From a scenario to what is shown, with the shipped catalogue: golden values, warnings, notes."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdviz.catalogue import default_catalogue
from pdviz.costmodel.bounds import BANDWIDTH, COMPUTE
from pdviz.costmodel.dtypes import DTYPES, KV_DTYPES, WEIGHT_DTYPES
from pdviz.costmodel.fidelities import FIDELITIES
from pdviz.costmodel.weights import kernel_format
from pdviz.errors import InputError
from pdviz.evaluation import Result, evaluate
from pdviz.scenario import PRESETS, Scenario, edit
from pdviz.units import duration


def agrees(seconds: float | None, milliseconds: str) -> bool:
    """True where a time is the published one, up to half of its last digit.

    A little more than half is let through: two of the published figures were rounded twice.
    """
    assert seconds is not None
    digit = 10.0 ** -len(milliseconds.partition(".")[2])
    return abs(seconds * 1e3 - float(milliseconds)) <= 0.52 * digit


@pytest.mark.parametrize(
    ("prompt", "ttft", "itl", "e2e", "bound", "flops"),
    [
        (50, "6.3922", "6.3982", "818.963", BANDWIDTH, 8.03694592e11),
        (128, "6.3922", "6.4023", "819.480", BANDWIDTH, 2.060075401216e12),
        (216, "6.4001", "6.4069", "820.071", COMPUTE, 3.481360072704e12),
        (512, "15.2438", "6.4223", "830.875", COMPUTE, 8.291841212416e12),
        (4000, "125.8157", "6.6043", "964.557", COMPUTE, 6.84374425600e13),
        (32768, "1484.9798", "8.1050", "2514.318", COMPUTE, 8.07754767794176e14),
    ],
)
def test_that_the_default_model_and_accelerator_give_the_published_textbook_times(
    prompt: int, ttft: str, itl: str, e2e: str, bound: str, flops: float
) -> None:
    result = evaluate(Scenario(prompt_tokens=prompt))
    assert agrees(result.ttft_s, ttft)
    assert agrees(result.itl_s, itl)
    assert agrees(result.e2e_s, e2e)
    assert result.prefill.bound == bound
    assert result.prefill.flops == pytest.approx(flops, rel=1e-12)
    assert result.crossover_prompt_tokens == 216
    assert result.decode is not None
    assert result.decode.bound == BANDWIDTH
    assert result.model.weights_read_bytes(1) == result.memory.weights_bytes == 16_060_522_496


def test_that_the_lesson_s_sentences_are_true() -> None:
    chat, busy = evaluate(Scenario()), evaluate(Scenario(others=63))
    assert f"{chat.decode_share:.1%}" == "98.2%"
    assert agrees(busy.itl_s, "8.3154")
    assert chat.itl_s is not None
    assert busy.itl_s is not None
    assert f"{busy.itl_s / chat.itl_s - 1:.0%}" == "29%"
    assert chat.tokens_per_s_stream == chat.tokens_per_s_total == 1 / chat.itl_s
    assert busy.tokens_per_s_total == pytest.approx(64 / busy.itl_s)
    assert busy.streams == 64
    assert evaluate(Scenario(prompt_tokens=215)).prefill.bound == BANDWIDTH
    assert chat.half_speed_context_tokens == 16_060_522_496 / 131_072


@pytest.mark.parametrize(
    ("accelerator", "ridge", "crossover", "short", "middle", "long", "itl"),
    [
        ("A100 80 SXM", 153, 165, "7.37", "95.2", "423", "7.49"),
        ("H100 SXM", 295, 317, "4.49", "30.0", "133", "4.56"),
        ("H200", 206, 221, "3.13", "30.0", "133", "3.18"),
        ("L40S", 419, 449, "17.4", "82.0", "365", "17.7"),
        ("MI300X", 247, 265, "2.84", "22.7", "101", "2.88"),
    ],
)
def test_that_the_speed_of_light_of_five_accelerators_is_the_published_one(
    accelerator: str, ridge: int, crossover: int, short: str, middle: str, long: str, itl: str
) -> None:
    name = {"A100 80 SXM": "A100 80GB SXM"}.get(accelerator, accelerator)
    base = Scenario(accelerator=name, fidelity="ideal", output_tokens=2)
    for prompt, published in ((128, short), (2048, middle), (8192, long)):
        result = evaluate(msgspec.structs.replace(base, prompt_tokens=prompt))
        assert agrees(result.ttft_s, published)
        assert round(result.machine.ridge_flops_per_byte) == ridge
        assert result.crossover_prompt_tokens == crossover
    assert agrees(evaluate(msgspec.structs.replace(base, prompt_tokens=2048)).itl_s, itl)


def test_that_the_speed_of_light_ignores_the_user_s_efficiencies() -> None:
    ideal = Scenario(fidelity="ideal")
    slow = msgspec.structs.replace(ideal, compute_efficiency=0.1, bandwidth_efficiency=0.1)
    assert evaluate(slow).e2e_s == evaluate(ideal).e2e_s < evaluate(Scenario()).e2e_s
    assert evaluate(ideal).machine.compute_efficiency == 1


def test_that_efficiencies_and_accelerators_reach_the_machine() -> None:
    slow = evaluate(Scenario(compute_efficiency=0.11, bandwidth_efficiency=0.15))
    assert slow.ttft_s == pytest.approx(5 * evaluate(Scenario()).ttft_s)
    assert slow.e2e_s == pytest.approx(5 * evaluate(Scenario()).e2e_s)
    four = evaluate(Scenario(accelerators=4))
    assert four.e2e_s == pytest.approx(evaluate(Scenario()).e2e_s / 4, rel=1e-12)
    assert four.memory.capacity_bytes == 4 * 85_520_809_984


def test_that_one_output_token_has_no_inter_token_latency() -> None:
    result = evaluate(Scenario(output_tokens=1))
    assert result.e2e_s == result.ttft_s
    assert result.decode_share == 0
    for name in ("itl_s", "decode", "decode_last", "tokens_per_s_stream", "tokens_per_s_total"):
        assert getattr(result, name) is None


def test_that_first_and_last_decode_steps_are_those_of_the_train() -> None:
    result = evaluate(Scenario())
    assert result.decode == result.request.pass_cost(1)
    assert result.decode_last == result.request.pass_cost(127)
    assert result.decode is not None
    assert result.decode_last is not None
    assert result.decode.bytes == 16_060_522_496 + 131_072 * 513
    assert result.decode_last.bytes == pytest.approx(16_060_522_496 + 131_072 * 639, rel=1e-12)


def test_that_cached_tokens_others_and_formats_reach_the_cost_model() -> None:
    agent = evaluate(Scenario(prompt_tokens=16_384, cached_tokens=15_360))
    assert agent.prefill.tokens == 1024
    assert agent.prefill.bytes == 16_060_522_496 + 131_072 * 15_360
    crowd = evaluate(Scenario(others=9, others_context_tokens=2000, kv_dtype="fp8"))
    assert crowd.decode is not None
    assert crowd.decode.tokens == 10
    assert crowd.decode.bytes == 16_060_522_496 + 65_536 * (513 + 9 * 2000)
    assert crowd.memory.kv_bytes == 65_536 * (639 + 9 * 2000)
    assert evaluate(Scenario(weights_dtype="fp8")).machine.peak_flops_per_s == 1979e12


# --- memory, warnings, notes ---------------------------------------------------------------------------


def test_that_nothing_is_said_of_the_default_request() -> None:
    result = evaluate(Scenario())
    assert (result.warnings, result.notes) == ((), ())
    assert result.memory.fits


def test_that_weights_that_do_not_fit_are_costed_and_warned_about() -> None:
    result = evaluate(Scenario(model="Llama 3.1 70B"))
    assert result.itl_s is not None
    assert not result.memory.weights_fit
    (warning,) = result.warnings
    assert warning.startswith("Does not fit: the weights take 141 GB and 1 × H100 SXM has 77.0 GB to give; ")
    assert evaluate(Scenario(model="Llama 3.1 70B", accelerators=2)).warnings == ()


def test_that_a_cache_that_does_not_fit_is_told_apart_from_weights() -> None:
    result = evaluate(Scenario(others=999))
    assert result.memory.weights_fit
    assert not result.memory.fits
    (warning,) = result.warnings
    assert warning == (
        "Does not fit: the KV cache of 1,000 sequences grows to 83.8 GB and the weights leave 60.9 GB; "
        "22.8 GB is missing; it fits on 2."
    )


def test_that_a_context_beyond_the_model_s_is_warned_about() -> None:
    assert evaluate(Scenario(prompt_tokens=131_072 - 128)).warnings == ()
    (warning,) = evaluate(Scenario(prompt_tokens=131_072 - 127)).warnings
    assert warning.startswith("Beyond the model's context: prompt and output are 131,073 tokens")
    (warning,) = evaluate(Scenario(others=1, others_context_tokens=131_073)).warnings
    assert warning.startswith("Beyond the model's context: the others hold 131,073 tokens each")
    assert evaluate(Scenario(others=0, others_context_tokens=131_073)).warnings == ()


def test_that_accelerators_together_come_with_their_assumptions() -> None:
    (note,) = evaluate(Scenario(accelerators=8)).notes
    assert note.startswith("8 accelerators count as 8 times")
    notes = evaluate(Scenario(accelerators=16)).notes
    assert notes[0].startswith("The KV heads (8) do not divide among 16 accelerators")
    one, sixteen = evaluate(Scenario()), evaluate(Scenario(accelerators=16))
    assert sixteen.memory.kv_bytes == 2 * one.memory.kv_bytes
    latent = Scenario(model="DeepSeek V3", accelerator="H200", accelerators=8, weights_dtype="fp8")
    assert evaluate(latent).memory.kv_bytes == 8 * 70_272 * 639
    assert any("keeps the whole latent" in note for note in evaluate(latent).notes)


@pytest.mark.parametrize(
    ("weights", "accelerator", "note"),
    [
        ("bf16", "T4", "BF16 weights are converted to FP16 to be multiplied on T4."),
        ("bf16", "V100 32GB", "BF16 weights are converted to FP16 to be multiplied on V100 32GB."),
        ("fp8", "a100-80gb", "FP8 weights are converted to BF16 to be multiplied on A100 80GB SXM."),
        ("int4", "H100 SXM", "INT4 weights are converted to BF16 to be multiplied on H100 SXM."),
    ],
)
def test_that_a_conversion_for_multiplying_is_noted(weights: str, accelerator: str, note: str) -> None:
    result = evaluate(Scenario(weights_dtype=weights, accelerator=accelerator))
    assert note in result.notes
    peaks = result.accelerator.peak_flops_per_s
    assert result.machine.peak_flops_per_s == peaks.get("bf16", peaks["fp16"])


def test_that_four_bit_weights_speed_up_decode_and_not_a_long_prefill() -> None:
    wide, narrow = (evaluate(Scenario(prompt_tokens=4000, weights_dtype=w)) for w in ("bf16", "int4"))
    assert narrow.ttft_s == wide.ttft_s
    assert wide.itl_s is not None
    assert narrow.itl_s is not None
    assert narrow.itl_s < wide.itl_s / 2
    assert 5.6 <= round(narrow.memory.weights_bytes / 1e9, 1) <= 5.7


def test_that_mistral_s_window_bounds_its_cache_and_ends_its_growth() -> None:
    result = evaluate(Scenario(model="Mistral 7B v0.1", prompt_tokens=32_000, output_tokens=256))
    assert result.memory.kv_bytes == 4096 * 131_072
    assert result.half_speed_context_tokens is None
    assert result.decode is not None
    assert result.decode_last is not None
    assert result.decode.bytes == result.decode_last.bytes


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        (Scenario(model="Lama 3.1 8B"), r'unknown model "Lama 3\.1 8B": .*Llama 3\.1 8B'),
        (Scenario(accelerator="H1000"), r'unknown accelerator "H1000": .*H100'),
    ],
)
def test_that_an_unknown_name_is_an_input_error(scenario: Scenario, message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate(scenario)


# --- everything in the catalogue -----------------------------------------------------------------------

CATALOGUE = default_catalogue()


@settings(max_examples=100)
@given(
    st.builds(
        Scenario,
        model=st.sampled_from([m.name for m in CATALOGUE.models]),
        accelerator=st.sampled_from([a.name for a in CATALOGUE.accelerators]),
        accelerators=st.sampled_from((1, 2, 7, 8, 4096)),
        weights_dtype=st.sampled_from(WEIGHT_DTYPES),
        kv_dtype=st.sampled_from(KV_DTYPES),
        prompt_tokens=st.integers(2, 2**24),
        output_tokens=st.integers(1, 2**24),
        others=st.integers(0, 65_535),
        others_context_tokens=st.none() | st.integers(1, 2**24),
        cached_tokens=st.integers(0, 1),
        fidelity=st.sampled_from(tuple(FIDELITIES)),
        compute_efficiency=st.floats(1e-6, 1),
        bandwidth_efficiency=st.floats(1e-6, 1),
    )
)
def test_that_whatever_is_asked_of_the_catalogue_is_answered_above_the_floor(scenario: Scenario) -> None:
    peaks = CATALOGUE.accelerator(scenario.accelerator).peak_flops_per_s
    kernel = kernel_format(CATALOGUE.architecture(scenario.model), scenario.weights_dtype)
    if not set(peaks) & set(DTYPES[kernel].math):
        with pytest.raises(InputError, match="has no published rate"):
            evaluate(scenario)
        return
    result = evaluate(scenario)
    peak, bandwidth = result.machine.peak_flops_per_s, result.machine.bandwidth_bytes_per_s
    for cost in (result.prefill, result.decode, result.decode_last):
        if cost is not None:
            assert cost.time_s >= max(cost.flops / peak, cost.bytes / bandwidth)
            assert 0 < cost.compute_utilisation <= result.machine.compute_efficiency * (1 + 1e-12)
            assert 0 < cost.bandwidth_utilisation <= result.machine.bandwidth_efficiency * (1 + 1e-12)
    steps = scenario.output_tokens - 1
    expected = result.ttft_s + (steps * result.itl_s if result.itl_s else 0)
    assert result.e2e_s == pytest.approx(expected, rel=1e-12)
    assert 0 < result.e2e_s < 1e30
    assert result.memory.fits == (not any(w.startswith("Does not fit") for w in result.warnings))


def test_that_every_model_answers_every_preset() -> None:
    for entry in CATALOGUE.models:
        for preset in PRESETS:
            result = evaluate(preset.apply(Scenario(model=entry.name)))
            assert result.crossover_prompt_tokens is not None, entry.name
            assert result.prefill.time_s > 0


def test_that_the_sums_over_layers_are_made_once_for_a_model() -> None:
    first, second = evaluate(Scenario()), evaluate(Scenario(prompt_tokens=77, others=3))
    assert first.model is second.model
    assert evaluate(Scenario(kv_dtype="fp8")).model is not first.model
    assert isinstance(first, Result)


# --- what is said of sharing and converting


def notes_of(**fields: object) -> str:
    return " ".join(evaluate(edit(Scenario(), **fields)).notes)


def test_that_query_heads_which_do_not_divide_are_said() -> None:
    assert "query heads (28) do not divide among 8" in notes_of(model="Qwen2.5 7B", accelerators=8)
    assert "query heads" not in notes_of(model="Qwen2.5 7B", accelerators=4)
    warned = evaluate(edit(Scenario(), model="Llama 4 Scout 17B-16E", accelerator="L4")).warnings
    assert "it fits on 16, among which its query heads do not divide" in warned[0]


def test_that_copies_of_a_latent_are_said_with_the_time_that_reading_them_takes() -> None:
    fields = {
        "model": "DeepSeek V3",
        "accelerator": "H200",
        "accelerators": 8,
        "weights_dtype": "fp8",
        "prompt_tokens": 8192,
        "others": 87,
    }
    result = evaluate(edit(Scenario(), **fields))
    last = result.decode_last
    assert last is not None
    context = 8192 + 127
    more = 7 * 88 * 70_272 * context  # seven more copies of every latent
    read_s = (last.bytes + more) / (0.75 * 8 * 4.8e12)
    note = next(n for n in result.notes if "latent" in n)
    assert note.startswith("Each of 8 accelerators keeps the whole latent: counted in memory, not in time")
    assert f"makes the last decode pass {duration(read_s)}, not {duration(last.time_s)}" in note
    assert "latent: counted" not in notes_of(model="DeepSeek V3", accelerators=1)


def test_that_experts_which_do_not_divide_are_said() -> None:
    text = notes_of(model="Qwen1.5 MoE A2.7B", accelerators=8)
    assert "Experts are placed whole, so the fullest accelerator holds" in text
    assert "placed whole" not in notes_of(model="Qwen1.5 MoE A2.7B", accelerators=4)


@pytest.mark.parametrize(
    ("accelerator", "kv", "said"),
    [
        ("A100 80GB SXM", "fp8", "The FP8 KV cache is converted to BF16 for attention on A100 80GB SXM."),
        ("T4", "bf16", "The BF16 KV cache is converted to FP16 for attention on T4."),
        ("H100 SXM", "int4", "The INT4 KV cache is converted to BF16 for attention on H100 SXM."),
        ("H100 SXM", "fp8", ""),
        ("A100 80GB SXM", "bf16", ""),
    ],
)
def test_that_a_cache_which_has_to_be_converted_is_said(accelerator: str, kv: str, said: str) -> None:
    text = notes_of(accelerator=accelerator, kv_dtype=kv)
    assert (said in text) if said else ("KV cache is converted" not in text)


def test_that_efficiencies_which_the_speed_of_light_does_not_use_are_said() -> None:
    assert "the efficiencies that are set are not used" in notes_of(fidelity="ideal", compute_efficiency=0.5)
    assert "efficiencies" not in notes_of(fidelity="ideal")
