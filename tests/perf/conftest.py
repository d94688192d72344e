"""Benchmarks: run by `make bench`, alone, and never part of the test suite."""

from __future__ import annotations

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
