"""Configurations read exactly: counts against known values, and one clear sentence for bad ones."""

from __future__ import annotations

import copy
import functools
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_config import LLAMA

from pdviz.costmodel.architecture import Architecture, Experts, FeedForward
from pdviz.errors import InputError
from pdviz.readers.hf.config import read_config

MODELS = Path(__file__).parents[2] / "resources" / "catalogue" / "models.json"

# id, parameters, parameters that one token meets, BF16 bytes of KV cache a token, and beyond all windows.
KNOWN = [
    ("llama-3.1-8b", 8_030_261_248, 8_030_261_248, 131_072, 131_072),
    ("llama-3.1-70b", 70_553_706_496, 70_553_706_496, 327_680, 327_680),
    ("llama-3.1-405b", 405_853_388_800, 405_853_388_800, 516_096, 516_096),
    ("llama-3.2-1b", 1_235_814_400, 1_235_814_400, 32_768, 32_768),
    ("llama-3.2-3b", 3_212_749_824, 3_212_749_824, 114_688, 114_688),
    ("llama-3-8b", 8_030_261_248, 8_030_261_248, 131_072, 131_072),
    ("llama-3-70b", 70_553_706_496, 70_553_706_496, 327_680, 327_680),
    ("llama-2-7b", 6_738_415_616, 6_738_415_616, 524_288, 524_288),
    ("llama-2-13b", 13_015_864_320, 13_015_864_320, 819_200, 819_200),
    ("llama-2-70b", 68_976_648_192, 68_976_648_192, 327_680, 327_680),
    ("llama-4-scout", 107_769_861_120, 17_172_894_720, 196_608, 49_152),
    ("llama-4-maverick", 400_711_848_960, 17_184_691_200, 196_608, 49_152),
    ("qwen3-0.6b", 596_049_920, 596_049_920, 114_688, 114_688),
    ("qwen3-1.7b", 1_720_574_976, 1_720_574_976, 114_688, 114_688),
    ("qwen3-4b", 4_022_468_096, 4_022_468_096, 147_456, 147_456),
    ("qwen3-8b", 8_190_735_360, 8_190_735_360, 147_456, 147_456),
    ("qwen3-14b", 14_768_307_200, 14_768_307_200, 163_840, 163_840),
    ("qwen3-32b", 32_762_123_264, 32_762_123_264, 262_144, 262_144),
    ("qwen3-30b-a3b", 30_532_122_624, 3_353_032_704, 98_304, 98_304),
    ("qwen3-235b-a22b", 235_093_634_560, 22_190_763_520, 192_512, 192_512),
    ("qwen3-coder-30b-a3b", 30_532_122_624, 3_353_032_704, 98_304, 98_304),
    ("qwen3-coder-480b-a35b", 480_154_875_392, 35_474_765_312, 253_952, 253_952),
    ("qwen3-next-80b-a3b", 79_674_391_296, 3_874_929_408, 24_576, 24_576),
    ("qwen3.5-27b", 26_895_998_464, 26_895_998_464, 65_536, 65_536),
    ("qwen3.5-35b-a3b", 34_660_610_688, 3_454_988_928, 20_480, 20_480),
    ("qwen3-vl-8b", 8_190_735_360, 8_190_735_360, 147_456, 147_456),
    ("qwen2.5-0.5b", 494_032_768, 494_032_768, 12_288, 12_288),
    ("qwen2.5-1.5b", 1_543_714_304, 1_543_714_304, 28_672, 28_672),
    ("qwen2.5-3b", 3_085_938_688, 3_085_938_688, 36_864, 36_864),
    ("qwen2.5-7b", 7_615_616_512, 7_615_616_512, 57_344, 57_344),
    ("qwen2.5-14b", 14_770_033_664, 14_770_033_664, 196_608, 196_608),
    ("qwen2.5-32b", 32_763_876_352, 32_763_876_352, 262_144, 262_144),
    ("qwen2.5-72b", 72_706_203_648, 72_706_203_648, 327_680, 327_680),
    ("qwen1.5-moe-a2.7b", 14_315_784_192, 2_689_173_504, 196_608, 196_608),
    ("mistral-7b-v0.1", 7_241_732_096, 7_241_732_096, 131_072, 0),
    ("mistral-7b-v0.3", 7_248_023_552, 7_248_023_552, 131_072, 131_072),
    ("mistral-nemo", 12_247_782_400, 12_247_782_400, 163_840, 163_840),
    ("mistral-small-24b", 23_572_403_200, 23_572_403_200, 163_840, 163_840),
    ("mistral-large", 122_610_069_504, 122_610_069_504, 360_448, 360_448),
    ("mixtral-8x7b", 46_702_792_704, 12_879_925_248, 131_072, 131_072),
    ("mixtral-8x22b", 140_620_634_112, 39_152_031_744, 229_376, 229_376),
    ("gemma-2b", 2_506_172_416, 2_506_172_416, 18_432, 18_432),
    ("gemma-7b", 8_537_680_896, 8_537_680_896, 458_752, 458_752),
    ("gemma-2-2b", 2_614_341_888, 2_614_341_888, 106_496, 53_248),
    ("gemma-2-9b", 9_241_705_984, 9_241_705_984, 344_064, 172_032),
    ("gemma-2-27b", 27_227_128_320, 27_227_128_320, 376_832, 188_416),
    ("gemma-3-1b", 999_885_952, 999_885_952, 26_624, 4_096),
    ("gemma-3-4b", 3_880_263_168, 3_880_263_168, 139_264, 20_480),
    ("gemma-3-12b", 11_766_034_176, 11_766_034_176, 393_216, 65_536),
    ("gemma-3-27b", 27_009_346_304, 27_009_346_304, 507_904, 81_920),
    ("gemma-4-26b-a4b", 25_233_141_760, 3_822_530_560, 225_280, 20_480),
    ("gemma-4-31b", 30_697_345_280, 30_697_345_280, 901_120, 81_920),
    ("phi-4", 14_659_507_200, 14_659_507_200, 204_800, 204_800),
    ("phi-4-mini", 3_836_021_760, 3_836_021_760, 131_072, 0),
    ("phi-3.5-mini", 3_821_079_552, 3_821_079_552, 393_216, 0),
    ("phi-3-mini-4k", 3_821_079_552, 3_821_079_552, 393_216, 0),
    ("phi-2", 2_779_683_840, 2_779_683_840, 327_680, 327_680),
    ("deepseek-v3", 671_026_419_200, 37_552_297_472, 70_272, 70_272),
    ("deepseek-r1", 671_026_419_200, 37_552_297_472, 70_272, 70_272),
    ("deepseek-v2-lite", 15_706_484_224, 2_661_150_208, 31_104, 31_104),
    ("deepseek-moe-16b", 16_375_728_128, 2_828_650_496, 229_376, 229_376),
    ("kimi-k2", 1_026_408_232_448, 32_861_500_928, 70_272, 70_272),
    ("kimi-k2.5", 1_026_408_232_448, 32_861_500_928, 70_272, 70_272),
    ("glm-4.5", 352_797_829_024, 33_632_266_144, 376_832, 376_832),
    ("glm-4.5-air", 106_852_251_264, 13_424_129_664, 188_416, 188_416),
    ("glm-4.7-flash", 29_943_393_920, 3_896_766_080, 54_144, 54_144),
    ("glm-4-9b", 9_400_279_040, 9_400_279_040, 40_960, 40_960),
    ("chatglm3-6b", 6_243_584_000, 6_243_584_000, 28_672, 28_672),
    ("gpt-oss-20b", 20_914_757_184, 4_187_440_704, 49_152, 24_576),
    ("gpt-oss-120b", 116_829_156_672, 5_711_982_912, 73_728, 36_864),
    ("minimax-m2", 228_689_764_864, 11_030_553_088, 253_952, 253_952),
    ("mimo-7b", 7_622_619_136, 7_622_619_136, 147_456, 147_456),
    ("mimo-v2-flash", 308_778_780_864, 15_445_936_320, 222_720, 23_040),
    ("olmo-2-7b", 7_298_617_344, 7_298_617_344, 524_288, 524_288),
    ("olmo-2-13b", 13_716_198_400, 13_716_198_400, 819_200, 819_200),
    ("olmoe-1b-7b", 6_919_161_856, 1_282_017_280, 131_072, 131_072),
    ("olmo-7b", 6_888_095_744, 6_888_095_744, 524_288, 524_288),
    ("granite-3.1-8b", 8_170_848_256, 8_170_848_256, 163_840, 163_840),
    ("command-r", 34_980_831_232, 34_980_831_232, 1_310_720, 1_310_720),
    ("command-r-plus", 103_810_674_688, 103_810_674_688, 262_144, 262_144),
    ("seed-oss-36b", 36_151_104_512, 36_151_104_512, 262_144, 262_144),
    ("ernie-4.5-21b-a3b", 21_825_437_888, 3_352_150_208, 57_344, 57_344),
    ("smollm3-3b", 3_075_098_624, 3_075_098_624, 73_728, 73_728),
    ("smollm2-1.7b", 1_711_376_384, 1_711_376_384, 196_608, 196_608),
    ("smollm2-360m", 361_821_120, 361_821_120, 40_960, 40_960),
    ("smollm2-135m", 134_515_008, 134_515_008, 23_040, 23_040),
    ("yi-34b", 34_388_917_248, 34_388_917_248, 245_760, 245_760),
    ("tinyllama-1.1b", 1_100_048_384, 1_100_048_384, 22_528, 22_528),
    ("minicpm-2b", 2_724_880_896, 2_724_880_896, 368_640, 368_640),
    ("internlm2-7b", 7_737_708_544, 7_737_708_544, 131_072, 131_072),
    ("stablelm-2-1.6b", 1_644_515_328, 1_644_515_328, 196_608, 196_608),
    ("nemotron-4-340b", 341_029_195_776, 341_029_195_776, 589_824, 589_824),
    ("nemotron-3-nano-30b", 31_577_940_288, 3_580_076_352, 6_144, 6_144),
    ("nemotron-3-super-120b", 120_668_707_840, 12_770_237_440, 8_192, 8_192),
    ("dbrx", 131_596_523_520, 36_469_708_800, 163_840, 163_840),
    ("jamba-v0.1", 51_570_323_328, 12_110_311_296, 16_384, 16_384),
    ("mamba-2.8b", 2_768_345_600, 2_768_345_600, 0, 0),
    ("starcoder2-3b", 3_030_371_328, 3_030_371_328, 30_720, 30_720),
    ("starcoder2-7b", 7_173_923_840, 7_173_923_840, 65_536, 0),
    ("falcon-7b", 6_921_720_704, 6_921_720_704, 8_192, 8_192),
    ("falcon-40b", 41_303_293_952, 41_303_293_952, 122_880, 122_880),
    ("mpt-7b", 6_649_286_656, 6_649_286_656, 524_288, 524_288),
    ("gpt2", 124_439_808, 124_439_808, 36_864, 36_864),
    ("gpt2-xl", 1_557_611_200, 1_557_611_200, 307_200, 307_200),
    ("gpt-j-6b", 6_050_882_784, 6_050_882_784, 458_752, 458_752),
    ("gpt-neox-20b", 20_554_567_680, 20_554_567_680, 1_081_344, 1_081_344),
    ("opt-6.7b", 6_658_473_984, 6_658_473_984, 524_288, 524_288),
    ("opt-125m", 125_239_296, 125_239_296, 36_864, 36_864),
    ("bloom-176b", 176_247_271_424, 176_247_271_424, 4_014_080, 4_014_080),
]

