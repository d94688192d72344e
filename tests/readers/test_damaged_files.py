"""Damaged and hostile model files: an architecture whose figures are finite, or one sentence. Never more.

``PDVIZ_DAMAGED_FILES`` sets how many cases each byte-level test tries (20000 takes a few minutes).
"""

from __future__ import annotations

import json
import os
import random
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fuzz
import pytest
from damage import damaged, is_sentence, is_sound, tiny_gguf
from hypothesis import given, settings
from hypothesis import strategies as st

from pdviz.catalogue import default_catalogue
from pdviz.costmodel.architecture import Architecture
from pdviz.errors import InputError
from pdviz.own_files import read_model_file
from pdviz.readers.gguf.header import parse_header
from pdviz.readers.gguf.reader import gguf_architecture
from pdviz.readers.hf.config import read_config

CASES = int(os.environ.get("PDVIZ_DAMAGED_FILES", "1500"))
CONFIGS = [dict(entry.config) for entry in default_catalogue().models]
NAMES = sorted({name for config in CONFIGS for name in config})
WHERE = "file"


def survives(read: Callable[[], Architecture], what: object) -> bool:
    """True where ``what`` was read. Anything but an answer or one sentence fails the test."""
    try:
        is_sound(read())
        sound = True
    except InputError as error:
        is_sentence(error)
        sound = False
    return sound


# --- values


odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-2, 300),
    st.sampled_from([0, 1, -1, 2**31, 2**63, 10**9, 10**30]),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(["128", "llama", "float32", "auto", "L" * 5, "M*E-", "full_attention"]),
    st.lists(st.integers(-1, 9) | st.text(max_size=4), max_size=6),
    st.dictionaries(st.sampled_from(NAMES), st.integers(-1, 9), max_size=3),
)


@settings(max_examples=1000)
@given(
    st.sampled_from(CONFIGS), st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=6), odd, max_size=4)
)
def test_that_odd_values_in_a_configuration_are_read_or_refused(
    config: dict[str, Any], odd: dict[str, Any]
) -> None:
    survives(lambda: read_config({**config, **odd}, "Odd", WHERE), odd)


@settings(max_examples=500)
@given(st.sampled_from(CONFIGS), st.sets(st.sampled_from(NAMES), max_size=6))
def test_that_fields_may_be_missing(config: dict[str, Any], missing: set[str]) -> None:
    survives(
        lambda: read_config({k: v for k, v in config.items() if k not in missing}, "Odd", WHERE), missing
    )


@settings(max_examples=500)
@given(
    st.recursive(
        odd,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    )
)
def test_that_any_json_is_read_or_refused(value: object) -> None:
    survives(lambda: read_config(value, "Odd", WHERE), value)


@settings(max_examples=300)
@given(
    st.dictionaries(
        st.sampled_from(
            ["quant_method", "bits", "group_size", "weight_block_size", "config_groups", "ignore"]
        ),
        odd
        | st.sampled_from(["fp8", "awq", "gptq", "mxfp4", "bitsandbytes", "compressed-tensors", "modelopt"]),
    )
)
def test_that_any_quantisation_is_read_or_refused(quantisation: dict[str, Any]) -> None:
    config = {**CONFIGS[0], "quantization_config": quantisation}
    survives(lambda: read_config(config, "Odd", WHERE), quantisation)


# --- bytes


def read_gguf_bytes(data: bytes, size: int) -> Architecture:
    return gguf_architecture(parse_header(data, WHERE, size), "stem", WHERE)[1]


@pytest.mark.parametrize("family", ["llama", "gemma2", "gpt_oss", "deepseek_v3"])
def test_that_damaged_gguf_is_read_or_refused(family: str) -> None:
    (whole, size), chance = tiny_gguf(family), random.Random(family)
    assert survives(lambda: read_gguf_bytes(whole, size), family)
    sound = 0
    for _ in range(CASES):
        data = damaged(whole, chance)
        sound += survives(lambda data=data: read_gguf_bytes(data, size), data)
    assert 0 < sound < CASES / 2


def test_that_damaged_gguf_takes_no_memory() -> None:
    (whole, size), chance = tiny_gguf("mixtral"), random.Random(7)
    tracemalloc.start()
    for _ in range(200):
        data = damaged(whole, chance)
        survives(lambda data=data: read_gguf_bytes(data, size), data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 2**20


def test_that_damaged_configurations_are_read_or_refused(tmp_path: Path) -> None:
    chance, path = random.Random(3), tmp_path / "config.json"
    for _ in range(CASES):
        data = damaged(json.dumps(chance.choice(CONFIGS), indent=chance.choice((None, 2))).encode(), chance)
        path.write_bytes(data)
        survives(lambda: read_model_file(str(path)).architecture, data)


def test_that_a_damaged_file_takes_the_same_way_as_a_whole_one(tmp_path: Path) -> None:
    chance, path = random.Random(4), tmp_path / "model.gguf"
    whole, size = tiny_gguf("llama")
    for _ in range(200):
        data = damaged(whole, chance).ljust(size, b"\0")
        path.write_bytes(data)
        survives(lambda: read_model_file(str(path)).architecture, data)


def test_that_the_first_cases_of_the_fuzz_are_read_or_refused(tmp_path: Path) -> None:
    tally = fuzz.run(fuzz.SEED, range(300), tmp_path)
    assert set(tally.cases) == {"gguf", "json", "toml"}
    assert all(read and refused for read, refused in tally.cases.values())
    assert not tally.failed


def test_that_a_case_of_the_fuzz_is_the_same_every_time() -> None:
    seeds, others = fuzz.Seeds(), fuzz.Seeds()
    for number in (3, 300, 4):
        assert fuzz.made(seeds, 5, number) == fuzz.made(others, 5, number)
    assert fuzz.made(seeds, 5, 3) != fuzz.made(seeds, 6, 3)
