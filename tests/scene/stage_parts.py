"""The stage of one request by the names of its parts."""

from __future__ import annotations

from types import SimpleNamespace

from pdviz.scene.marks.axis import TimeAxis
from pdviz.scene.marks.geometry import Box
from pdviz.scene.marks.parts import Dimension, Text
from pdviz.scene.request.passes import Passes
from pdviz.scene.request.stage import Header
from pdviz.scene.stage.lanes import Lane
from pdviz.scene.stage.overview import Overview
from pdviz.scene.stage.parts import Block
from pdviz.scene.stage.stage import Stage
from pdviz.scene.stage.ticks import Ticks


class RequestParts:
    """What a stage has drawn of one request."""

    def __init__(self, stage: Stage) -> None:
        (self.header,), (whole,), (passes,) = stage.rows(Header), stage.rows(Overview), stage.rows(Passes)
        self.lanes: tuple[Lane, ...] = stage.rows(Lane)
        (ticks,) = stage.rows(Ticks)
        self.stage, self.passes, self.whole = stage, passes, whole
        self.axis: TimeAxis = stage.axis
        self.overview_axis: TimeAxis = stage.whole
        self.blocks: tuple[Block, ...] = passes.blocks
        self.ghosts: tuple[Block, ...] = passes.ghosts
        self.overview: tuple[Block, ...] = whole.blocks
        self.view: Box = whole.view
        self.dimensions: tuple[Dimension, ...] = (*passes.dimensions, whole.total)
        self.texts: tuple[Text, ...] = passes.names
        self.inside: tuple[Text, ...] = passes.inside
        self.levels, self.ticks = passes.levels, ticks.ticks
        self.is_marked = passes.is_marked
        total = Box(whole.box.x, whole.box.y, whole.box.w, whole.strip.y - whole.box.y)
        measures = Box(passes.box.x, passes.box.y, passes.box.w, passes.ground.y - passes.box.y)
        self.layout = SimpleNamespace(
            header=self.header.box,
            total=total,
            overview=whole.strip,
            wedge=whole.wedge,
            measures=measures,
            plot=passes.ground,
            compute=self.lanes[0].box,
            bandwidth=self.lanes[1].box,
            ticks=ticks.box,
        )
        self.boxes: list[Box] = list(vars(self.layout).values())
