"""Where the parameters and bytes are: the parts add up to the whole, and single ones are right."""

from __future__ import annotations

from collections.abc import Callable

import gguf_files as gguf
import msgspec
import pytest
from costmodel_shapes import architectures
from hypothesis import given
from hypothesis import strategies as st

from pdviz.catalogue import default_catalogue
from pdviz.costmodel.anatomy import PARTS, anatomy
from pdviz.costmodel.architecture import Architecture
from pdviz.costmodel.dtypes import KV_DTYPES, WEIGHT_DTYPES
from pdviz.costmodel.passes import ModelCost
from pdviz.readers.gguf.header import parse_header
from pdviz.readers.gguf.reader import gguf_architecture

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
    from pdviz.readers.hf.config import read_config

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


# --- files whose tensors say what they take


def in_gguf(
    name: str, kind_of: Callable[[str, int], int | None]
) -> tuple[ModelCost, dict[tuple[int, str], int]]:
    """(the cost of a catalogue model in GGUF, its bytes by layer (-1: none) and tensor).

    ``kind_of`` (tensor, layer) gives a tensor another type than it would have.
    """
    metadata, tensors = gguf.model(
        default_catalogue().architecture(name), default_catalogue().model(name).config
    )
    sizes = {}
    for tensor, (shape, kind) in list(tensors.items()):
        _, layer, rest = tensor.split(".", 2) if tensor.startswith("blk.") else ("", "-1", tensor)
        chosen = kind_of(rest, int(layer))
        tensors[tensor] = shape, kind if chosen is None else chosen
        sizes[int(layer), rest] = gguf.size_of(*tensors[tensor])
    made, size = gguf.header(metadata, tensors)
    found = gguf_architecture(parse_header(made, "m.gguf", size), "m", "m.gguf")[1]
    return ModelCost(found, "published", "bf16"), sizes


def in_all_families() -> list[str]:
    found = {}
    for name in NAMES:
        found.setdefault(gguf.family_of(default_catalogue().architecture(name)), name)
    return [name for family, name in found.items() if family]


@pytest.mark.parametrize("name", in_all_families())
def test_that_parts_of_gguf_tensors_are_those_of_the_shapes(name: str) -> None:
    """Every element in one byte: then bytes are parameters, part by part and layer by layer."""
    model, _ = in_gguf(name, lambda tensor, layer: None)
    check(model)
    metadata, tensors = gguf.model(
        default_catalogue().architecture(name), default_catalogue().model(name).config
    )
    made, size = gguf.header(metadata, tensors)
    header = parse_header(made, "m.gguf", size)
    header = msgspec.structs.replace(
        header, tensors=tuple(msgspec.structs.replace(t, bytes=t.elements) for t in header.tensors)
    )
    whole = anatomy(ModelCost(gguf_architecture(header, "m", "m.gguf")[1], "published", "bf16"))
    for _, item in whole.items():
        if item.part == "vectors":  # files hold scales that are no parameters
            assert item.stored_bytes == pytest.approx(item.parameters, abs=2)
        else:
            assert item.stored_bytes == pytest.approx(item.parameters), item


def test_that_layers_with_other_types_of_tensors_are_told_apart_to_the_byte() -> None:
    """llama.cpp's Q4_K_M keeps more bits in every other ffn_down, and in attn_v."""

    def kind_of(tensor: str, layer: int) -> int | None:
        wide = tensor == "attn_v.weight" or (tensor == "ffn_down.weight" and layer % 2)
        return gguf.Q6_K if wide else None

    model, sizes = in_gguf("Llama 3.1 8B", kind_of)
    check(model)
    found = anatomy(model)
    assert found.is_mean
    assert [(run.first, run.count) for run in found.runs] == [(layer, 1) for layer in range(32)]
    for run in found.runs:
        for part, prefix in (("attention", "attn_"), ("dense", "ffn_")):
            held = sum(
                size
                for (layer, tensor), size in sizes.items()
                if layer == run.first and tensor.startswith(prefix) and "norm" not in tensor
            )
            assert sum(i.stored_bytes for i in run.items if i.part == part) == pytest.approx(held, rel=1e-12)
    assert found.before[0].stored_bytes == sizes[-1, "token_embd.weight"]
    assert found.after[-1].stored_bytes == sizes[-1, "output.weight"]


def test_that_equal_layers_stay_one_run_in_gguf_too() -> None:
    model, _ = in_gguf("Llama 3.1 8B", lambda tensor, layer: gguf.Q6_K if tensor == "attn_v.weight" else None)
    assert [(run.first, run.count) for run in anatomy(model).runs] == [(0, 32)]
    census = model.architecture.census
    assert census is not None
    assert len(census.layers) == 1


def test_that_bytes_of_a_part_that_the_model_has_not_are_not_lost() -> None:
    model, _ = in_gguf("Llama 3.1 8B", lambda tensor, layer: None)
    census = model.architecture.census
    assert census is not None
    (count, parts), *rest = census.layers
    odd = msgspec.structs.replace(census, layers=((count, (*parts, ("unknown", 777))), *rest))
    check(ModelCost(msgspec.structs.replace(model.architecture, census=odd), "published", "bf16"))


def test_that_another_format_than_the_file_s_does_not_know_its_tensors() -> None:
    model, _ = in_gguf("Llama 3.1 8B", lambda tensor, layer: None)
    plain = ModelCost(model.architecture, "bf16", "bf16")
    check(plain)
    assert not anatomy(plain).is_mean