FAR = 1 << 50


@functools.cache
def catalogue() -> dict[str, dict[str, Any]]:
    return {entry["id"]: entry for entry in json.loads(MODELS.read_text(encoding="utf-8"))["models"]}


@functools.cache
def model(name: str) -> Architecture:
    return read_config(catalogue()[name]["config"], catalogue()[name]["name"])


def llama(**changes: Any) -> Architecture:
    """Llama 3.1 8B with fields changed; None takes a field away."""
    return read_config({k: v for k, v in {**LLAMA, **changes}.items() if v is not None}, "changed")


def growth(architecture: Architecture, context: int) -> int:
    """BF16 bytes that one more token adds to the KV cache."""
    return 2 * (architecture.cache_elements(context + 1) - architecture.cache_elements(context))


# --- the catalogue ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "parameters", "active", "near", "far"), KNOWN, ids=[row[0] for row in KNOWN]
)
def test_that_a_shipped_model_has_its_known_counts(
    name: str, parameters: int, active: int, near: int, far: int
):
    found = model(name)
    assert found.parameters == parameters
    assert found.active_parameters == active
    assert growth(found, 0) == near
    assert growth(found, FAR) == far


def test_that_every_shipped_model_is_in_the_table_above():
    assert [row[0] for row in KNOWN] == list(catalogue())


