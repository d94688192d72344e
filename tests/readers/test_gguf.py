"""GGUF files: every family as llama.cpp lays it out, exact bytes, and one sentence for all that is wrong."""

from __future__ import annotations

import functools
import json
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf_files as gguf
import pytest

from pdviz.costmodel.architecture import Architecture
from pdviz.costmodel.weights import stored_bytes, weights_title
from pdviz.errors import InputError
from pdviz.readers.gguf.header import MOST_WALKED, parse_header, read_header
from pdviz.readers.gguf.reader import gguf_architecture, read_gguf
from pdviz.readers.gguf.types import TENSOR_TYPES
from pdviz.readers.hf.config import read_config

MODELS = Path(__file__).parents[2] / "resources" / "catalogue" / "models.json"
#: llama.cpp does not know the windows of these.
WITHOUT_WINDOW = {"mistral-7b-v0.1", "starcoder2-7b"}
WHERE = "model.gguf"


@functools.cache
def known() -> dict[str, tuple[Architecture, dict[str, Any]]]:
    entries = json.loads(MODELS.read_text(encoding="utf-8"))["models"]
    return {e["id"]: (read_config(e["config"], e["name"]), e["config"]) for e in entries}


def laid_out(name: str, old: bool = False) -> tuple[dict[str, Any], gguf.Tensors]:
    return gguf.model(*known()[name], old)


def read(metadata: dict[str, Any], tensors: gguf.Tensors) -> Architecture:
    made, size = gguf.header(metadata, tensors)
    return gguf_architecture(parse_header(made, WHERE, size), "stem", WHERE)[1]


def tiny(**changes: Any) -> tuple[dict[str, Any], gguf.Tensors]:
    """A Llama of two layers that fits into a test; None takes a key away."""
    keys = {
        "block_count": 2,
        "context_length": 128,
        "embedding_length": 32,
        "feed_forward_length": 64,
        "attention.head_count": 4,
        "attention.head_count_kv": 2,
        "vocab_size": 40,
    }
    metadata = {"general.architecture": "llama", "general.name": "Tiny"}
    metadata |= {f"llama.{key}": content for key, content in keys.items()}
    metadata |= {key.replace("__", "."): content for key, content in changes.items()}
    tensors: gguf.Tensors = {
        "token_embd.weight": ((32, 40), gguf.Q8_0),
        "output_norm.weight": ((32,), gguf.F32),
        "output.weight": ((32, 40), gguf.F16),
    }
    for layer in range(2):
        shapes = {"attn_q": (32, 32), "attn_k": (32, 16), "attn_v": (32, 16), "attn_output": (32, 32)}
        shapes |= {"ffn_gate": (32, 64), "ffn_up": (32, 64), "ffn_down": (64, 32)}
        tensors |= {f"blk.{layer}.{name}.weight": (shape, gguf.Q8_0) for name, shape in shapes.items()}
        tensors |= {f"blk.{layer}.{name}.weight": ((32,), gguf.F32) for name in ("attn_norm", "ffn_norm")}
    return {key: content for key, content in metadata.items() if content is not None}, tensors


# --- what is read


@pytest.mark.parametrize("name", [name for name, (found, _) in known().items() if gguf.family_of(found)])
def test_that_a_model_has_the_shapes_of_its_config_json(name: str) -> None:
    expected = known()[name][0]
    metadata, tensors = laid_out(name)
    found = read(metadata, tensors)
    if name not in WITHOUT_WINDOW:
        assert found.runs == expected.runs
    assert found.parameters == expected.parameters
    assert found.active_parameters == expected.active_parameters
    assert (found.hidden, found.vocabulary) == (expected.hidden, expected.vocabulary)
    assert (found.tied, found.name) == (expected.tied, expected.name)
    assert not any("tensors hold" in note for note in found.notes)


def shapes(hidden: int, layers: int, heads: int, kv: int, width: int, vocabulary: int) -> dict[str, Any]:
    return {
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv,
        "intermediate_size": width,
        "vocab_size": vocabulary,
        "max_position_embeddings": 8192,
    }


