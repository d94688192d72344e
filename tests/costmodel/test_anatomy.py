"""Where the parameters and bytes are: the parts add up to the whole, and single ones are right."""

from __future__ import annotations

import pytest
from costmodel_shapes import architectures
from hypothesis import given
from hypothesis import strategies as st

from pdviz.catalogue import default_catalogue
from pdviz.costmodel.anatomy import PARTS, anatomy
from pdviz.costmodel.architecture import Architecture
from pdviz.costmodel.dtypes import KV_DTYPES, WEIGHT_DTYPES
from pdviz.costmodel.passes import ModelCost

NAMES = [m.name for m in default_catalogue().models]


def check(model: ModelCost) -> None:
    found = anatomy(model)
    architecture = model.architecture
    totals = found.totals()
    assert list(totals) == [part for part in PARTS if part in totals]
    assert sum(parameters for parameters, _ in totals.values()) == architecture.parameters
    assert sum(size for _, size in totals.values()) == pytest.approx(model.stored_weights_bytes, rel=1e-9)
    assert sum(run.count for run in found.runs) == architecture.layers
    assert [run.first for run in found.runs] == [
        sum(run.count for run in found.runs[:i]) for i in range(len(found.runs))
    ]
    for context in (1, 100, 100_000):
        kept = sum(run.count * run.kv_bytes(context) for run in found.runs)
        assert kept == pytest.approx(float(model.kv_bytes(context)), rel=1e-9)
    active = sum(
        count * (item.parameters * item.active // item.copies if item.is_routed else item.parameters)
        for count, item in found.items()
    )
    assert active == architecture.active_parameters


@given(architectures(), st.sampled_from(WEIGHT_DTYPES), st.sampled_from(KV_DTYPES))
def test_that_the_parts_of_any_model_add_up_to_its_parameters_bytes_and_kv(
    model: Architecture, weights: str, kv: str
) -> None:
    check(ModelCost(model, weights, kv))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("weights", ["bf16", "int4", "published"])
def test_that_the_parts_of_every_catalogue_model_add_up(name: str, weights: str) -> None:
    check(ModelCost(default_catalogue().architecture(name), weights, "bf16"))


def test_that_the_parts_of_llama_3_1_8b_are_those_of_its_shapes() -> None:
    model = ModelCost(default_catalogue().architecture("Llama 3.1 8B"), "bf16", "bf16")
    totals = anatomy(model).totals()
    table = 128_256 * 4_096
    assert totals == {
        "embedding": (table, 2.0 * table),
        "attention": (32 * (4_096 * 6_144 + 4_096 * 4_096), 64.0 * (4_096 * 6_144 + 4_096 * 4_096)),
        "dense": (32 * 3 * 4_096 * 14_336, 64.0 * 3 * 4_096 * 14_336),
        "vectors": (65 * 4_096, 130.0 * 4_096),
        "head": (table, 2.0 * table),
    }


def test_that_one_token_reads_8_of_256_experts_and_64_tokens_read_222() -> None:
    found = anatomy(ModelCost(default_catalogue().architecture("DeepSeek V3"), "bf16", "bf16"))
    experts = [item for _, item in found.items() if item.is_routed]
    assert {item.copies for item in experts} == {256}
    assert experts[0].read_share(1) * 256 == pytest.approx(8)
    assert experts[0].read_share(64) * 256 == pytest.approx(222, abs=0.5)
    assert found.before[0].read_share(1) == 1.0


def test_that_layers_which_a_file_leaves_at_16_bit_are_told_apart() -> None:
    from pdviz.costmodel.hf_config import read_config

    fields = {
        "model_type": "llama", "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 4,
        "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1000, "torch_dtype": "bfloat16",
        "max_position_embeddings": 4096, "tie_word_embeddings": False, "rms_norm_eps": 1e-5,
        "quantization_config": {
            "quant_method": "fp8", "weight_block_size": [128, 128],
            "modules_to_not_convert": ["model.layers.0.mlp"],
        },
    }  # fmt: skip
    model = ModelCost(read_config(fields, "tiny"), "published", "bf16")
    check(model)
    assert [(run.first, run.count) for run in anatomy(model).runs] == [(0, 1), (1, 3)]
