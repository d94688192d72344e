"""What an engine is given and what it writes down."""

from __future__ import annotations

import math
from array import array
from struct import Struct

FOREVER = math.inf

RECORD = Struct("5d2i")
RECORD_COUNTS = Struct("2i")  # its last two
RECORD_FIELDS = ("start_s", "compute_s", "memory_s", "compute_step_s", "memory_step_s", "steps", "pieces")
ROOM = bytes(RECORD.size << 14)
"""By how much a log grows at a time."""


class Queue:
    """Requests in the order in which they reach an engine, and what is still to do for each.

    ``ready_s`` ends with a time that is always in the future: from then on nothing is known yet.
    ``prompt`` (what a prefill computes), ``left`` (tokens still to come) and ``cached`` change when a
    request is preempted; they belong to all engines together.
    """

    def __init__(self, prompt: list[int], left: list[int], cached: list[int] | None) -> None:
        self.ready_s: list[float] = [FOREVER]
        self.requests: list[int] = []
        self.prompt, self.left, self.cached = prompt, left, cached


class Log:
    """What an engine did. A record is one pass with prompts, or a run of decode passes.

    Of each record: when it starts, seconds of arithmetic and of memory traffic of its first pass and
    their growth from pass to pass, its decode passes (0: prompts only) and the pieces that begin with
    it. Where a pass mixes, the growth is what it would take with its decode slices alone. A piece is a
    request and its new tokens of prompt (0: it joins the batch). ``preempted`` holds (record before
    which, request, tokens that came since it was admitted).
    """

    def __init__(self) -> None:
        self.records = bytearray()
        self.count = 0
        self.piece_request, self.piece_new = array("i"), array("i")
        self.preempted: list[tuple[int, int, int]] = []
        self.end_s = 0.0