OTHERS: dict[str, dict[str, Any]] = {
    "cohere2": {
        **shapes(4096, 32, 32, 8, 14_336, 256_000),
        "head_dim": 128,
        "sliding_window": 4096,
        "sliding_window_pattern": 4,
        "tie_word_embeddings": True,
    },
    "phimoe": {
        **shapes(4096, 32, 32, 8, 6400, 32_064),
        "num_local_experts": 16,
        "num_experts_per_tok": 2,
        "attention_bias": True,
        "lm_head_bias": True,
    },
    "granitemoe": {
        **shapes(1536, 32, 24, 8, 512, 49_155),
        "num_local_experts": 40,
        "num_experts_per_tok": 8,
        "tie_word_embeddings": True,
    },
    "granitemoeshared": {
        **shapes(1536, 4, 24, 8, 512, 49_155),
        "num_local_experts": 62,
        "num_experts_per_tok": 6,
        "shared_intermediate_size": 1024,
        "tie_word_embeddings": True,
    },
    "dots1": {
        **shapes(4096, 6, 32, 32, 10_944, 152_064),
        "head_dim": 128,
        "moe_intermediate_size": 1408,
        "n_routed_experts": 128,
        "n_shared_experts": 2,
        "num_experts_per_tok": 6,
        "first_k_dense_replace": 1,
    },
    "exaone4": {
        **shapes(5120, 8, 40, 8, 27_392, 102_400),
        "head_dim": 128,
        "sliding_window": 4096,
        "sliding_window_pattern": 4,
    },
    "hunyuan_v1_dense": {**shapes(4096, 32, 32, 8, 14_336, 128_167), "head_dim": 128},
    "qwen2_vl_text": {**shapes(3584, 28, 28, 4, 18_944, 152_064), "use_sliding_window": False},
    "qwen3_vl_moe_text": {
        **shapes(2048, 8, 32, 4, 6144, 151_936),
        "head_dim": 128,
        "moe_intermediate_size": 768,
        "num_experts": 128,
        "num_experts_per_tok": 8,
    },
    "gpt_bigcode": {
        "n_embd": 6144,
        "n_layer": 40,
        "n_head": 48,
        "n_inner": 24_576,
        "n_positions": 8192,
        "vocab_size": 49_152,
        "multi_query": True,
    },
    "ministral3": {**shapes(4096, 34, 32, 8, 14_336, 131_072), "head_dim": 128},
    "arcee": {**shapes(2560, 36, 20, 4, 18_432, 128_004), "head_dim": 128},
    "ernie4_5": {**shapes(1024, 18, 16, 2, 3072, 103_424), "head_dim": 128, "tie_word_embeddings": True},
}


@pytest.mark.parametrize("kind", OTHERS)
def test_that_further_families_have_the_shapes_of_their_config_json(kind: str) -> None:
    config = {"model_type": kind, **OTHERS[kind]}
    expected = read_config(config, "Model")
    metadata, tensors = gguf.model(expected, config)
    found = read(metadata, tensors)
    assert found.runs == expected.runs
    assert found.parameters == expected.parameters
    assert found.tied == expected.tied
    assert stored_bytes(found).total == sum(gguf.size_of(*content) for content in tensors.values())
    assert not any("tensors hold" in note for note in found.notes)


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [("cohere2", 8_028_033_024), ("phimoe", 41_873_153_344), ("gpt_bigcode", 15_517_456_384)],
)
def test_that_further_families_have_their_published_parameters(kind: str, parameters: int) -> None:
    assert read_config({"model_type": kind, **OTHERS[kind]}, "Model").parameters == parameters


@pytest.mark.parametrize("name", ["llama-3.1-8b", "mixtral-8x7b", "deepseek-v3", "gemma-2-9b", "gpt-oss-20b"])
def test_that_bytes_are_those_of_the_tensors_by_part(name: str) -> None:
    metadata, tensors = laid_out(name)
    found = read(metadata, tensors)
    sizes = {tensor: gguf.size_of(*content) for tensor, content in tensors.items()}
    stored = stored_bytes(found)
    assert stored.total == sum(sizes.values())
    assert stored.embedding == sizes["token_embd.weight"]
    assert stored.head == sizes.get("output.weight", 0)
    assert stored.experts == sum(size for tensor, size in sizes.items() if "_exps." in tensor)
    assert found.census is not None
    assert sum(size for _, size in found.census.types) == stored.total
    types = [size for _, size in found.census.types]
    assert types == sorted(types, reverse=True)