@pytest.mark.parametrize("name", [row[0] for row in KNOWN])
def test_that_a_count_other_than_the_published_one_is_explained(name: str):
    entry = catalogue()[name]
    published = entry["published_parameters"]
    assert (published is None) == (entry["published_where"] is None)
    if published is not None and published != model(name).parameters:
        assert "published" in entry["note"]
        assert abs(published / model(name).parameters - 1) < 0.3


def test_that_the_first_shipped_model_is_llama_3_1_8b():
    assert next(iter(catalogue())) == "llama-3.1-8b"


def test_that_no_shipped_model_leans_on_an_assumption():
    for name in catalogue():
        for note in model(name).notes:
            assert note.startswith("Not counted"), (name, note)


def test_that_names_and_aliases_are_unique():
    names = [
        text for entry in catalogue().values() for text in (entry["id"], entry["name"], *entry["aliases"])
    ]
    spelled = [text.lower() for text in dict.fromkeys(names)]
    assert len(spelled) == len(set(spelled))


# --- shapes ----------------------------------------------------------------------------------------


def test_that_equal_layers_make_one_run():
    assert [run.count for run in model("llama-3.1-8b").runs] == [32]
    assert [run.count for run in model("deepseek-v3").runs] == [3, 58]
    assert [run.count for run in model("gemma-3-1b").runs] == [5, 1, 5, 1, 5, 1, 5, 1, 2]


