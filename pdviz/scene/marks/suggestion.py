"""An edit of the scenario that a picture offers."""

from __future__ import annotations

import msgspec

from pdviz.scenario import Scenario, edit


class Suggestion(msgspec.Struct, frozen=True):
    """A line of text and the fields that it sets; ``preset`` is the title of that which it is, if any."""

    text: str
    edits: tuple[tuple[str, int | str | None], ...]
    preset: str | None = None

    def apply(self, scenario: Scenario) -> Scenario:
        """``scenario`` with the fields set. Raises InputError where they cannot be."""
        return edit(scenario, **dict(self.edits))
