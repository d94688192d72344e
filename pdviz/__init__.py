"""pdviz: see why serving a large language model has two opposite phases.

``from pdviz import Scenario, evaluate`` works without Qt; nothing is imported until it is asked for.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["InputError", "Result", "Scenario", "evaluate"]

if TYPE_CHECKING:
    from pdviz.errors import InputError
    from pdviz.evaluation import Result, evaluate
    from pdviz.scenario import Scenario

_HOMES = {
    "InputError": "pdviz.errors",
    "Result": "pdviz.evaluation",
    "Scenario": "pdviz.scenario",
    "evaluate": "pdviz.evaluation",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