def test_that_an_explicit_head_width_wins_over_hidden_over_heads():
    (_, attention), *_ = model("qwen3-4b").attentions()
    assert attention.head_dim == 128
    assert attention.matrices[0].outputs == (32 + 2 * 8) * 128


def test_that_latent_attention_caches_one_latent_and_one_rotary_key():
    (_, attention), *_ = model("deepseek-v3").attentions()
    assert (attention.kind, attention.cache_elements, attention.kv_heads) == ("latent", 576, 1)
    assert (attention.head_dim, attention.value_head_dim) == (192, 128)
    names = [m.role.value for m in attention.matrices]
    assert names == ["q_down", "q_up", "kv_down", "kv_up", "attention output"]


def test_that_mistral_s_window_bounds_the_cache_at_32k():
    assert 2 * model("mistral-7b-v0.1").cache_elements(32768) == 536_870_912


def test_that_a_window_that_is_switched_off_means_full_attention():
    qwen = {**LLAMA, "model_type": "qwen2", "sliding_window": 4096, "max_window_layers": 28}
    off = read_config({**qwen, "use_sliding_window": False}, "off")
    assert growth(off, FAR) == growth(off, 0)
    on = read_config({**qwen, "use_sliding_window": True}, "on")
    assert [(run.count, run.layer.attention.kind) for run in on.runs] == [(28, "full"), (4, "sliding")]
    types = ["sliding_attention"] * 32
    listed = read_config({**qwen, "use_sliding_window": False, "layer_types": types}, "listed")
    assert growth(listed, FAR) == growth(listed, 0)


