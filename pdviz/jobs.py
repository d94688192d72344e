"""Work that may take longer than a frame: how far it is, and whether somebody still waits for it.

Such work is a function of frozen inputs and one ``Job``. It calls ``job.report`` now and then; who
runs it, and where, is not its concern.
"""

from __future__ import annotations


class Stopped(Exception):  # noqa: N818 (no error: nobody waits any more)
    """Raised within a function whose result nobody waits for any more."""


class Job:
    """``progress`` is (share from 0 to 1, what is being done) as last reported."""

    def __init__(self) -> None:
        self.progress: tuple[float, str] = (0.0, "")
        self.is_stopped = False

    def report(self, share: float, words: str) -> None:
        """Says how far the work is. Raises Stopped where it is to end."""
        if self.is_stopped:
            raise Stopped
        self.progress = (min(max(share, 0.0), 1.0), words)

    def stop(self) -> None:
        """Asks the work to end at its next report."""
        self.is_stopped = True
