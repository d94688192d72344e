"""A server's run as it is drawn: what freezes is seen, and nothing else is."""

from __future__ import annotations

import pytest
from server_world import lesson, stage_of

from pdviz.scene.server.lanes import Lanes
from pdviz.scene.server.streams import Streams


def test_that_a_long_prompt_freezes_six_streams_above_and_none_below() -> None:
    above, below = (row.content for row in stage_of(lesson()).rows(Streams))
    assert isinstance(above, Lanes)
    assert isinstance(below, Lanes)
    axis = stage_of(lesson()).axis
    assert len(above.stalls) == 6
    for stall in above.stalls:
        assert stall.box.w / axis.px_per_s == pytest.approx(0.651078, abs=1e-6)
    assert {stall.label.text for stall in above.stalls if stall.label} == {"stalled 651 ms"}
    assert not below.stalls