def test_that_layer_types_win_over_the_family_s_own_pattern():
    types = ["full_attention"] * 31 + ["sliding_attention"]
    found = llama(model_type="mistral", sliding_window=4096, layer_types=types)
    assert [(run.count, run.layer.attention.kind) for run in found.runs] == [(31, "full"), (1, "sliding")]


def test_that_mistral_without_a_window_field_says_what_was_assumed():
    assert any("sliding_window" in note for note in llama(model_type="mistral").notes)
    assert llama(model_type="mistral", sliding_window=4096).notes == ()


def test_that_chunks_bound_three_of_four_llama_4_layers():
    found = model("llama-4-scout")
    kinds = [run.layer.attention.kind for run in found.runs]
    assert kinds == ["chunked", "full"] * 12
    assert {a.window_tokens for _, a in found.attentions()} == {8192, None}


def test_that_a_state_does_not_grow_and_is_counted():
    (_, state), (_, attention) = list(model("qwen3-next-80b-a3b").attentions())[:2]
    assert (state.kind, state.cache_elements, attention.kind) == ("recurrent", 0, "full")
    assert state.state_elements == 32 * 128 * 128 + 8192 * 3
    assert model("mamba-2.8b").cache_elements(10_000) == 0


def test_that_dense_and_expert_layers_are_told_apart():
    first, rest = model("deepseek-v3").runs
    assert isinstance(first.layer.feed_forward, FeedForward)
    block = rest.layer.feed_forward
    assert isinstance(block, Experts)
    assert (block.total, block.active, len(block.shared)) == (256, 8, 2)
    listed = catalogue()["qwen3-30b-a3b"]["config"] | {"mlp_only_layers": [0, 2], "intermediate_size": 6144}
    counts = [(r.count, type(r.layer.feed_forward).__name__) for r in read_config(listed, "listed").runs]
    assert counts == [(1, "FeedForward"), (1, "Experts"), (1, "FeedForward"), (45, "Experts")]


def test_that_a_tied_head_is_no_second_table():
    tied = llama(tie_word_embeddings=True)
    assert tied.tied
    assert tied.head is None
    assert llama().parameters - tied.parameters == 4096 * 128256


def test_that_towers_and_prediction_modules_are_named_and_left_out():
    assert model("deepseek-v3").left_out == ("1 multi-token prediction module",)
    assert model("gemma-3-27b").left_out == ("a vision tower and its projector",)
    assert any("vision tower" in note for note in model("gemma-3-27b").notes)


@pytest.mark.parametrize("nest", ["text_config", "llm_config", "language_config"])
def test_that_a_nested_language_model_is_read_and_the_vision_sizes_are_not(nest: str):
    vision = {"hidden_size": 1152, "num_hidden_layers": 27, "num_attention_heads": 16}
    outer = {"model_type": "some_vl", nest: LLAMA, "vision_config": vision, "torch_dtype": "float16"}
    found = read_config(outer, "nested")
    assert found.parameters == 8_030_261_248
    assert found.family == "llama"


def test_that_the_outer_file_s_word_on_tying_wins_and_a_contradiction_is_said():
    found = read_config({"model_type": "vl", "tie_word_embeddings": True, "text_config": LLAMA}, "nested")
    assert found.tied
    assert any("contradicts itself" in note for note in found.notes)


def test_that_published_dtype_is_the_file_s():
    assert llama().published_dtype == "bfloat16"
    assert llama(torch_dtype=None, dtype="float16").published_dtype == "float16"
    assert llama(torch_dtype=None).published_dtype is None


