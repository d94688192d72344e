"""The metadata of a GGUF file: keys of its family, checked as they are read, beside its tensors.

What the metadata leaves open (biases, tied heads, which layers have experts) is read off the tensors,
which cannot be wrong about it.
"""

from __future__ import annotations

from typing import Any

from pdviz.errors import InputError
from pdviz.names import shown
from pdviz.readers.gguf.header import Header, Tensor
from pdviz.readers.hf.fields import MOST_EXPERTS, MOST_HEADS, MOST_TOKENS, MOST_WIDTH

_PROJECTOR = "this is the projector of a vision or audio model; the language model is another file beside it"
_ENCODER = "this is an encoder, which neither prefills nor decodes"
_PICTURES = "this is a model of pictures or video, not a language model"
#: ``general.architecture`` or ``general.type`` of what is no language model -> what to say.
NO_LANGUAGE_MODEL = {
    "clip": _PROJECTOR,
    "mmproj": _PROJECTOR,
    "adapter": "this is an adapter (LoRA); its base model's file is needed",
    "imatrix": "this is an importance matrix, no model",
    "controlvector": "this is a control vector; its model's file is needed",
    **dict.fromkeys(
        ("bert", "modern-bert", "nomic-bert", "nomic-bert-moe", "jina-bert-v2", "jina-bert-v3", "neo-bert"),
        _ENCODER,
    ),
    **dict.fromkeys(("eurobert", "gemma-embedding", "llama-embed", "t5encoder"), _ENCODER),
    "t5": "it has an encoder, which is not modelled",
    **dict.fromkeys(("flux", "sd1", "sdxl", "sd3", "aura", "hidream", "lumina2", "qwen_image"), _PICTURES),
    **dict.fromkeys(("cosmos", "hyvid", "ltxv", "wan"), _PICTURES),
}