def test_that_llama_in_q8_takes_its_blocks_and_no_more() -> None:
    metadata, tensors = laid_out("llama-3.1-8b")
    q8 = {name: (shape, gguf.Q8_0 if len(shape) > 1 else kind) for name, (shape, kind) in tensors.items()}
    found = read(metadata, q8)
    vectors = 65 * 4096
    assert stored_bytes(found).total == (8_030_261_248 - vectors) // 32 * 34 + vectors * 4
    assert weights_title(found, "published") == "99.99 % Q8_0"


def test_that_a_latent_cache_is_read_from_older_files_too() -> None:
    new, old = (read(*laid_out("deepseek-v3", old)) for old in (False, True))
    assert new.runs == old.runs
    assert 2 * new.cache_elements(1) == 70_272
    assert new.family == "deepseek_v3"
    assert read(*laid_out("deepseek-v2-lite")).family == "deepseek_v2"


def test_that_a_projection_that_comes_split_and_whole_counts_once() -> None:
    metadata, tensors = laid_out("deepseek-v2-lite")
    whole = laid_out("deepseek-v2-lite", old=True)[1]
    both = {**tensors, **{name: content for name, content in whole.items() if "kv_b" in name}}
    assert read(metadata, both).parameters == known()["deepseek-v2-lite"][0].parameters


@pytest.mark.parametrize(
    ("pattern", "windows"),
    [
        ([True, False], [16, None]),
        ([False, True], [None, 16]),
        ([False, False], [None]),
        (2, [16, None]),
        (None, [16]),
    ],
)
def test_that_windows_are_those_that_the_file_gives(pattern: object, windows: list[int | None]) -> None:
    found = read(*tiny(llama__attention__sliding_window=16, llama__attention__sliding_window_pattern=pattern))
    if pattern == 2:  # the first Mistral has a window in all layers or in none
        windows = [16]
    assert [a.window_tokens for _, a in found.attentions()] == windows


def test_that_values_given_for_each_layer_count_where_they_agree() -> None:
    assert read(*tiny(llama__attention__head_count=[4, 4])).runs == read(*tiny()).runs
    with pytest.raises(InputError, match=r"^model\.gguf: llama\.attention\.head_count differs from layer"):
        read(*tiny(llama__attention__head_count=[4, 2]))


def test_that_kv_heads_are_as_many_as_heads_where_the_file_names_none() -> None:
    metadata, tensors = tiny(llama__attention__head_count_kv=None)
    wide = {n: ((32, 32), k) if "attn_k" in n or "attn_v" in n else (s, k) for n, (s, k) in tensors.items()}
    assert [a.kv_heads for _, a in read(metadata, wide).attentions()] == [4]


def test_that_prediction_layers_and_rotary_factors_are_left_out() -> None:
    metadata, tensors = tiny(llama__block_count=3, llama__nextn_predict_layers=1)
    tensors |= {"blk.2.attn_q.weight": ((32, 32), gguf.F16), "rope_freqs.weight": ((4,), gguf.F32)}
    tensors["blk.2.nextn.eh_proj.weight"] = (64, 32), gguf.F16
    found = read(metadata, tensors)
    assert found.parameters == read(*tiny()).parameters
    assert stored_bytes(found) == stored_bytes(read(*tiny()))
    assert found.left_out == ("1 multi-token prediction module",)


