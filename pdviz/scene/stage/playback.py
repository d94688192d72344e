"""The clock of playback: model time from wall time by arithmetic. No timer, no ticks to count."""

from __future__ import annotations

import msgspec

RATES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class Playback(msgspec.Struct, frozen=True):
    """At wall time ``anchor_wall_s`` the playhead stood at ``anchor_s`` of ``whole_s`` model seconds.

    ``rate`` is model seconds for each wall second: 0.1 plays ten times slowed.
    """

    whole_s: float
    anchor_s: float = 0.0
    anchor_wall_s: float = 0.0
    rate: float = 0.1
    is_playing: bool = False
    loops: bool = True

    def at(self, wall_s: float) -> float:
        """Model time at ``wall_s``: wraps round where it loops, else stays at the end."""
        if not self.is_playing:
            return self.anchor_s
        time_s = self.anchor_s + max(wall_s - self.anchor_wall_s, 0.0) * self.rate
        if time_s < self.whole_s:
            return time_s
        return time_s % self.whole_s if self.loops else self.whole_s

    def has_ended(self, wall_s: float) -> bool:
        """True where playing has reached the end and does not loop."""
        return self.is_playing and not self.loops and self.at(wall_s) >= self.whole_s

    def played(self, wall_s: float, is_playing: bool) -> Playback:
        """Started or stopped; starting at the end starts over."""
        time_s = self.at(wall_s)
        if is_playing and time_s >= self.whole_s:
            time_s = 0.0
        return self._with(wall_s, time_s, is_playing=is_playing)

    def moved(self, wall_s: float, time_s: float) -> Playback:
        """The playhead put at ``time_s``."""
        return self._with(wall_s, min(max(time_s, 0.0), self.whole_s))

    def with_rate(self, wall_s: float, rate: float) -> Playback:
        """Another speed, without a jump."""
        return self._with(wall_s, self.at(wall_s), rate=rate)

    def with_loop(self, wall_s: float, loops: bool) -> Playback:
        return self._with(wall_s, self.at(wall_s), loops=loops)

    def with_whole(self, wall_s: float, whole_s: float) -> Playback:
        """Another request: the playhead keeps its relative place."""
        if whole_s == self.whole_s:
            return self
        share = self.at(wall_s) / self.whole_s
        return self._with(wall_s, min(share * whole_s, whole_s), whole_s=whole_s)

    def faster(self, wall_s: float, up: bool) -> Playback:
        """The next rate of the scale, up or down."""
        near = [r for r in RATES if (r > self.rate * 1.001 if up else r < self.rate * 0.999)]
        return self.with_rate(wall_s, (min(near) if up else max(near)) if near else self.rate)

    def _with(self, wall_s: float, time_s: float, **changes: object) -> Playback:
        changed: Playback = msgspec.structs.replace(self, anchor_s=time_s, anchor_wall_s=wall_s, **changes)
        return changed