def test_that_class_defaults_of_gemma_3_are_used_and_said():
    """Its larger sizes leave out whatever equals the class default; google/gemma-3-4b-it does so."""
    text = {
        "model_type": "gemma3_text",
        "hidden_size": 2560,
        "intermediate_size": 10240,
        "num_hidden_layers": 34,
        "sliding_window": 1024,
    }
    found = read_config({"model_type": "gemma3", "text_config": text, "vision_config": {}}, "Gemma 3 4B")
    assert found.parameters == 3_880_263_168
    assert (
        "Not in the file, taken as its family does: vocab_size = 262208, "
        "sliding_window_pattern = 6, num_attention_heads = 8, num_key_value_heads = 4, head_dim = 256, "
        "attention_bias = false, tie_word_embeddings = true, max_position_embeddings = 131072."
    ) in found.notes


def test_that_biases_count():
    plain, biased = llama(), llama(attention_bias=True, mlp_bias=True)
    assert biased.parameters - plain.parameters == 32 * (6144 + 4096 + 2 * 14336 + 4096)


def test_that_learned_positions_and_narrow_embeddings_count():
    """facebook/opt-350m: embeddings of 512 in a model of 1,024, norms after the block: 331,196,416."""
    config = {
        "model_type": "opt",
        "hidden_size": 1024,
        "ffn_dim": 4096,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "vocab_size": 50272,
        "max_position_embeddings": 2048,
        "word_embed_proj_dim": 512,
        "do_layer_norm_before": False,
    }
    assert read_config(config, "OPT 350M").parameters == 331_196_416


# --- families that are not known -------------------------------------------------------------------


def test_that_an_unknown_family_is_read_as_llama_and_says_so():
    found = llama(model_type="brand_new", some_width=7)
    assert found.parameters == 8_030_261_248
    assert 'Family "brand_new" is not known' in found.notes[0]
    assert "some_width" in found.notes[1]
    assert "tied" not in found.notes[0]
    assert "head tied" in llama(model_type="brand_new", tie_word_embeddings=None).notes[0]


def test_that_an_unknown_family_s_experts_and_latents_are_read():
    moe = llama(model_type="brand_new", num_experts=8, num_experts_per_tok=2)
    assert moe.parameters == 32 * (4096 * 6144 + 4096**2 + 8 * 3 * 4096 * 14336 + 8 * 4096 + 8192) + 4096 + (
        2 * 4096 * 128256
    )
    config = {**catalogue()["deepseek-v2-lite"]["config"], "model_type": "brand_new"}
    assert read_config(config, "x").parameters == 15_706_484_224


@pytest.mark.parametrize("kind", ["llama", "hunyuan_v1_dense", "brand_new"])
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"use_cla": True, "cla_share_factor": 2}, "cla_share_factor is 2: its layers share KV caches"),
        ({"num_kv_shared_layers": 10}, "num_kv_shared_layers is 10: its layers share KV caches"),
    ],
)
def test_that_layers_which_share_caches_are_refused_in_any_family(kind: str, fields: dict, said: str):
    with pytest.raises(InputError, match=said):
        llama(model_type=kind, **fields)


def test_that_a_share_of_caches_which_is_off_changes_nothing():
    off = {"use_cla": False, "cla_share_factor": 2, "num_kv_shared_layers": 0}
    assert llama(model_type="hunyuan_v1_dense", **off).cache_elements() == llama().cache_elements()


@pytest.mark.parametrize("kind", ["", "\x1b[31mx\n", "a" * 300, "two words"])
def test_that_a_family_has_a_name(kind: str):
    with pytest.raises(InputError, match="model_type must be a family's name, such as llama, got"):
        llama(model_type=kind)


@pytest.mark.parametrize(
    "field",
    ["mamba_d_state", "ssm_state_size", "linear_num_key_heads", "swa_head_dim"],
)
def test_that_an_unknown_family_with_layers_of_another_kind_is_refused(field: str):
    with pytest.raises(InputError, match=f'"brand_new" is not known, and {field} speaks of parts'):
        llama(model_type="brand_new", **{field: 16})