class Metadata:
    """The metadata of one file: keys of its family, checked as they are read, and its tensors."""

    def __init__(self, header: Header, where: str) -> None:
        self._values = header.metadata
        self.where = where
        self.family = ""
        self.is_varied = False
        self.layers = 0
        self.tensors: dict[str, Tensor] = {}

    def error(self, text: str) -> InputError:
        return InputError(f"{self.where}: {text}")

    def text(self, key: str) -> str | None:
        value = self._values.get(key)
        if value is not None and not isinstance(value, str):
            raise self.error(f"{key} must be text, got {shown(value)}")
        return value

    def raw(self, key: str) -> object:
        """The value of a key of the family, None where it is absent."""
        return self._values.get(f"{self.family}.{key}")

    def whole(self, key: str, *, most: int, least: int = 1, default: int | None = None) -> int:
        """A whole number. One value for each layer will do where all are equal.

        In families whose layers are of two kinds (``is_varied``), the greatest counts.
        """
        value, name = self.raw(key), f"{self.family}.{key}"
        if value is None:
            if default is None:
                raise self.error(f"{name} is missing, expected a whole number")
            return default
        if isinstance(value, tuple) and value:
            of_layers = value[: self.layers]
            if len(set(of_layers)) > 1 and not self.is_varied:
                raise self.error(f"{name} differs from layer to layer, which is not modelled")
            value = max(of_layers) if of_layers else None
        if type(value) is not int or not least <= value <= most:
            raise self.error(f"{name} must be a whole number from {least:,} to {most:,}, got {shown(value)}")
        return value

    def has(self, name: str) -> bool:
        """True where the first layer that could has such a tensor."""
        return any(f"blk.{layer}.{name}" in self.tensors for layer in range(min(self.layers, 8)))

    def anywhere(self, name: str) -> Tensor | None:
        """The tensor of that name in the first layer that has one."""
        for layer in range(self.layers):
            found = self.tensors.get(f"blk.{layer}.{name}")
            if found is not None:
                return found
        return None

    def width(self, key: str, *names: str) -> int:
        """A width out of the metadata, else the inputs of the first such tensor; 0 where there is neither."""
        found = self.whole(key, default=0, least=0, most=MOST_WIDTH)
        for name in names:
            tensor = self.anywhere(name)
            if not found and tensor is not None:
                found = tensor.shape[0]
        return found

    def each(self, key: str) -> tuple[int, ...]:
        """A whole number for each layer of the language model."""
        value = self.raw(key)
        if type(value) is int:
            return (value,) * self.layers
        if not isinstance(value, tuple) or len(value) < self.layers or any(type(n) is not int for n in value):
            raise self.error(f"{self.family}.{key} must be a whole number for each of {self.layers:,} layers")
        return tuple(int(n) for n in value[: self.layers])

    def vocabulary(self) -> int:
        """Rows of the table of tokens."""
        table = self.tensors.get("token_embd.weight")
        if table is None or len(table.shape) != 2:
            raise self.error("the tensor token_embd.weight is missing, expected one row for each token")
        return table.shape[1]

    def common(self) -> dict[str, Any]:
        """Fields that all families spell alike."""
        vocabulary = self.vocabulary()
        hidden = self.whole("embedding_length", most=MOST_WIDTH)
        heads = self.whole("attention.head_count", most=MOST_HEADS)
        key = self.whole("attention.key_length", default=0, least=0, most=MOST_WIDTH)
        value = self.whole("attention.value_length", default=key, least=0, most=MOST_WIDTH)
        is_latent = self.raw("attention.kv_lora_rank") is not None
        if key != value and not is_latent:
            raise self.error(
                f"keys are {key:,} wide and values {value:,}, which is not modelled for this family"
            )
        if not key and hidden % heads:
            raise self.error(
                f"{self.family}.attention.key_length is missing, {heads} heads do not divide {hidden}"
            )
        bias = self.has("attn_q.bias") or self.has("attn_qkv.bias")
        normed = self.has("attn_q_norm.weight")
        fields: dict[str, Any] = {
            "hidden_size": hidden,
            "num_hidden_layers": self.layers,
            "num_attention_heads": heads,
            "num_key_value_heads": self.whole("attention.head_count_kv", default=heads, most=MOST_HEADS),
            "head_dim": key or hidden // heads,
            "vocab_size": vocabulary,
            "max_position_embeddings": self.whole("context_length", most=MOST_TOKENS),
            "tie_word_embeddings": "output.weight" not in self.tensors,
            "lm_head_bias": "output.bias" in self.tensors,
            "mlp_bias": self.has("ffn_up.bias"),
            "attention_out_bias": self.has("attn_output.bias"),
            "sliding_window": self.whole("attention.sliding_window", default=0, least=0, most=MOST_TOKENS)
            or None,
            "num_nextn_predict_layers": self.whole("nextn_predict_layers", default=0, least=0, most=64),
        }
        fields |= dict.fromkeys(("attention_bias", "qkv_bias", "use_qkv_bias", "use_bias", "bias"), bias)
        fields |= dict.fromkeys(("use_qk_norm", "qk_layernorm"), normed)
        fields |= self._windows() | self._blocks()
        return {
            name: value for name, value in fields.items() if value is not None or name == "sliding_window"
        }

    def _windows(self) -> dict[str, Any]:
        """Which layers have the window, where the file says so."""
        pattern = self.raw("attention.sliding_window_pattern")
        if isinstance(pattern, tuple) and len(pattern) >= self.layers:
            kinds = ("full_attention", "sliding_attention")
            return {"layer_types": [kinds[bool(windowed)] for windowed in pattern[: self.layers]]}
        return {"sliding_window_pattern": pattern} if type(pattern) is int and pattern > 0 else {}

    def _blocks(self) -> dict[str, Any]:
        """Widths of the feed-forward blocks, and which of them are experts."""
        width = self.width("feed_forward_length", "ffn_down.weight")
        experts = self.whole("expert_count", default=0, least=0, most=MOST_EXPERTS)
        if not experts:
            return {"intermediate_size": width}
        routed = (
            self.width("expert_feed_forward_length", "ffn_down_exps.weight", "ffn_down.0.weight") or width
        )
        shared = self.anywhere("ffn_down_shexp.weight")
        alongside = shared.shape[0] if shared is not None else 0
        sparse = [f"blk.{layer}.ffn_gate_inp.weight" in self.tensors for layer in range(self.layers)]
        return {
            "intermediate_size": width or routed,
            "moe_intermediate_size": routed,
            "num_experts": experts,
            "num_experts_per_tok": self.whole("expert_used_count", most=MOST_EXPERTS),
            "n_shared_experts": alongside // routed if routed else 0,
            "shared_expert_intermediate_size": alongside,
            "mlp_layer_types": ["sparse" if here else "dense" for here in sparse],
        }
