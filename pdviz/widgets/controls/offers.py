"""What the pickers offer: models and accelerators with what a person would look for, and formats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pdviz.costmodel.dtypes import DTYPES
from pdviz.errors import InputError
from pdviz.fields import BY_NAME
from pdviz.scene.marks.figures import accelerator_name, model_name
from pdviz.units import binary_size, count, parameters, si
from pdviz.widgets.controls.words import POLICY_FIELDS, POLICY_TITLES
from pdviz.widgets.kit.choices import Choice

if TYPE_CHECKING:
    from pdviz.costmodel.accelerator import Accelerator
    from pdviz.costmodel.architecture import Architecture
    from pdviz.evaluation import Result
    from pdviz.store import ScenarioStore

#: Beginnings of repository names -> how people call who makes the models.
VENDORS = {
    "Qwen/": "Alibaba",
    "google/": "Google DeepMind",
    "zai-org/": "Zhipu Z.ai GLM",
    "moonshotai/": "Moonshot AI",
    "mistralai/": "Mistral AI",
    "meta-llama/": "Meta",
    "CohereLabs/": "Cohere",
    "ai21labs/": "AI21",
    "internlm/": "Shanghai AI Lab",
    "stabilityai/": "Stability AI",
    "tiiuae/": "TII",
    "mosaicml/": "MosaicML Databricks",
    "facebook/": "Meta",
    "01-ai/": "01.AI",
    "allenai/": "Ai2 Allen",
}
_ATTENTION = {
    "full": "full attention",
    "sliding": "sliding window local attention swa",
    "chunked": "chunked local attention",
    "latent": "latent attention mla",
    "recurrent": "recurrent linear attention fixed state",
}
_STATE_SPACE = ("mamba", "jamba", "nemotron_h", "bamba", "zamba")


def kinds(architecture: Architecture) -> str:
    """Words for how a model is built, as a person may search for them."""
    return " ".join(dict.fromkeys(_kinds(architecture)))


def _kinds(architecture: Architecture) -> Iterator[str]:
    yield "mixture of experts moe sparse" if architecture.is_mixture else "dense"
    found = [attention for _, attention in architecture.attentions()]
    for attention in found:
        yield _ATTENTION.get(attention.kind, attention.kind)
        if attention.kind in ("full", "sliding", "chunked"):
            if attention.kv_heads == attention.query_heads:
                yield "multi-head mha"
            else:
                yield "multi-query mqa" if attention.kv_heads == 1 else "grouped-query gqa"
    recurrent = {attention.kind == "recurrent" for attention in found}
    if len(recurrent) == 2:
        yield "hybrid"
    if True in recurrent and any(name in architecture.family for name in _STATE_SPACE):
        yield "mamba state space ssm"
    if architecture.tied:
        yield "tied"


def offers(name: str, store: ScenarioStore) -> tuple[Choice, ...]:
    """The choices of a field; a person's own file that is open comes first."""
    catalogue, result = store.catalogue, store.result
    if name == "model":
        listed = tuple(
            Choice(m.name, m.name, *_about_model(store, m.name, m.note, m.aliases)) for m in catalogue.models
        )
        return _own_model(store, result, listed) + listed
    if name == "accelerator":
        chips = tuple(
            Choice(a.name, a.name, _about_accelerator(a), " ".join((a.vendor, *a.aliases)))
            for a in catalogue.accelerators
        )
        return _own_accelerator(result, chips) + chips
    if name in POLICY_FIELDS:
        return tuple(Choice(key, POLICY_TITLES[key], "") for key in BY_NAME[name].choices)
    return tuple(Choice(key, DTYPES[key].title, DTYPES[key].note) for key in BY_NAME[name].choices)


def _own_model(store: ScenarioStore, result: Result, listed: tuple[Choice, ...]) -> tuple[Choice, ...]:
    path = result.scenario.model
    if any(choice.key == path for choice in listed):
        return ()
    note = "mixture of experts" if result.architecture.is_mixture else "dense"
    detail, words = _about_model(store, path, note, (path,))
    return (Choice(path, model_name(result), f"your file · {detail}", f"{words} file"),)


def _own_accelerator(result: Result, listed: tuple[Choice, ...]) -> tuple[Choice, ...]:
    path, chip = result.scenario.accelerator, result.accelerator
    if any(choice.key == path for choice in listed):
        return ()
    words = f"{path} {chip.vendor} file"
    return (Choice(path, accelerator_name(result), f"your file · {_about_accelerator(chip)}", words),)


def _about_model(store: ScenarioStore, name: str, note: str, aliases: tuple[str, ...]) -> tuple[str, str]:
    """(size, KV cache of a token, context, note; what else it is found by) of a model."""
    makers = [maker for alias in aliases for start, maker in VENDORS.items() if alias.startswith(start)]
    words = " ".join(dict.fromkeys((*aliases, *makers)))
    try:
        model = store.catalogue.architecture(name)
    except InputError:
        return note, words
    context, kv = model.max_context_tokens, DTYPES[store.scenario.kv_dtype]
    token = binary_size(kv.bytes_per_element * model.cache_elements())
    facts = [parameters(model.parameters), f"{token} KV/token"]
    facts += [f"{count(context)} context"] if context is not None else []
    facts += [note] if note else []
    return " · ".join(facts), f"{words} {kinds(model)}"


def _about_accelerator(chip: Accelerator) -> str:
    fastest = max(chip.peak_flops_per_s.get(dtype, 0.0) for dtype in ("bf16", "fp16"))
    return (
        f"{chip.memory_bytes / 1e9:,.0f} GB · {si(chip.memory_bandwidth_bytes_per_s, 'B/s')}"
        f" · {si(fastest, 'FLOP/s')}"
    )