@pytest.mark.parametrize(
    ("family", "reason"),
    [
        ("deepseek_v32", "an indexer picks"),
        ("gemma3n_text", "share KV caches"),
        ("mllama_text_model", "attend to an image"),
        ("t5", "it has an encoder"),
        ("bert", "it is an encoder"),
        ("zamba2", "recurrent layers"),
    ],
)
def test_that_a_family_that_is_not_modelled_is_refused_with_the_reason(family: str, reason: str):
    with pytest.raises(InputError, match=f'family "{family}" is not modelled: .*{reason}'):
        llama(model_type=family)


# --- bad input -------------------------------------------------------------------------------------

BAD = [
    ({"model_type": None}, "config.json: model_type is missing, expected the family's name, such as llama"),
    ({"model_type": 3}, "config.json: model_type must be a string, got 3"),
    (
        {"num_hidden_layers": "32"},
        'config.json: num_hidden_layers must be a positive whole number, got "32"',
    ),
    ({"num_hidden_layers": 32.0}, "config.json: num_hidden_layers must be a positive whole number, got 32.0"),
    ({"num_hidden_layers": True}, "config.json: num_hidden_layers must be a positive whole number, got true"),
    ({"num_hidden_layers": 0}, "config.json: num_hidden_layers must be a positive whole number, got 0"),
    ({"hidden_size": -4096}, "config.json: hidden_size must be a positive whole number, got -4096"),
    ({"num_hidden_layers": 10**9}, "config.json: num_hidden_layers must be at most 4,096, got 1000000000"),
    ({"vocab_size": 10**12}, "config.json: vocab_size must be at most 16,777,216, got 1000000000000"),
    ({"intermediate_size": [1]}, "config.json: intermediate_size must be a positive whole number, got [1]"),
    (
        {"hidden_size": None},
        "config.json: hidden_size is missing, expected a positive whole number "
        "(also spelled n_embd, d_model, n_embed, model_dim)",
    ),
    ({"vocab_size": None}, "config.json: vocab_size is missing, expected a positive whole number"),
    (
        {"n_layer": 30},
        "config.json: num_hidden_layers is 32 but n_layer, another spelling of it, is 30; they must agree",
    ),
    (
        {"num_key_value_heads": 7},
        "config.json: num_attention_heads must be a multiple of the 7 KV heads, got 32",
    ),
    (
        {"num_attention_heads": 24},
        "config.json: head_dim is missing and hidden size 4096 is not a multiple of 24 heads",
    ),
    ({"tie_word_embeddings": "no"}, 'config.json: tie_word_embeddings must be true or false, got "no"'),
    (
        {"layer_types": ["full_attention"] * 3},
        "config.json: layer_types must have one entry for each of the 32 layers, got 3",
    ),
    ({"layer_types": "full"}, 'config.json: layer_types must be a list, got "full"'),
    (
        {"layer_types": ["magic"] * 32},
        'config.json: layer_types has "magic", a kind not modelled here',
    ),
    (
        {"layer_types": ["sliding_attention"] * 32},
        "config.json: sliding_window is missing, expected a positive whole number",
    ),
    ({"text_config": 5}, "config.json: text_config must be an object, got 5"),
    (
        {"quantization_config": {"quant_method": "magic"}},
        'config.json: quantization_config.quant_method "magic" is not modelled; known are awq, bitnet, '
        "bitsandbytes, compressed-tensors, fbgemm_fp8, fp8, gptq, modelopt, mxfp4",
    ),
]


@pytest.mark.parametrize(("changes", "sentence"), BAD, ids=[str(changes)[:40] for changes, _ in BAD])
def test_that_bad_input_is_one_sentence_that_names_the_field(changes: dict[str, Any], sentence: str):
    with pytest.raises(InputError) as caught:
        llama(**changes)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("config", [None, [], "config.json", 3, [LLAMA]])
