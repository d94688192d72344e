"""From a scenario to everything that is shown: names looked up, the cost model asked once."""

from __future__ import annotations

from functools import cached_property

import msgspec

from pdviz.catalogue import Catalogue, default_catalogue
from pdviz.costmodel.accelerator import Accelerator
from pdviz.costmodel.architecture import Architecture
from pdviz.costmodel.dtypes import PUBLISHED, math_dtype
from pdviz.costmodel.fidelities import FIDELITIES, FLOOR, Fidelity, PassCost
from pdviz.costmodel.memory import Memory
from pdviz.costmodel.passes import ModelCost
from pdviz.costmodel.request import (
    RequestCost,
    cost_request,
    crossover_prompt_tokens,
    half_speed_context_tokens,
    request_memory,
)
from pdviz.costmodel.roofline import Machine
from pdviz.costmodel.weights import is_quantised
from pdviz.remarks import fewest, notes_of, warnings_of
from pdviz.scenario import Scenario
from pdviz.units import Quantity


class Result(msgspec.Struct, frozen=True, dict=True):
    """What a scenario costs, with the reasons. Times in seconds from the start of prefill.

    ``warnings`` are sentences about what would not work as asked (memory, context length);
    ``notes`` say what was assumed.
    """

    scenario: Scenario
    architecture: Architecture
    accelerator: Accelerator
    model: ModelCost
    machine: Machine
    request: RequestCost
    memory: Memory
    crossover_prompt_tokens: int | None
    half_speed_context_tokens: float | None
    warnings: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def ttft(self) -> Quantity:
        return self.request.ttft

    @property
    def itl(self) -> Quantity | None:
        return self.request.itl

    @property
    def e2e(self) -> Quantity:
        return self.request.e2e

    @property
    def ttft_s(self) -> float:
        return self.request.ttft_s

    @property
    def itl_s(self) -> float | None:
        return self.request.itl_s

    @property
    def e2e_s(self) -> float:
        return self.request.e2e_s

    @property
    def decode_share(self) -> float:
        return self.request.decode_share

    @property
    def prefill(self) -> PassCost:
        return self.request.prefill

    @property
    def decode(self) -> PassCost | None:
        """The first decode step; None where one token is asked for."""
        return self.request.pass_cost(1) if self.request.train.steps else None

    @property
    def decode_last(self) -> PassCost | None:
        return self.request.pass_cost(self.request.train.steps) if self.request.train.steps else None

    @cached_property
    def speed_of_light(self) -> RequestCost:
        """The same request from exact operation counts with nothing lost: what no engine can beat."""
        return as_ideal(self).request

    @property
    def streams(self) -> int:
        """Sequences that decode together."""
        return self.scenario.sequences

    @property
    def fidelity(self) -> Fidelity:
        """The cost model that answered."""
        return self.model.fidelity

    @property
    def fewest_accelerators(self) -> int | None:
        """The smallest power of two of such accelerators whose memory holds it, up to 1,024; else None."""
        return fewest(self.scenario, self.model, self.accelerator)

    @property
    def tokens_per_s_stream(self) -> float | None:
        """Streaming speed that one user sees: 1 / ITL."""
        return 1 / self.request.itl_s if self.request.itl_s else None

    def speed(self, streams: int = 1) -> Quantity | None:
        """Streaming speed of so many of the streams together, with its band."""
        itl = self.request.itl
        if itl is None:
            return None
        low, high = itl.low or itl.value, itl.high or itl.value
        return Quantity(streams / itl.value, streams / high, streams / low, "tok/s")

    @property
    def tokens_per_s_total(self) -> float | None:
        """Streaming speed of all sequences together."""
        speed = self.tokens_per_s_stream
        return speed * self.streams if speed else None


