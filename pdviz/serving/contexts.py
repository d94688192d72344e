"""What decoding sequences add to a pass with their contexts, where that bends: windows, chunks, states."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from pdviz.serving.costs import PassCosts, Share

FAR = 1 << 62


class Contexts:
    """Sums over the sequences of a batch: FLOPs and bytes that their contexts add to the next pass.

    ``flops_step`` and ``bytes_step`` are what each further pass adds, until pass number ``bend``. The
    sums stay exact: they are whole numbers of FLOPs and bytes. Passes are counted by a clock.
    """

    def __init__(self, costs: PassCosts) -> None:
        self._costs = costs
        self._shares: dict[
            int, tuple[Share, int, int]
        ] = {}  # request: share, since which pass, at what context
        self._bends: list[tuple[int, int]] = []  # heap of (pass, request)
        self.bend = FAR
        self.flops = self.flops_step = self.bytes = self.bytes_step = 0.0

    def join(self, request: int, clock: int, context: int) -> None:
        """``request`` decodes from now on, next at ``context`` tokens."""
        share = self._costs.share(context)
        self._shares[request] = share, clock, context
        self.flops += share.flops
        self.bytes += share.bytes
        self.flops_step += share.flops_step
        self.bytes_step += share.bytes_step
        if share.until is not None:
            heappush(self._bends, (clock + share.until - context, request))
            self.bend = self._bends[0][0]

    def _take(self, request: int, clock: int) -> int:
        share, since, context = self._shares.pop(request)
        self.flops -= share.flops + share.flops_step * (clock - since)
        self.bytes -= share.bytes + share.bytes_step * (clock - since)
        self.flops_step -= share.flops_step
        self.bytes_step -= share.bytes_step
        return context + clock - since

    def leave(self, request: int, clock: int) -> None:
        """``request`` decodes no longer."""
        share, since, context = self._shares[request]
        if share.until is not None:
            self._bends.remove((since + share.until - context, request))
            heapify(self._bends)
            self.bend = self._bends[0][0] if self._bends else FAR
        self._take(request, clock)

    def advance(self, passes: int, clock: int) -> None:
        """``passes`` passes were done, none beyond the bend; the clock is now ``clock``."""
        self.flops += passes * self.flops_step
        self.bytes += passes * self.bytes_step
        while self.bend <= clock:
            _, request = heappop(self._bends)
            self.bend = self._bends[0][0] if self._bends else FAR
            self.join(request, clock, self._take(request, clock))

    def lengths(self, clock: int) -> list[int]:
        """The context of each sequence in the next pass."""
        return [context + clock - since for _, since, context in self._shares.values()]

    def clear(self) -> None:
        """Nobody decodes."""
        self.__init__(self._costs)  # type: ignore[misc]