def test_that_a_file_that_is_no_object_is_refused(config: Any):
    with pytest.raises(InputError, match=r"^my\.json: expected a JSON object, got "):
        read_config(config, "x", "my.json")


def test_that_a_file_s_words_cannot_break_the_sentence():
    for changes in ({"model_type": "a\nb" * 99, "mamba\nx": 1}, {"layer_types": ["\n\ud800"] * 32}):
        with pytest.raises(InputError) as caught:
            llama(**changes)
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 250


def test_that_more_active_experts_than_there_are_is_an_error():
    config = {**catalogue()["mixtral-8x7b"]["config"], "num_experts_per_tok": 9}
    with pytest.raises(InputError, match="num_experts_per_tok must be at most the 8 experts, got 9"):
        read_config(config, "x")


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("mistral-7b-v0.3", "num_key_value_heads"),
        ("deepseek-v3", "first_k_dense_replace"),
        ("deepseek-v3", "n_shared_experts"),
        ("deepseek-v3", "kv_lora_rank"),
        ("qwen1.5-moe-a2.7b", "shared_expert_intermediate_size"),
        ("llama-4-maverick", "interleave_moe_layer_step"),
        ("gpt2", "n_positions"),
        ("jamba-v0.1", "mamba_d_state"),
    ],
)
def test_that_a_missing_field_is_named_and_never_guessed(name: str, field: str):
    config = copy.deepcopy(catalogue()[name]["config"])
    for place in (config, config.get("text_config", {})):
        place.pop(field, None)
    with pytest.raises(InputError, match=rf"{field}.* (is missing|must be)"):
        read_config(config, name)


# --- fuzz ------------------------------------------------------------------------------------------

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 70),
    st.integers(),
    st.floats(allow_nan=True),
    st.text(max_size=8),
    st.lists(
        st.one_of(st.integers(-1, 3), st.sampled_from(["full_attention", "sliding_attention"])), max_size=40
    ),
    st.dictionaries(
        st.sampled_from(["hidden_size", "quant_method", "kv_n_heads", "alibi"]), st.integers(0, 9)
    ),
)


def read_or_refuse(config: dict[str, Any]) -> Architecture | str:
    """What was read, or the sentence that refuses it."""
    try:
        return read_config(config, "damaged")
    except InputError as error:
        return str(error)


@given(
    st.integers(0, len(KNOWN) - 1),
    st.randoms(use_true_random=False),
    st.lists(VALUES, min_size=1, max_size=3),
)
@settings(max_examples=300)
def test_that_a_damaged_file_is_refused_or_read_and_nothing_else(
    which: int, chance: random.Random, values: list[Any]
):
    config = copy.deepcopy(catalogue()[KNOWN[which][0]]["config"])
    for value in values:
        place = config
        while (
            isinstance(place.get(key := chance.choice(sorted(place) or ["x"])), dict)
            and chance.random() < 0.8
        ):
            place = place[key]
        if chance.random() < 0.2:
            place.pop(key, None)
        else:
            place[key] = value
    found = read_or_refuse(config)
    if isinstance(found, str):
        assert found.startswith("config.json: ")
        assert "\n" not in found
        assert len(found) < 500
        return
    assert 0 < found.active_parameters <= found.parameters < 1 << 100
    assert found.cache_elements(1000) >= 0
    assert sum(run.count for run in found.runs) == found.layers <= 4096


@given(st.dictionaries(st.sampled_from([*LLAMA, "text_config", "head_dim", "num_experts"]), VALUES))
@settings(max_examples=200)
def test_that_random_fields_are_refused_or_read_and_nothing_else(fields: dict[str, Any]):
    found = read_or_refuse(fields)
    assert found.startswith("config.json: ") if isinstance(found, str) else found.parameters > 0


def test_that_command_r_takes_the_context_that_it_was_published_with():
    assert read_config(catalogue()["command-r"]["config"], "Command R").max_context_tokens == 131_072
