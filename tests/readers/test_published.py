"""Weights as published: the bytes that a file stores, and the format in which they are multiplied."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import gguf_files as gguf
import msgspec
import pytest
from costmodel_shapes import bytes_of, flops_of

from pdviz.catalogue import default_catalogue
from pdviz.costmodel.architecture import Architecture
from pdviz.costmodel.dtypes import PUBLISHED, math_dtype
from pdviz.costmodel.fidelities import FLOOR, TEXTBOOK
from pdviz.costmodel.passes import ModelCost
from pdviz.costmodel.stored import Census
from pdviz.costmodel.terms import Slice
from pdviz.costmodel.weights import is_converted, is_quantised, stored_bytes
from pdviz.evaluation import evaluate
from pdviz.readers.gguf.header import parse_header
from pdviz.readers.gguf.reader import gguf_architecture
from pdviz.readers.hf.config import read_config
from pdviz.scenario import Scenario

MODELS = Path(__file__).parents[2] / "resources" / "catalogue" / "models.json"
A100 = {"fp32": 19.5e12, "fp16": 312e12, "bf16": 312e12, "int8": 624e12}
H100 = {"fp32": 67e12, "fp16": 989e12, "bf16": 989e12, "fp8": 1979e12, "int8": 1979e12}
B200 = {**H100, "fp4": 9000e12}
T4 = {"fp32": 8.1e12, "fp16": 65e12, "int8": 130e12}

FP8 = {"quant_method": "fp8", "weight_block_size": [128, 128]}
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}
GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 128}
BNB_8 = {"quant_method": "bitsandbytes", "load_in_8bit": True}
BNB = {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}
MXFP4 = {"quant_method": "mxfp4"}
NVFP4 = {"quant_method": "modelopt", "quant_algo": "NVFP4"}


def groups(bits: int, kind: str, activations: bool) -> dict[str, Any]:
    group: dict[str, Any] = {"weights": {"num_bits": bits, "type": kind, "strategy": "channel"}}
    group["input_activations"] = {"num_bits": bits} if activations else None
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": group}, "ignore": ["lm_head"]}


@functools.cache
def configs() -> dict[str, dict[str, Any]]:
    return {e["id"]: e["config"] for e in json.loads(MODELS.read_text(encoding="utf-8"))["models"]}


def stored_as(
    quantisation: dict[str, Any] | None, name: str = "llama-3.1-8b", dtype: str = "bfloat16"
) -> Architecture:
    config = {k: v for k, v in configs()[name].items() if k not in ("quantization_config", "dtype")}
    return read_config({**config, "torch_dtype": dtype, "quantization_config": quantisation}, name)


def published(architecture: Architecture, **changes: Any) -> ModelCost:
    return ModelCost(architecture, PUBLISHED, "bf16", **changes)


def in_gguf(name: str = "llama-3.1-8b", kind: int | None = None) -> Architecture:
    """A model of the catalogue as a GGUF file, its matrices of one type where that is given."""
    metadata, tensors = gguf.model(read_config(configs()[name], name), configs()[name])
    if kind is not None:
        tensors = {n: (shape, kind if len(shape) > 1 else old) for n, (shape, old) in tensors.items()}
    made, size = gguf.header(metadata, tensors)
    return gguf_architecture(parse_header(made, name, size), name, name)[1]


# --- bytes


@pytest.mark.parametrize("dtype", ["bf16", "fp16", "fp32"])
@pytest.mark.parametrize("fidelity", [TEXTBOOK, FLOOR])
@pytest.mark.parametrize("name", ["llama-3.1-8b", "gemma-2-2b", "mixtral-8x7b"])
def test_that_an_unquantised_model_costs_what_its_own_dtype_costs(
    name: str, dtype: str, fidelity: str
) -> None:
    words = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
    found = published(stored_as(None, name, words[dtype]), fidelity=fidelity)
    plain = ModelCost(found.architecture, dtype, "bf16", fidelity)
    for slices in ((Slice.prompt(512),), (Slice.decode(1000, 7),)):
        assert bytes_of(found, slices) == pytest.approx(bytes_of(plain, slices), rel=1e-12)
        assert flops_of(found, slices) == flops_of(plain, slices)
    assert found.stored_weights_bytes == plain.stored_weights_bytes
    assert (found.kernel_dtype, found.weights_title) == (dtype, dtype.upper())


@pytest.mark.parametrize("name", ["deepseek-v3", "gpt-oss-20b", "gpt-oss-120b", "kimi-k2", "minimax-m2"])
def test_that_a_pass_reads_the_stored_bytes_of_all_but_the_experts_it_misses(name: str) -> None:
    found = published(read_config(configs()[name], name))
    stored = stored_bytes(found.architecture)
    assert found.stored_weights_bytes == stored.total
    assert found.always_read_bytes == stored.embedding + stored.head + stored.dense
    ((experts, active, one),) = found.routed
    assert experts * one == pytest.approx(stored.experts, rel=1e-12)
    assert found.weights_read_bytes(1) == pytest.approx(found.always_read_bytes + active * one, rel=1e-12)
    assert found.weights_read_bytes(10**6) == pytest.approx(stored.total, rel=1e-9)
    assert published(found.architecture, fidelity=FLOOR).always_read_bytes == stored.head + stored.dense


def test_that_the_table_of_a_tied_head_is_read_as_the_head() -> None:
    found = published(in_gguf("gemma-2-2b"), fidelity=FLOOR)
    stored = stored_bytes(found.architecture)
    assert (stored.head, found.always_read_bytes) == (0, stored.total)


def test_that_bytes_of_a_file_are_shared_out_to_the_experts() -> None:
    mixture = read_config(configs()["mixtral-8x7b"], "Mixtral")
    outside = (("embedding", 1), ("head", 2), ("vectors", 3))
    census = Census(((32, (("experts", 8 * 500),)),), outside, (("Q4_K", 1),))
    found = published(msgspec.structs.replace(mixture, census=census))
    assert found.routed == ((8, 2, pytest.approx(32 * 500)),)
    assert found.weights_read_bytes(1) == pytest.approx(6 + 2 * 32 * 500)


def test_that_each_part_has_its_own_mean_bytes_of_a_parameter() -> None:
    found = published(stored_as(AWQ))
    assert found.bytes_per_parameter("embedding") == found.bytes_per_parameter("head") == 2
    assert 0.51 < found.bytes_per_parameter("dense") < 0.53
    assert found.bytes_per_parameter("experts") == 0
    quarter = published(in_gguf("mixtral-8x7b", gguf.Q4_K))
    assert quarter.bytes_per_parameter("experts") == pytest.approx(144 / 256)
    assert ModelCost(found.architecture, "bf16", "bf16").bytes_per_parameter("dense") == 2


# --- the multiplication


@pytest.mark.parametrize(
    ("quantisation", "chip", "math", "converted"),
    [
        (FP8, H100, "fp8", False),
        (FP8, A100, "bf16", True),
        (groups(8, "float", True), H100, "fp8", False),
        (groups(8, "float", False), H100, "bf16", True),
        (groups(8, "int", True), A100, "int8", False),
        (groups(8, "int", False), A100, "bf16", True),
        (groups(4, "int", False), H100, "bf16", True),
        (AWQ, H100, "bf16", True),
        (GPTQ, B200, "bf16", True),
        (BNB, H100, "bf16", True),
        (BNB_8, H100, "int8", False),
        (BNB_8, T4, "int8", False),
        (BNB_8, {"bf16": 1e14}, "bf16", True),
        (AWQ, T4, "fp16", True),
        (NVFP4, B200, "fp4", False),
        (NVFP4, H100, "bf16", True),
        (MXFP4, B200, "fp4", False),
        (MXFP4, H100, "bf16", True),
        (None, H100, "bf16", False),
        (None, T4, "fp16", True),
    ],
)
def test_that_published_weights_are_multiplied_as_kernels_do(
    quantisation: dict[str, Any] | None, chip: dict[str, float], math: str, converted: bool
) -> None:
    found = published(stored_as(quantisation))
    assert math_dtype(found.kernel_dtype, chip, "Chip") == math
    assert is_converted(found.architecture, PUBLISHED, math) is converted
    assert is_quantised(found.architecture) is (quantisation is not None)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_that_four_bit_weights_are_widened_to_the_model_s_own_sixteen(dtype: str) -> None:
    assert (
        published(stored_as(AWQ, dtype=dtype)).kernel_dtype == {"bfloat16": "bf16", "float16": "fp16"}[dtype]
    )
    assert published(stored_as(AWQ, dtype="float32")).kernel_dtype == "bf16"


@pytest.mark.parametrize(
    ("kind", "kernel", "math", "converted"),
    [
        (gguf.Q4_K, "bf16", "bf16", True),
        (39, "bf16", "bf16", True),
        (gguf.F16, "fp16", "fp16", False),
        (30, "bf16", "bf16", False),
        (gguf.F32, "fp32", "fp32", False),
    ],
)
def test_that_quantised_gguf_is_widened_to_sixteen_bit(
    kind: int, kernel: str, math: str, converted: bool
) -> None:
    found = published(in_gguf(kind=kind))
    assert found.kernel_dtype == kernel
    assert math_dtype(found.kernel_dtype, B200, "Chip") == math
    assert is_converted(found.architecture, PUBLISHED, math) is converted


# --- what is said


def test_that_a_scenario_says_what_was_taken() -> None:
    result = evaluate(
        Scenario(model="DeepSeek V3", weights_dtype="published", accelerator="H200", accelerators=8)
    )
    assert result.machine.math_dtype == "fp8"
    (note,) = (n for n in result.notes if n.startswith("Weights as published"))
    assert note.startswith("Weights as published: FP8, blocks of 128 × 128, 67")
    assert result.memory.fits
    a100 = evaluate(Scenario(model="DeepSeek V3", weights_dtype="published", accelerator="A100 80GB SXM"))
    assert "Published weights are converted to BF16 to be multiplied on A100 80GB SXM." in a100.notes


def test_that_a_model_that_names_no_dtype_is_taken_at_sixteen_bit_and_says_so() -> None:
    config = {k: v for k, v in configs()["llama-3.1-8b"].items() if k not in ("torch_dtype", "dtype")}
    found = read_config(config, "Llama")
    assert found.published_dtype is None
    assert published(found).stored_weights_bytes == 16_060_522_496
    for entry in default_catalogue().models:
        architecture = default_catalogue().architecture(entry.name)
        result = evaluate(Scenario(model=entry.name, weights_dtype="published"))
        said = "names no format for" in " ".join(result.notes)
        assert said == (architecture.published_dtype is None), entry.name


def test_that_four_bits_save_bytes_and_no_arithmetic() -> None:
    wide, narrow = published(stored_as(None)), published(stored_as(AWQ))
    assert 5.6e9 < narrow.stored_weights_bytes < 5.75e9
    assert flops_of(narrow, (Slice.prompt(4000),)) == flops_of(wide, (Slice.prompt(4000),))
    assert narrow.kernel_dtype == wide.kernel_dtype
