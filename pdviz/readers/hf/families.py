"""The table of families: what their Hugging Face classes build that the config.json does not say.

Class defaults are those of transformers 5.24 and, for families that bring their own code, of the
configuration class beside the published weights. Counts were checked against published totals and
against the models that transformers 5.24 builds.
"""

from __future__ import annotations

from pdviz.readers.hf.families_dense import DENSE
from pdviz.readers.hf.families_gpt import GPT
from pdviz.readers.hf.families_hybrid import HYBRID
from pdviz.readers.hf.families_mixture import MIXTURE
from pdviz.readers.hf.traits import Family, Gguf

_ROWS = {**DENSE, **GPT, **MIXTURE, **HYBRID}

#: ``model_type`` -> the family.
FAMILIES: dict[str, Family] = {
    kind: family for name, family in _ROWS.items() for kind in (name, *family.also)
}

#: ``general.architecture`` of a GGUF file -> (``model_type``, what its keys stand for).
GGUF: dict[str, tuple[str, Gguf]] = {
    row.name: (kind, row) for kind, family in _ROWS.items() for row in family.gguf
}
