"""How a checkpoint's weights are stored: ``quantization_config`` read into a small description.

Methods: fp8 (DeepSeek, Qwen, MiniMax), fbgemm_fp8 (Llama), compressed-tensors (llm-compressor), modelopt
(NVFP4 and FP8), awq, gptq, bitsandbytes, bitnet, mlx and mxfp4 (gpt-oss). Anything else is refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from pdviz.costmodel.quantisation import Kept, Quantisation
from pdviz.readers.hf.fields import Fields, plain, shown
from pdviz.readers.hf.targets import Checkpoint, excluded_by, refuse_sparse, targets_of, within_blocks
from pdviz.readers.hf.traits import Family

#: Part of the model -> how modules of it are named in checkpoints (compiled when they are first needed).
_PARTS = (
    ("shared", r"shared_expert"),
    ("experts", r"experts|block_sparse_moe(?!\.gate)"),
    (
        "router",
        r"mlp\.gate(\b|$)|block_sparse_moe\.gate|router|moe\.gate|(^|\.)gate($|\*)|mixer\.gate",
    ),
    ("attention", r"attn|attention"),
    ("mlp", r"(mlp|feed_forward|ffn)[.*$]*$"),
    ("dense", r"mlp|feed_forward|ffn"),
    ("head", r"lm_head|output_layer|embed_out"),
    ("embedding", r"embed_tokens|wte|word_embeddings|^embeddings?$"),
    ("layer", r"mixer|mamba"),
)
_ELSEWHERE = (
    r"vision|visual|vit\b|image|audio|projector|mm_|mtp|norm|eh_proj|embed_vision|correction|"
    r"merger|modality|aligner|connector|conv1d|A_log|dt_bias|\.D$"
)
_LAYER = r"(?:layers|h|blocks)\\?\.(\d+)(?!\d)"
_MODULE = (
    r"(?:^|[.*\\])([a-z0-9_]+_proj[a-z_]*|wq_?[ab]?|wo|wkv[_ab]*|qkv|out_proj|dense|shared_expert_gate)$"
)

#: Methods by the name of a kernel -> the method.
_OTHER_NAMES = {"awq_marlin": "awq", "gptq_marlin": "gptq"}

#: What stays at 16 bit without being listed.
_ALWAYS = ("embedding", "router")
_WITH_HEAD = ("embedding", "router", "head")


def _check_pattern(entry: str, fields: Fields, name: str) -> None:
    """Raise where an entry says that it is a regular expression and is none."""
    try:
        re.compile(entry.removeprefix("re:"))
    except (re.error, RecursionError, OverflowError):
        raise fields.error(f"{fields.label(name)} has {shown(entry)}, no pattern that can be read") from None


def _say_unknown(names: list[str], fields: Fields, name: str) -> None:
    """A note on names that fit nothing."""
    if names:
        more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
        listed = ", ".join(shown(entry) for entry in names[:3])
        fields.remark(f"{fields.label(name)}: nothing in this model is called {listed}{more}.")


def _held(part: str, family: Family) -> tuple[str, ...]:
    """The parts of the model that such a module holds."""
    mlp = ("shared", "dense") if family.experts_beside else ("shared", "dense", "experts", "router")
    return {"layer": ("attention", *mlp), "mlp": mlp}.get(part, (part,))


def _kept_parts(names: list[object], fields: Fields, name: str, model: Checkpoint) -> tuple[Kept, ...]:
    """What a list of module names or patterns leaves at 16 bit; towers and norms do not matter here."""
    found: dict[Kept, None] = {}
    unknown: list[str] = []
    for entry in names:
        if not isinstance(entry, str):
            raise fields.error(f"{fields.label(name)} must hold module names, got {shown(entry)}")
        if entry.startswith("re:"):
            _check_pattern(entry, fields, name)
        text = entry[:200].removeprefix("re:")
        layer = re.search(_LAYER, text)
        number = int(layer.group(1)) if layer is not None and len(layer.group(1)) < 6 else None
        if text in ("Linear", "") or re.search(_ELSEWHERE, text):
            continue
        part = next((part for part, pattern in _PARTS if re.search(pattern, text)), None)
        if part is None and number is not None and text.rstrip(".*$").endswith(str(number)):
            part = "layer"
        if part is None or (number is not None and number >= model.layers):
            unknown.append(entry)
            continue
        match = re.search(_MODULE, text.rstrip(".*$"))
        module = match.group(1) if match is not None else None
        found |= {Kept(held, number, module): None for held in _held(part, model.family)}
    _say_unknown(unknown, fields, name)
    return tuple(found)


def _kept(fields: Fields, name: str, model: Checkpoint, always: tuple[str, ...]) -> tuple[Kept, ...]:
    listed = _kept_parts(fields.entries(name) or [], fields, name, model)
    return tuple(dict.fromkeys((*(Kept(part) for part in always), *listed)))


def _fp8(fields: Fields, model: Checkpoint) -> Quantisation:
    names = "ignored_layers" if fields.has("ignored_layers") else "modules_to_not_convert"
    kept = _kept(fields, names, model, _WITH_HEAD)
    if fields.entries("weight_block_size") is None:
        return Quantisation("fp8", 8, rows=0, scale_bits=32, format="fp", kept=kept)
    rows, group = _block(fields, "weight_block_size")
    return Quantisation("fp8", 8, group=group, rows=rows, scale_bits=32, format="fp", kept=kept)


def _fbgemm(fields: Fields, model: Checkpoint) -> Quantisation:
    kept = _kept(fields, "modules_to_not_convert", model, _WITH_HEAD)
    return Quantisation("fbgemm_fp8", 8, scale_bits=32, format="fp", kept=kept)


def _bitnet(fields: Fields, model: Checkpoint) -> Quantisation | None:
    """Ternary weights, four in a byte with one scale a matrix; None where they are made while loading."""
    mode = fields.text("quantization_mode") or "offline"
    if mode not in ("offline", "online"):
        raise fields.error(
            f"{fields.label('quantization_mode')} must be offline or online, got {shown(mode)}"
        )
    if mode == "online":
        return None
    kept = _kept(fields, "modules_to_not_convert", model, _WITH_HEAD)
    return Quantisation("bitnet", 2, rows=0, kept=kept, weight_only=True)


def _block(fields: Fields, name: str) -> tuple[int, int]:
    """(outputs, inputs) of a block that one scale covers."""
    block = fields.entries(name)
    rows, size = block if block is not None and len(block) == 2 else (0, 0)
    if type(rows) is not int or type(size) is not int or not (0 < rows <= 65_536 and 0 < size <= 65_536):
        raise fields.error(f"{fields.label(name)} must be two whole numbers, got {shown(block)}")
    return rows, size


def _bits(fields: Fields, *names: str, allowed: tuple[int, ...]) -> int:
    bits = fields.count(*names)
    if bits not in allowed:
        words = ", ".join(str(n) for n in allowed)
        raise fields.error(f"{fields.label(names[0])} must be one of {words}, got {bits}")
    return bits


def _group(fields: Fields, *names: str) -> int:
    """The group size; 0 (a whole row) for -1."""
    if any(fields.raw(name) == -1 for name in names):
        return 0
    return fields.count(*names)


def _awq(fields: Fields, model: Checkpoint) -> Quantisation:
    bits = _bits(fields, "bits", "w_bit", allowed=(4, 8))
    zero = bits if fields.switch("zero_point", True) else 0
    kept = _kept(fields, "modules_to_not_convert", model, _WITH_HEAD)
    return Quantisation("awq", bits, _group(fields, "group_size", "q_group_size"), zero_bits=zero, kept=kept)


def _gptq(fields: Fields, model: Checkpoint) -> Quantisation:
    bits = _bits(fields, "bits", allowed=(2, 3, 4, 8))
    always = _ALWAYS if fields.switch("lm_head", False) else _WITH_HEAD
    kept = _kept(fields, "modules_in_block_to_not_quantize", model, always)
    size = _group(fields, "group_size")
    kept = tuple(dict.fromkeys((*kept, *excluded_by(fields, model, (bits, size)))))
    only = within_blocks(fields, model)
    if only is not None and "head" not in always:
        only = (*only, Kept("head"))
    # Kernels store a zero point even for symmetric weights, and the group of each input row.
    return Quantisation("gptq", bits, size, zero_bits=bits, index_bits=32, kept=kept, only=only)


def _bitsandbytes(fields: Fields, model: Checkpoint) -> Quantisation:
    kept = _kept(fields, "llm_int8_skip_modules", model, _WITH_HEAD)
    four, eight = fields.switch("load_in_4bit", False), fields.switch("load_in_8bit", False)
    if four == eight:
        raise fields.error(
            f"{fields.label('load_in_4bit')} and {fields.label('load_in_8bit')}: exactly one must be true"
        )
    if eight:
        return Quantisation("bitsandbytes", 8, scale_bits=32, kept=kept)
    scale, second = (8, 256) if fields.switch("bnb_4bit_use_double_quant", False) else (32, 0)
    form = (fields.text("bnb_4bit_quant_type") or "fp4").rstrip("4")[:8]
    return Quantisation("bitsandbytes", 4, 64, scale_bits=scale, format=form, kept=kept, second=second)


def _mxfp4(fields: Fields, model: Checkpoint) -> Quantisation:
    always = ("embedding", "router", "head", "attention", "dense", "shared")
    kept = _kept(fields, "modules_to_not_convert", model, always)
    return Quantisation("mxfp4", 4, 32, scale_bits=8, format="fp", kept=kept)


def _groups(fields: Fields, method: str, model: Checkpoint) -> Quantisation:
    """compressed-tensors and modelopt: ``config_groups`` with one scheme for weights."""
    refuse_sparse(fields)
    ignored = "ignore" if fields.has("ignore") else "exclude_modules"
    kept = _kept(fields, ignored, model, _ALWAYS)
    if not fields.has("config_groups"):
        algorithm = fields.text("quant_algo")
        if algorithm == "FP8":
            return Quantisation(method, 8, rows=0, scale_bits=32, module_bits=32, format="fp", kept=kept)
        if algorithm == "NVFP4":
            return Quantisation(method, 4, 16, scale_bits=8, module_bits=64, format="fp", kept=kept)
        raise fields.error(f"{fields.label('quant_algo')} must be FP8 or NVFP4, got {shown(algorithm)}")
    found: dict[Quantisation, None] = {}
    groups = fields.child("config_groups")
    only = targets_of(groups, model)
    for name in groups.names():
        weights = groups.child(name).child("weights")
        wide = not groups.child(name).has("input_activations")
        bits = _bits(weights, "num_bits", allowed=(4, 8))
        kind = weights.text("type") or "int"
        if kind not in ("int", "float"):
            raise weights.error(f"{weights.label('type')} must be int or float, got {shown(kind)}")
        strategy = weights.text("strategy") or ("group" if weights.has("group_size") else "tensor")
        if strategy not in ("tensor", "channel", "group", "block", "tensor_group"):
            raise weights.error(f"{weights.label('strategy')} {shown(strategy)} is not known")
        size, rows, scale, further = 0, 1, 16, 0
        if strategy == "tensor":
            rows, scale = 0, 32
        elif strategy == "block":
            rows, size = _block(weights, "block_structure")
        elif strategy in ("group", "tensor_group"):
            size = weights.count("group_size")
            if kind == "float" and bits == 4:
                scale, further = 8, 64
        zero = bits if kind == "int" and not weights.switch("symmetric", True) else 0
        form = "fp" if kind == "float" else "int"
        stored = Quantisation(
            method,
            bits,
            size,
            rows,
            scale_bits=scale,
            zero_bits=zero,
            module_bits=further,
            format=form,
            kept=kept,
            weight_only=wide,
            only=only,
        )
        found[stored] = None
    if len(found) != 1:
        raise fields.error(
            f"{fields.label('config_groups')} must hold one format for all weights, got {len(found)}"
        )
    return next(iter(found))


def _mlx(fields: Fields, model: Checkpoint) -> Quantisation:
    """MLX: a 16-bit scale and bias a group, embedding and head too; objects name single modules."""
    bits = _bits(fields, "bits", allowed=(2, 3, 4, 5, 6, 8))
    size = fields.count("group_size")
    mode = fields.text("mode") or "affine"
    if mode != "affine":
        raise fields.error(f"{fields.label('mode')} {shown(mode)} is not modelled, expected affine")
    wide: list[object] = []
    for name, value in fields.items():
        if value is False:
            wide.append(name)
        elif isinstance(value, dict) and (value.get("bits"), value.get("group_size")) != (bits, size):
            raise fields.error(f"{fields.label(plain(name))} has a format of its own, which is not modelled")
    return Quantisation(
        "mlx", bits, size, zero_bits=16, kept=_kept_parts(wide, fields, "modules", model), weight_only=True
    )


def _say_cache(fields: Fields) -> None:
    """A note where the file asks for a format of the KV cache."""
    is_fp8 = fields.raw("kv_cache_quant_algo") == "FP8"
    if fields.has("kv_cache_scheme"):
        scheme = fields.child("kv_cache_scheme")
        bits, kind = scheme.raw("num_bits"), scheme.raw("type")
        is_fp8 = bits == 8 and kind == "float"
        if not is_fp8:
            fields.remark(
                f"The file asks for a KV cache of {shown(bits)} bit ({shown(kind)}), which is left aside; "
                "set the KV format to compare."
            )
    if is_fp8:
        fields.remark("The file asks for an FP8 KV cache; set the KV format to compare.")


_METHODS: dict[str, Callable[[Fields, Checkpoint], Quantisation | None]] = {
    "fp8": _fp8,
    "fbgemm_fp8": _fbgemm,
    "awq": _awq,
    "gptq": _gptq,
    "bitsandbytes": _bitsandbytes,
    "bitnet": _bitnet,
    "mxfp4": _mxfp4,
    "compressed-tensors": lambda fields, model: _groups(fields, "compressed-tensors", model),
    "modelopt": lambda fields, model: _groups(fields, "modelopt", model),
}


def read_quantisation(fields: Fields, model: Checkpoint) -> Quantisation | None:
    """The description of ``quantization_config`` (MLX: ``quantization``); None where the file has none."""
    if fields.has("quantization"):
        return _mlx(fields.child("quantization"), model)
    if not fields.has("quantization_config"):
        return None
    inner = fields.child("quantization_config")
    method = inner.text("quant_method")
    if method is None:
        raise inner.error(f"{inner.label('quant_method')} is missing, expected a method such as fp8 or awq")
    _say_cache(inner)
    read = _METHODS.get(_OTHER_NAMES.get(method, method))
    if read is None:
        raise inner.error(
            f"{inner.label('quant_method')} {shown(method)} is not modelled; "
            f"known are {', '.join(sorted(_METHODS))}"
        )
    return read(inner, model)