def test_that_experts_of_old_files_are_tensors_of_their_own() -> None:
    metadata, tensors = tiny(llama__expert_count=2, llama__expert_used_count=1)
    for layer in range(2):
        for part, shape in (("gate", (32, 64)), ("up", (32, 64)), ("down", (64, 32))):
            content = tensors.pop(f"blk.{layer}.ffn_{part}.weight")
            assert content[0] == shape
            tensors |= {f"blk.{layer}.ffn_{part}.{n}.weight": content for n in range(2)}
        tensors[f"blk.{layer}.ffn_gate_inp.weight"] = (32, 2), gguf.F32
    found = read(metadata, tensors)
    assert (found.is_mixture, stored_bytes(found).experts) == (True, 2 * 2 * 3 * 32 * 64 // 32 * 34)


def test_that_a_model_without_a_name_has_that_of_its_file() -> None:
    assert read(*tiny(general__name=None)).name == "stem"
    assert read(*tiny(general__name="  ")).name == "stem"
    assert len(read(*tiny(general__name="x" * 500)).name) == 80


def test_that_an_unknown_family_with_llama_like_tensors_is_read_with_a_note() -> None:
    metadata, tensors = tiny()
    renamed = {key.replace("llama.", "newllama."): content for key, content in metadata.items()}
    found = read({**renamed, "general.architecture": "newllama"}, tensors)
    assert found.runs == read(*tiny()).runs
    assert any('Family "newllama" is not known: read as a Llama-like model' in note for note in found.notes)
    windowed = {**renamed, "general.architecture": "newllama", "newllama.attention.sliding_window": 16}
    found = read(windowed, tensors)
    assert [a.window_tokens for _, a in found.attentions()] == [None]
    assert any("sliding_window left aside" in note for note in found.notes)
    found = read({**windowed, "newllama.attention.sliding_window_pattern": [True, False]}, tensors)
    assert [a.window_tokens for _, a in found.attentions()] == [16, None]


def test_that_a_few_parameters_too_many_are_said_and_the_tensors_count() -> None:
    metadata, tensors = tiny()
    tensors["blk.0.layer_output_scale.weight"] = (1,), gguf.F32
    (note,) = read(metadata, tensors).notes
    assert note.startswith('As "llama" its fields describe ')
    assert note.endswith("; bytes are those of the tensors.")


# --- parts of one model


def write(folder: Path, name: str, metadata: dict[str, Any], tensors: gguf.Tensors) -> str:
    path = folder / name
    path.write_bytes(gguf.file(metadata, tensors))
    return str(path)


def in_parts(folder: Path) -> list[str]:
    metadata, tensors = tiny()
    names = list(tensors)
    split = {"split.count": 2, "split.tensors.count": len(names)}
    shares = ({n: tensors[n] for n in names[:7]}, {n: tensors[n] for n in names[7:]})
    return [
        write(folder, "tiny-00001-of-00002.gguf", {**metadata, **split, "split.no": 0}, shares[0]),
        write(folder, "tiny-00002-of-00002.gguf", {**split, "split.no": 1}, shares[1]),
    ]


def test_that_the_parts_of_a_model_are_read_together(tmp_path: Path) -> None:
    whole = stored_bytes(read(*tiny()))
    for path in in_parts(tmp_path):
        assert stored_bytes(read_gguf(path)[1]) == whole


def test_that_a_missing_part_is_named(tmp_path: Path) -> None:
    first, second = in_parts(tmp_path)
    Path(second).rename(tmp_path / "elsewhere.gguf")
    with pytest.raises(InputError, match=r"part 2 of 2, tiny-00002-of-00002\.gguf, is not beside it$"):
        read_gguf(first)
    Path(first).rename(tmp_path / "renamed.gguf")
    with pytest.raises(InputError, match=r"^renamed\.gguf: it is one of 2 parts, expected a name that ends"):
        read_gguf(str(tmp_path / "renamed.gguf"))
    (tmp_path / "elsewhere.gguf").rename(second)
    with pytest.raises(InputError, match=r"^tiny-00001-of-00002\.gguf: the first part of the model is not"):
        read_gguf(second)


def test_that_parts_of_different_models_are_told_apart(tmp_path: Path) -> None:
    first, second = in_parts(tmp_path)
    _, tensors = tiny()
    split = {"split.count": 2, "split.tensors.count": len(tensors)}
    rest = {name: tensors[name] for name in list(tensors)[7:]}
    write(tmp_path, "tiny-00002-of-00002.gguf", {**split, "split.no": 0}, rest)
    with pytest.raises(InputError, match=r"^tiny-00002-of-00002\.gguf: it says that it is part 1 of 2$"):
        read_gguf(first)
    write(tmp_path, "tiny-00002-of-00002.gguf", {"split.count": 3, "split.no": 1}, rest)
    with pytest.raises(InputError, match=r"^tiny-00002-of-00002\.gguf: it says that it is part 2 of 3$"):
        read_gguf(second)
    del rest["output.weight" if "output.weight" in rest else next(iter(rest))]
    write(tmp_path, "tiny-00002-of-00002.gguf", {**split, "split.no": 1}, rest)
    with pytest.raises(
        InputError, match=r"^tiny-00001-of-00002\.gguf: its parts hold \d+ tensors, expected 21$"
    ):
        read_gguf(first)
    again = {name: tensors[name] for name in list(tensors)[6:-1]}
    write(tmp_path, "tiny-00002-of-00002.gguf", {**split, "split.no": 1}, again)
    with pytest.raises(
        InputError, match=r'^tiny-00002-of-00002\.gguf: the tensor ".+" is in another part too$'
    ):
        read_gguf(first)


def test_that_a_first_part_without_tensors_is_read(tmp_path: Path) -> None:
    metadata, tensors = tiny()
    split = {"split.count": 2, "split.tensors.count": len(tensors)}
    first = write(tmp_path, "tiny-00001-of-00002.gguf", {**metadata, **split, "split.no": 0}, {})
    write(tmp_path, "tiny-00002-of-00002.gguf", {**split, "split.no": 1}, tensors)
    assert stored_bytes(read_gguf(first)[1]) == stored_bytes(read(metadata, tensors))


# --- what is wrong


def refusal(data: bytes) -> str:
    with pytest.raises(InputError) as caught:
        gguf_architecture(parse_header(data, WHERE), "stem", WHERE)
    said = str(caught.value)
    assert said.startswith(f"{WHERE}: ")
    assert said.isprintable()
    assert len(said) < 400
    return said


def test_that_a_file_cut_at_any_byte_is_refused_in_one_sentence() -> None:
    whole = gguf.file(*tiny())
    assert gguf_architecture(parse_header(whole, WHERE), "stem", WHERE)[1].parameters == 21_152
    for size in range(len(whole)):
        refusal(whole[:size])
    assert "cut off within its header, at byte 500" in refusal(whole[:500])
    assert refusal(whole[:-1]).endswith(
        f"its tensors end at byte {len(whole):,} and it has {len(whole) - 1:,}"
    )


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "this is no GGUF file"),
        (b"GGU", "this is no GGUF file"),
        (b"PK\3\4rest of an archive", "this is no GGUF file"),
        (b"tjgg" + bytes(60), "a model in the format before GGUF; convert it again"),
        (b"GGUF" + struct.pack(">IQQ", 3, 1, 1), "a big-endian GGUF file; little-endian ones are read"),
        (b"GGUF" + struct.pack("<III", 1, 1, 1), "GGUF version 1 is not known, expected 2 or 3"),
        (b"GGUF" + struct.pack("<IQQ", 4, 1, 1), "GGUF version 4 is not known, expected 2 or 3"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**63, 0), "claims 9,223,372,036,854,775,808 tensors"),
        (
            b"GGUF" + struct.pack("<IQQ", 3, 0, 2**64 - 1),
            "claims 18,446,744,073,709,551,615 metadata entries",
        ),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 0), "general.architecture is missing"),
    ],
)
def test_that_what_is_no_such_file_is_told_apart(data: bytes, said: str) -> None:
    assert said in refusal(data)


