"""Fuzz of all that is read from files: config.json, GGUF, an accelerator's TOML. `make fuzz` runs it.

    python tests/readers/fuzz.py [--cases 20000] [--seed 1] [--only 4711]

Each case is a small sound file, changed in its bytes or in its structure, and opened as a person would
open it. What comes of it is a value whose figures are finite, or an InputError of one line that names
the file; in memory that goes with the file's size; and soon, or all stacks are printed. A case depends
on nothing but the seed and its number: `--only` repeats one and keeps its file.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import traceback
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # run alone, from any folder: no installed pdviz comes before this one
    sys.path.insert(0, str(Path(__file__).parents[2]))

import gguf_files as gguf
from damage import damaged, is_sentence, is_sound

from pdviz.catalogue import default_catalogue
from pdviz.costmodel.accelerator import check_accelerator
from pdviz.errors import InputError
from pdviz.model_fields import field_lines, model_fields
from pdviz.own_files import read_accelerator_file, read_model_file
from pdviz.readers.hf.config import read_config

CASES, SEED = 20_000, 1
HANG_S = 30  # of one case, after which stacks are printed and the run ends
SPACE_BYTES = 4 * 2**30  # of addresses, all in all
BASE_BYTES, BYTES_PER_BYTE = 6 * 2**20, 200  # of memory, for one file (4 MiB to read it) and each byte of it

Made = list[tuple[str, bytes, int]]  # name, beginning, size of each file; the first is opened
Chance = random.Random

# --- sound files to begin with

_SMALL: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "intermediate_size": 64,
    "vocab_size": 40,
    "max_position_embeddings": 128,
}
_MIXED = {"num_local_experts": 4, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
_LATENT = {"kv_lora_rank": 32, "qk_rope_head_dim": 8, "qk_nope_head_dim": 32, "v_head_dim": 32}
_SELECTIVE = {"mamba_d_conv": 4, "mamba_d_state": 16, "mamba_dt_rank": 4, "mamba_expand": 2}
_PERIODS = {
    "attn_layer_period": 3,
    "attn_layer_offset": 1,
    "expert_layer_period": 2,
    "expert_layer_offset": 1,
}
_FAMILIES: dict[str, dict[str, Any]] = {
    "llama": {},
    "mixtral": _MIXED,
    "qwen2": {"sliding_window": 32, "use_sliding_window": False},
    "qwen3_moe": _MIXED,
    "gemma2": {"sliding_window": 32},
    "gemma3_text": {"sliding_window": 32, "layer_types": ["sliding_attention"] * 2 + ["full_attention"]},
    "gemma4_text": {
        **_MIXED,
        "sliding_window": 32,
        "layer_types": ["sliding_attention"] * 2 + ["full_attention"],
        "global_head_dim": 32,
        "num_global_key_value_heads": 1,
        "attention_k_eq_v": True,
        "enable_moe_block": True,
        "top_k_experts": 2,
    },
    "gpt_oss": {**_MIXED, "sliding_window": 32},
    "phi3": {},
    "falcon": {"multi_query": True},
    "starcoder2": {"use_bias": True},
    "glm4": {},
    "cohere": {},
    "deepseek_v3": {
        **_LATENT,
        "moe_intermediate_size": 32,
        "n_routed_experts": 4,
        "num_experts_per_tok": 2,
        "n_shared_experts": 1,
        "first_k_dense_replace": 1,
        "q_lora_rank": 32,
    },
    "mamba": {"state_size": 16, "conv_kernel": 4, "expand": 2, "time_step_rank": 4},
    "jamba": {**_MIXED, **_SELECTIVE, **_PERIODS},
    "nemotron_h": {
        **_MIXED,
        "n_routed_experts": 4,
        "hybrid_override_pattern": "M*E",
        "mamba_num_heads": 8,
        "mamba_head_dim": 8,
        "n_groups": 2,
        "ssm_state_size": 16,
        "conv_kernel": 4,
        "moe_shared_expert_intermediate_size": 64,
    },
}
_QUANTISED: tuple[dict[str, Any], ...] = (
    {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True},
    {"quant_method": "gptq", "bits": 4, "group_size": 32, "desc_act": True},
    {"quant_method": "fp8", "weight_block_size": [128, 128], "modules_to_not_convert": ["lm_head"]},
    {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]},
    {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"},
    {
        "quant_method": "compressed-tensors",
        "format": "pack-quantized",
        "ignore": ["lm_head"],
        "config_groups": {"group_0": {"weights": {"num_bits": 4, "group_size": 32, "type": "int"}}},
    },
)
_CHIP: dict[str, Any] = {
    "name": "My chip",
    "id": "mine",
    "memory_bytes": 96_000_000_000,
    "memory_bandwidth_bytes_per_s": 2.0e12,
    "year": 2026,
    "link_bytes_per_s": 450e9,
    "confidence": "low",
    "sources": ["a page"],
    "peak_flops_per_s": {"bf16": 500e12, "fp8": 1000e12, "int8": 1000e12},
}


class Seeds:
    """The sound files, made once."""

    def __init__(self) -> None:
        self.configs = [dict(entry.config) for entry in default_catalogue().models]
        self.configs += [{"model_type": kind, **_SMALL, **more} for kind, more in _FAMILIES.items()]
        self.configs += [{**self.configs[0], "quantization_config": q} for q in _QUANTISED]
        self.names = sorted({name for config in self.configs for name in config})
        self.models = []
        for kind, more in _FAMILIES.items():
            config = {"model_type": kind, **_SMALL, **more}
            self.models.append(gguf.model(read_config(config, "Tiny"), config))


# --- changes of structure


def odd(chance: Chance) -> Any:
    """A value that a field does not expect."""
    return chance.choice(
        (
            *(None, True, False, "", "x", "128", "auto", "full_attention", "\u202e\n\x1b[31m", "L" * 300),
            *(0, 1, -1, 2, 3, 7, 2**31, 2**32, 2**53, 2**63, 10**30, 10**400),
            *(0.0, 0.5, 2.0, -1.5, 1e300, float("inf"), float("nan")),
            *([], {}, [None], [[]], [1, 2, 3], ["full_attention"] * 3, [0] * 5000, {"a": {"b": []}}),
        )
    )


def places(value: Any, found: list[tuple[Any, Any]] | None = None) -> list[tuple[Any, Any]]:
    """(container, key) of everything inside a value."""
    found = [] if found is None else found
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, content in list(inside):
        found.append((value, key))
        places(content, found)
    return found


def restructured(value: Any, names: list[str], chance: Chance) -> Any:
    """A JSON value with some of its parts replaced, taken out, added, renamed, swapped or wrapped."""
    whole = [json.loads(json.dumps(value))]
    for _ in range(chance.choice((1, 1, 2, 4, 12))):
        container, key = chance.choice(places(whole))
        kind = chance.randrange(8)
        if kind <= 1:
            container[key] = odd(chance)
        elif kind == 2:
            del container[key]
        elif kind == 3:
            container[key] = chance.choice(
                ([container[key]], {"text_config": container[key]}, str(container[key]))
            )
        elif kind == 4 and isinstance(container, dict):
            container[chance.choice(names)] = container.pop(key)
        elif kind == 5 and isinstance(container, dict):
            container[chance.choice(names)] = odd(chance)
        elif kind == 6:
            other, place = chance.choice(places(whole))
            copied = json.loads(json.dumps([container[key], other[place]]))
            container[key], other[place] = copied[1], copied[0]
        elif isinstance(container[key], (int, float)):
            container[key] = chance.choice((container[key] + 1, container[key] * 2, -container[key], 0))
        if not whole:
            whole = [odd(chance)]
    return whole[0]


def config_json(seeds: Seeds, chance: Chance) -> Made:
    config = chance.choice(seeds.configs)
    if chance.random() < 0.5:
        text = json.dumps(config, indent=chance.choice((None, 2)))
        data = damaged(text.encode(), chance)
    else:
        text = json.dumps(restructured(config, seeds.names, chance), ensure_ascii=chance.random() < 0.5)
        if chance.random() < 0.05:  # a field twice
            text = text.replace("{", '{"hidden_size": 64, ', 1)
        data = text.encode("utf-8", "surrogatepass")
    return [("config.json", data, len(data))]


def changed_header(
    metadata: dict[str, Any], tensors: gguf.Tensors, chance: Chance
) -> tuple[dict[str, Any], gguf.Tensors]:
    metadata, tensors = dict(metadata), dict(tensors)
    for _ in range(chance.choice((1, 1, 2, 4, 12))):
        key, name = chance.choice(list(metadata) or [""]), chance.choice(list(tensors) or [""])
        kind = chance.randrange(12)
        if kind <= 2 and key:
            metadata[key] = writable(chance)
        elif kind == 3:
            metadata.pop(key, None)
        elif kind == 4 and key:
            metadata[chance.choice(("general.type", "split.count", "general.alignment", key + "_swa"))] = (
                metadata[key] if chance.random() < 0.5 else writable(chance)
            )
        elif kind == 5 and type(metadata.get(key)) is int:
            metadata[key] = [chance.choice((0, metadata[key] % 2**32))] * chance.choice((0, 1, 3, 4096))
        elif kind == 6:
            metadata["general.architecture"] = chance.choice(sorted(set(gguf.FAMILIES.values())))
        elif kind == 7:
            tensors.pop(name, None)
        elif kind == 8 and name:
            layer = chance.choice(("blk.0.", "blk.2.", "blk.9999999.", "", "v."))
            tensors[layer + name.rpartition("blk.")[2]] = tensors.pop(name)
        elif kind == 9 and name:
            shape = list(tensors[name][0])
            shape[chance.randrange(len(shape))] = 32 * chance.choice((1, 2, 3, 8, 2**20))
            tensors[name] = tuple(shape), chance.choice((gguf.F32, gguf.F16))
        elif kind == 10 and name:
            tensors[name] = (*tensors[name][0], chance.choice((1, 2)))[:4], tensors[name][1]
        elif name:
            tensors[name] = tuple(reversed(tensors[name][0])), gguf.F32
    return metadata, tensors


def writable(chance: Chance) -> Any:
    """A value that a GGUF file can hold."""
    return chance.choice(
        (
            *(0, 1, 2, 3, 32, 64, 2**20, 2**31, 2**32, 2**63, True, False, 0.0, 1.5, float("nan")),
            *("", "llama", "adapter", "\x1b[31m\n", "x" * 5000),
            *([], [0], [1, 0, 1], [True, False, True], ["a"], [32] * 3, [0.5, 1.5], [1] * 10_000),
        )
    )


def gguf_file(seeds: Seeds, chance: Chance) -> Made:
    metadata, tensors = chance.choice(seeds.models)
    if chance.random() < 0.5:
        data, size = gguf.header(metadata, tensors)
        data = damaged(data, chance)
        return [("model.gguf", data, size if chance.random() < 0.8 else len(data))]
    metadata, tensors = changed_header(metadata, tensors, chance)
    if chance.random() < 0.2 and len(tensors) > 2:
        return parts(metadata, tensors, chance)
    return [("model.gguf", *gguf.header(metadata, tensors, chance.choice((2, 3, 3, 3))))]


def parts(metadata: dict[str, Any], tensors: gguf.Tensors, chance: Chance) -> Made:
    """Two parts of one model, each of them changed now and then."""
    names = list(tensors)
    cut = chance.randrange(len(names))
    made: Made = []
    for number, share in enumerate((names[:cut], names[cut:])):
        split: dict[str, Any] = {"split.no": number, "split.count": 2, "split.tensors.count": len(names)}
        if chance.random() < 0.3:
            split[chance.choice(list(split))] = writable(chance)
        keys = {**metadata, **split} if number == 0 else split
        data, size = gguf.header(keys, {name: tensors[name] for name in share})
        if chance.random() < 0.2:
            data = damaged(data, chance)
        made.append((f"model-{number + 1:05d}-of-00002.gguf", data, size))
    if chance.random() < 0.1:
        made.pop()
    return made if chance.random() < 0.7 else made[::-1]


def toml_value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(k))} = {toml_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps("nothing" if value is None else value)


def accelerator_toml(seeds: Seeds, chance: Chance) -> Made:
    chip, heading = _CHIP, "[accelerator]"
    is_structure = chance.random() < 0.5
    if is_structure:
        chip = restructured(_CHIP, list(_CHIP), chance)
        heading = chance.choice(("[accelerator]",) * 8 + ("[gpu]", "[[accelerator]]", "[accelerator.x]", ""))
    lines = [heading]
    if isinstance(chip, dict):
        lines += [f"{json.dumps(str(key))} = {toml_value(value)}" for key, value in chip.items()]
    data = "\n".join(lines).encode()
    if not is_structure:
        data = damaged(data, chance)
    return [("chip.toml", data, len(data))]


MAKERS: tuple[Callable[[Seeds, Chance], Made], ...] = (gguf_file, config_json, accelerator_toml)
SHARES = (9, 9, 2)

# --- one case


def made(seeds: Seeds, seed: int, number: int) -> Made:
    """The files of a case."""
    chance = random.Random(f"{seed}:{number}")
    return chance.choices(MAKERS, SHARES)[0](seeds, chance)


def opened(path: Path) -> None:
    """Open a file as what it is named, and look at all that follows from it."""
    if path.suffix == ".toml":
        check_accelerator(read_accelerator_file(str(path)).accelerator, path.name)
        return
    found = read_model_file(str(path)).architecture
    is_sound(found)
    try:
        lines = field_lines(model_fields(found))
    except InputError as error:  # a dtype that is not known
        is_sentence(error)
    else:
        assert "".join(lines).replace("\n", "").isprintable()


def is_read(folder: Path, files: Made) -> bool:
    """True where the first of the files, alone in a folder with the others, is a sound one.

    Raises AssertionError for a refusal that is not one line which opens with a file's name.
    """
    for name, data, size in files:
        with open(folder / name, "wb") as file:
            file.write(data[:size])
            file.truncate(size)
    refusal = None
    try:
        opened(folder / files[0][0])
    except InputError as error:
        refusal = error
    finally:
        for name, _, _ in files:
            (folder / name).unlink()
    if refusal is not None:
        is_sentence(refusal)
        known = {name for name, _, _ in files} | {f"model-0000{n}-of-00002.gguf" for n in (1, 2)}
        assert str(refusal).partition(": ")[0] in known, refusal
    return refusal is None


class Tally:
    """What came of the cases."""

    def __init__(self) -> None:
        self.cases: dict[str, list[int]] = {}
        self.slowest = 0.0, -1
        self.largest = 0, -1
        self.failed: list[int] = []

    def lines(self) -> list[str]:
        said = [
            f"{kind}: {read:,} of {sum(both):,} read"
            for kind, both in self.cases.items()
            for read in both[:1]
        ]
        said.append(f"slowest: case {self.slowest[1]}, {1000 * self.slowest[0]:.0f} ms")
        said.append(f"most memory: case {self.largest[1]}, {self.largest[0] / 2**20:.2f} MiB")
        return said


def run(seed: int, numbers: range, folder: Path, is_quiet: bool = True) -> Tally:
    """Try cases one after another; those that fail are counted, and told unless ``is_quiet``."""
    seeds, tally = Seeds(), Tally()
    is_traced = tracemalloc.is_tracing()
    for number in numbers:
        files = made(seeds, seed, number)
        before = tracemalloc.get_traced_memory()[0] if is_traced else 0
        if is_traced:
            tracemalloc.reset_peak()
            faulthandler.dump_traceback_later(HANG_S, exit=True)
        start = time.perf_counter()
        try:
            sound = is_read(folder, files)
            peak = tracemalloc.get_traced_memory()[1] - before if is_traced else 0
            held = sum(len(data) for _, data, _ in files)
            assert peak <= BASE_BYTES + BYTES_PER_BYTE * held, f"{peak:,} bytes of memory for {held:,}"
        except Exception:
            tally.failed.append(number)
            if is_quiet:
                raise
            print(f"case {number} of seed {seed}:", file=sys.stderr)
            traceback.print_exc()
            continue
        kind = Path(files[0][0]).suffix.lstrip(".")
        tally.cases.setdefault(kind, [0, 0])[0 if sound else 1] += 1
        tally.slowest = max(tally.slowest, (time.perf_counter() - start, number))
        tally.largest = max(tally.largest, (peak, number))
    if is_traced:
        faulthandler.cancel_dump_traceback_later()
    return tally


def keep(seed: int, number: int) -> None:
    """Write the files of a case into the present folder."""
    for name, data, size in made(Seeds(), seed, number):
        with open(name, "wb") as file:
            file.write(data[:size])
            file.truncate(size)
        print(f"{name}: {size:,} bytes")


def work(seed: int, cases: int) -> int:
    """All cases in this process, whose memory is bounded where the system can."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (SPACE_BYTES, SPACE_BYTES))
    tracemalloc.start()
    with tempfile.TemporaryDirectory() as folder:
        tally = run(seed, range(cases), Path(folder), is_quiet=False)
    print("\n".join(tally.lines()))
    if tally.failed:
        print(f"{len(tally.failed)} failed; repeat one with --seed {seed} --only {tally.failed[0]}")
    return 1 if tally.failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Damaged and hostile files, each read or refused.")
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", type=int, help="repeat this case and keep its files in the present folder")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        return work(options.seed, options.cases)
    print(f"fuzz: {options.cases:,} cases, --seed {options.seed}", flush=True)
    if options.only is not None:
        keep(options.seed, options.only)
        with tempfile.TemporaryDirectory() as folder:
            run(options.seed, range(options.only, options.only + 1), Path(folder))
        return 0
    start = time.perf_counter()
    command = [sys.executable, os.path.abspath(__file__), "--inside"]
    command += ["--cases", str(options.cases), "--seed", str(options.seed)]
    code = subprocess.call(command)
    print(f"fuzz: {'all well' if code == 0 else 'failed'} after {time.perf_counter() - start:.0f} s")
    return 0 if code == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