def evaluate(scenario: Scenario, catalogue: Catalogue | None = None) -> Result:
    """Everything that follows from ``scenario``.

    Raises InputError for an unknown model or accelerator, and for a weight format that the
    accelerator has no rate for. What does not fit is no error: it is computed and warned about.
    """
    catalogue = catalogue or default_catalogue()
    architecture = catalogue.architecture(scenario.model)
    accelerator = catalogue.accelerator(scenario.accelerator)
    fidelity = FIDELITIES[scenario.fidelity]
    model = _model_cost(architecture, scenario.weights_dtype, scenario.kv_dtype, fidelity)
    math = math_dtype(model.kernel_dtype, accelerator.peak_flops_per_s, accelerator.name)
    shares = fidelity.efficiencies(scenario.compute_efficiency, scenario.bandwidth_efficiency)
    machine = Machine.of(accelerator, scenario.accelerators, math, *shares)
    request = cost_request(model, machine, scenario)
    capacity = accelerator.memory_bytes * scenario.accelerators
    memory = request_memory(model, capacity, scenario, scenario.accelerators)
    return Result(
        scenario=scenario,
        architecture=architecture,
        accelerator=accelerator,
        model=model,
        machine=machine,
        request=request,
        memory=memory,
        crossover_prompt_tokens=_crossover(model, machine, scenario.cached_tokens),
        half_speed_context_tokens=half_speed_context_tokens(model, scenario.others),
        warnings=warnings_of(scenario, model, accelerator, memory),
        notes=notes_of(scenario, model, accelerator, machine, request, memory),
    )


def as_ideal(result: Result) -> Result:
    """``result`` from exact operation counts with nothing lost on the way, whatever its fidelity."""
    s = msgspec.structs.replace(result.scenario, fidelity=FLOOR.name)
    if s == result.scenario:
        return result
    model = _model_cost(result.architecture, s.weights_dtype, s.kv_dtype, FLOOR)
    compute, bandwidth = FLOOR.efficiencies(s.compute_efficiency, s.bandwidth_efficiency)
    machine = msgspec.structs.replace(
        result.machine, compute_efficiency=compute, bandwidth_efficiency=bandwidth
    )
    ideal: Result = msgspec.structs.replace(
        result,
        scenario=s,
        model=model,
        machine=machine,
        request=cost_request(model, machine, s),
        crossover_prompt_tokens=_crossover(model, machine, s.cached_tokens),
        half_speed_context_tokens=half_speed_context_tokens(model, s.others),
    )
    return ideal


_crossovers: dict[tuple[int, Machine, int], tuple[ModelCost, int | None]] = {}


def _crossover(model: ModelCost, machine: Machine, cached_tokens: int) -> int | None:
    """Found once for all prompts, outputs and others that are tried."""
    key = (id(model), machine, cached_tokens)
    found = _crossovers.get(key)
    if found is None or found[0] is not model:
        if len(_crossovers) > 64:
            _crossovers.clear()
        found = _crossovers[key] = (model, crossover_prompt_tokens(model, machine, cached_tokens))
    return found[1]


def with_names(scenario: Scenario, catalogue: Catalogue) -> Scenario:
    """``scenario`` with model and accelerator under their catalogue names, files under their paths.

    Raises InputError.
    """
    named: Scenario = msgspec.structs.replace(
        scenario,
        model=catalogue.model_reference(scenario.model),
        accelerator=catalogue.accelerator_reference(scenario.accelerator),
    )
    return named


def as_stored(scenario: Scenario, catalogue: Catalogue) -> Scenario:
    """``scenario`` with the weights of a person's own model as its file stores them, where that is quantised.

    What somebody who opens a file and says nothing of formats means. Raises InputError.
    """
    if not catalogue.is_file(scenario.model) or not is_quantised(catalogue.architecture(scenario.model)):
        return scenario
    stored: Scenario = msgspec.structs.replace(scenario, weights_dtype=PUBLISHED)
    return stored


_cache: dict[tuple[int, str, str, str], ModelCost] = {}


def _model_cost(architecture: Architecture, weights: str, kv: str, fidelity: Fidelity) -> ModelCost:
    """The same ModelCost for the same inputs: its sums over layers are then made once."""
    key = (id(architecture), weights, kv, fidelity.name)
    found = _cache.get(key)
    if found is None or found.architecture is not architecture or found.fidelity is not fidelity:
        if len(_cache) > 64:
            _cache.clear()
        found = _cache[key] = ModelCost(architecture, weights, kv, fidelity)
    return found
