"""What can limit a pass, each with its words. The order decides where two take equally long."""

from __future__ import annotations

from enum import Enum


class Bound(str, Enum):
    """``name`` in data is the value; ``words`` are for sentences, ``work`` is what takes the time.

    ``short`` names it where room is short; a theme has colours for each value.
    """

    words: str
    short: str
    work: str
    doing: str

    COMPUTE = "compute", "compute", "compute", "arithmetic", "multiplying"
    BANDWIDTH = "bandwidth", "memory bandwidth", "bandwidth", "memory traffic", "reading"
    LINK = "link", "the link between accelerators", "link", "communication", "exchanging"
    OVERHEAD = "overhead", "fixed overhead", "overhead", "launches and host work", "launching"

    def __new__(cls, value: str, words: str, short: str, work: str, doing: str) -> Bound:
        made = str.__new__(cls, value)
        made._value_ = value
        made.words, made.short, made.work, made.doing = words, short, work, doing
        return made

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, spec: str) -> str:
        return str(self.value).__format__(spec)

    @property
    def label(self) -> str:
        """ "compute-bound"."""
        return f"{self.value}-bound"


COMPUTE, BANDWIDTH, LINK, OVERHEAD = Bound.COMPUTE, Bound.BANDWIDTH, Bound.LINK, Bound.OVERHEAD