def peak_bytes(work: Callable[[], object]) -> int:
    """The most memory that some work holds at a time."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def entry(kind: int, rest: bytes) -> bytes:
    """A file with one metadata entry of that type."""
    return b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + gguf.text("key") + struct.pack("<I", kind) + rest


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (entry(8, struct.pack("<Q", 2**60)), "cut off within its header"),
        (entry(9, struct.pack("<IQ", 0, 2**60)), "cut off within its header"),
        (entry(9, struct.pack("<IQ", 8, MOST_WALKED + 1)), "its lists hold more than 4,194,304 texts"),
        (entry(9, struct.pack("<IQ", 8, 1000)), "cut off within its header"),
        (entry(9, struct.pack("<IQQ", 8, 1, 2**64 - 1)), "cut off within its header"),
        (
            entry(9, struct.pack("<IQ", 9, 1) + bytes(30)),
            '"key" is a list of type 9, expected numbers or texts',
        ),
        (entry(13, bytes(30)), '"key" is of type 13, which GGUF does not know'),
        (entry(4, bytes(4)).replace(gguf.text("key"), bytes(8)), "the name of a metadata entry is empty or"),
    ],
)
def test_that_absurd_metadata_costs_nothing(data: bytes, said: str) -> None:
    assert peak_bytes(lambda: refusal(data)) < 2**20
    assert said in refusal(data)


@pytest.mark.parametrize(
    ("name", "shape", "kind", "said"),
    [
        ("blk.0.x", (32,), 99, 'tensor "blk.0.x" is of type 99, which is not known'),
        ("blk.0.x", (31, 2), 8, 'tensor "blk.0.x" is Q8_0, rows in blocks of 32, but 31 wide'),
        ("blk.0.x", (0, 4), 0, "has the impossible shape 0 x 4"),
        ("blk.0.x", (2**62, 4), 0, "has the impossible shape"),
        ("blk.0.x", (2**40, 4), 0, "the file is cut off: its tensors end at byte"),
        ("blk.0.x", (1, 1, 1, 1, 1), 0, "has 5 dimensions, expected 1 to 4"),
        ("blk.0.x", (), 0, "has 0 dimensions, expected 1 to 4"),
    ],
)
def test_that_an_impossible_tensor_is_named(name: str, shape: tuple[int, ...], kind: int, said: str) -> None:
    made = b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + gguf.text(name)
    made += struct.pack(f"<I{len(shape)}Q", len(shape), *shape) + struct.pack("<IQ", kind, 0)
    assert said in refusal(made + bytes(64))


def test_that_nothing_may_be_there_twice() -> None:
    once = gguf.text("key") + gguf.value(1)
    assert 'has "key" twice' in refusal(b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + 2 * once + bytes(64))
    tensor = gguf.text("t") + struct.pack("<IQIQ", 1, 4, 0, 0)
    assert 'has the tensor "t" twice' in refusal(
        b"GGUF" + struct.pack("<IQQ", 3, 2, 0) + 2 * tensor + bytes(64)
    )


@pytest.mark.parametrize("alignment", [0, 2**24, "32", -1, True, 1.5])
def test_that_the_alignment_must_be_possible(alignment: object) -> None:
    metadata, tensors = tiny(general__alignment=None)
    content = {"general.alignment": alignment} if alignment != -1 else {"general.alignment": [32]}
    assert "general.alignment must be a whole number" in refusal(gguf.file({**metadata, **content}, tensors))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"general__architecture": "clip"}, "this is the projector of a vision or audio model"),
        (
            {"general__architecture": None, "general__type": "imatrix"},
            "this is an importance matrix, no model",
        ),
        ({"general__architecture": "controlvector"}, "this is a control vector; its model's file is needed"),
        ({"general__architecture": "flux"}, "this is a model of pictures or video, not a language model"),
        ({"general__architecture": "t5"}, "it has an encoder, which is not modelled"),
        ({"general__architecture": "bert"}, "this is an encoder, which neither prefills nor decodes"),
        ({"llama__attention__causal": False}, "this is an encoder, which neither prefills nor decodes"),
        ({"general__type": "adapter"}, "this is an adapter (LoRA); its base model's file is needed"),
        ({"general__type": "mmproj"}, "this is the projector of a vision or audio model"),
        ({"general__architecture": 3}, "general.architecture must be text, got 3"),
        ({"llama__block_count": None}, "llama.block_count is missing, expected a whole number"),
        ({"llama__block_count": 0}, "llama.block_count must be a whole number from 1 to 4,096, got 0"),
        ({"llama__block_count": 10**9}, "llama.block_count must be a whole number from 1 to 4,096"),
        ({"llama__block_count": 2.0}, "llama.block_count must be a whole number from 1 to 4,096, got 2.0"),
        ({"llama__embedding_length": None}, "llama.embedding_length is missing"),
        (
            {"llama__embedding_length": "32"},
            "llama.embedding_length must be a whole number from 1 to 16,777,216",
        ),
        ({"llama__attention__head_count": None}, "llama.attention.head_count is missing"),
        ({"llama__attention__head_count": True}, "llama.attention.head_count must be a whole number"),
        (
            {"llama__attention__head_count": 5},
            "llama.attention.key_length is missing, 5 heads do not divide 32",
        ),
        ({"llama__attention__head_count_kv": 3}, "must be a multiple of the 3 KV heads"),
        ({"llama__attention__value_length": 4}, "keys are 0 wide and values 4"),
        ({"llama__context_length": None}, "llama.context_length is missing"),
        ({"llama__expert_count": 4}, "llama.expert_used_count is missing"),
        (
            {"llama__feed_forward_length": 96},
            "llama.feed_forward_length 96: blk.0.ffn_gate.weight would be 32 × 96, but it is 32 × 64",
        ),
        (
            {"llama__embedding_length": 64},
            "llama.embedding_length is 64, but the tensor token_embd.weight is 32 × 40",
        ),
        (
            {"llama__attention__head_count_kv": 1},
            "llama.attention.head_count_kv 1: blk.0.attn_k.weight would be 32 × 8, but it is 32 × 16",
        ),
        (
            {"llama__block_count": 3},
            "llama.block_count is 3, but the file has no tensors blk.2",
        ),
        ({"llama__block_count": 1}, "llama.block_count is 1, but the file has tensors blk.1"),
        (
            {"llama__attention__head_count_kv": None},
            "llama.attention.head_count_kv (missing, so 4): blk.0.attn_k.weight would be 32 × 32, but",
        ),
        (
            {"llama__attention__key_length": 16, "llama__attention__value_length": 16},
            "llama.attention.head_count 4 and llama.attention.key_length 16: blk.0.attn_q.weight would be "
            "32 × 64, but it is 32 × 32",
        ),
        (
            {"llama__attention__head_count": 8, "llama__attention__key_length": 8,
             "llama__attention__value_length": 8},
            "llama.attention.head_count 8 and llama.attention.key_length 8: blk.0.attn_q.weight would be",
        ),
    ],
)  # fmt: skip
def test_that_keys_that_contradict_the_tensors_are_named(change: dict[str, Any], said: str) -> None:
    assert said in refusal(gguf.file(*tiny(**change)))


@pytest.mark.parametrize(
    ("name", "key", "value", "tensor"),
    [
        ("mixtral-8x7b", "llama.expert_count", 9, "blk.0.ffn_gate_inp.weight would be 4,096 × 9"),
        ("mixtral-8x7b", "llama.feed_forward_length", 14_272, "blk.0.ffn_gate_exps.weight would be"),
        ("qwen3-30b-a3b", "qwen3moe.expert_feed_forward_length", 800, "ffn_gate_exps.weight would be"),
        ("phi-4", "phi3.attention.head_count_kv", 20, "blk.0.attn_qkv.weight would be"),
        ("deepseek-v3", "deepseek2.attention.kv_lora_rank", 500, "blk.0.attn_kv_a_mqa.weight would be"),
        ("gemma-4-31b", "gemma4.attention.key_length_swa", 255, "attn_q.weight would be"),
        ("qwen3-next-80b-a3b", "qwen3next.attention.head_count_kv", 1, "blk.3.attn_k.weight would be"),
    ],
)
def test_that_keys_of_other_families_must_fit_the_tensors_too(
    name: str, key: str, value: int, tensor: str
) -> None:
    metadata, tensors = laid_out(name)
    assert key in metadata or key.endswith("head_count_kv")
    with pytest.raises(InputError) as caught:
        read({**metadata, key: value}, tensors)
    assert tensor in str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"llama__block_count": 0}, "llama.block_count must be a whole number from 1"),
    ],
)
def test_that_what_is_missing_or_contradictory_is_named(change: dict[str, Any], said: str) -> None:
    assert said in refusal(gguf.file(*tiny(**change)))


def test_that_layers_of_another_kind_are_refused_by_name() -> None:
    metadata, tensors = tiny()
    tensors["blk.0.ssm_in.weight"] = (32, 64), gguf.F16
    renamed = {key.replace("llama.", "plamo2."): content for key, content in metadata.items()}
    said = refusal(gguf.file({**renamed, "general.architecture": "plamo2"}, tensors))
    assert said.endswith('family "plamo2" is not modelled: its layers hold "ssm_in.weight"')


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"attention.shared_kv_layers": 10}, "num_kv_shared_layers is 10: its layers share KV caches"),
        ({"embedding_length_per_layer_input": 256}, "hidden_size_per_layer_input must be 0"),
        ({"attention.sliding_window_pattern": 6}, "sliding_window_pattern must be one value for each layer"),
        ({"attention.head_count_kv": [16, 4]}, "head_count_kv must be a whole number for each of 60 layers"),
    ],
)
def test_that_a_gemma_4_of_another_build_is_refused(change: dict[str, Any], said: str) -> None:
    metadata, tensors = laid_out("gemma-4-31b")
    changed = {**metadata, **{f"gemma4.{key}": content for key, content in change.items()}}
    with pytest.raises(InputError, match=said):
        read(changed, tensors)


@pytest.mark.parametrize("family", ["llama4", "granitemoe", "ernie4_5-moe", "dbrx"])
def test_that_a_family_of_experts_without_any_is_refused(family: str) -> None:
    metadata, tensors = tiny()
    renamed = {key.replace("llama.", f"{family}."): content for key, content in metadata.items()}
    said = refusal(gguf.file({**renamed, "general.architecture": family}, tensors))
    assert said.endswith(f"{family}.expert_count is missing, expected a whole number")


def test_that_state_space_layers_that_do_not_add_up_are_refused() -> None:
    metadata, tensors = laid_out("mamba-2.8b")
    with pytest.raises(InputError, match=r"mamba\.ssm\.inner_size 5,000 is no multiple of the 2,560 hidden"):
        read({**metadata, "mamba.ssm.inner_size": 5000}, tensors)
    metadata, tensors = laid_out("nemotron-3-nano-30b")
    with pytest.raises(InputError, match=r"ssm\.inner_size 4,096 is no multiple of its 60 heads"):
        read({**metadata, "nemotron_h_moe.ssm.time_step_rank": 60}, tensors)
    without = {name: content for name, content in tensors.items() if not name.startswith("blk.3.")}
    without["blk.3.attn_norm.weight"] = tensors["blk.3.attn_norm.weight"]
    with pytest.raises(InputError, match="layer 3 holds no block that nemotron_h_moe has"):
        read(metadata, without)
    metadata, tensors = laid_out("jamba-v0.1")
    moved = {name.replace("blk.12.attn_q", "blk.13.attn_q"): content for name, content in tensors.items()}
    with pytest.raises(
        InputError, match=r"layers with attn_q\.weight do not follow each other at one distance"
    ):
        read(metadata, moved)
    none = {name: content for name, content in tensors.items() if "attn_q" not in name}
    with pytest.raises(InputError, match=r"no layer has a tensor attn_q\.weight"):
        read(metadata, none)


def test_that_a_vocabulary_alone_is_no_model() -> None:
    assert "it holds no tensors" in refusal(gguf.file(tiny()[0], {}))
    metadata, tensors = tiny()
    del tensors["token_embd.weight"]
    assert "the tensor token_embd.weight is missing" in refusal(gguf.file(metadata, tensors))


def test_that_an_empty_or_missing_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty.gguf").write_bytes(b"")
    with pytest.raises(InputError, match=r"^empty: the file is empty$"):
        read_header(str(tmp_path / "empty.gguf"), "empty")
    with pytest.raises(InputError, match=r"^gone: it cannot be read \("):
        read_header(str(tmp_path / "gone.gguf"), "gone")


# --- cost


def test_that_a_vocabulary_of_a_quarter_million_is_walked_over_and_not_kept(tmp_path: Path) -> None:
    metadata, tensors = tiny()
    words = [f"word {n}" for n in range(262_144)]
    lists = {"tokenizer.ggml.tokens": words, "tokenizer.ggml.scores": [0.0] * len(words)}
    path = write(tmp_path, "wide.gguf", {**metadata, **lists}, tensors)
    assert peak_bytes(lambda: read_gguf(path)) < 2**20


def test_that_a_file_longer_than_the_address_space_is_read(tmp_path: Path) -> None:
    """Under `ulimit -v`, and anyway: only what may hold the header is mapped."""
    resource = pytest.importorskip("resource")
    metadata, tensors = laid_out("llama-3.1-70b")
    made, size = gguf.header(metadata, tensors)
    path = tmp_path / "long.gguf"
    with open(path, "wb") as file:
        file.write(made)
        file.truncate(size)
    assert size > 39 * 10**9
    limits = resource.getrlimit(resource.RLIMIT_AS)
    try:
        resource.setrlimit(resource.RLIMIT_AS, (size // 2, limits[1]))
    except (ValueError, OSError):
        pytest.skip("this system does not bound the address space")
    try:
        found = read_gguf(str(path))[1]
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    assert stored_bytes(found).total == sum(gguf.size_of(*content) for content in tensors.values())
    with open(path, "r+b") as file:
        file.truncate(size - 1)
    with pytest.raises(InputError, match=f"its tensors end at byte {size:,} and it has {size - 1:,}$"):
        read_gguf(str(path))


def test_that_a_block_of_every_type_holds_whole_bytes() -> None:
    assert len({name for name, _, _ in TENSOR_TYPES.values()}) == len(TENSOR_TYPES)
    for _, weights, size in TENSOR_TYPES.values():
        assert weights in (1, 32, 64, 128, 256)
        assert 1 <= 8 * size / weights <= 64
