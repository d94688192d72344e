"""What comes to the running server: a long prompt at the playhead, a file of requests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from pdviz.scenario import Scenario
from pdviz.widgets.shell.window import MainWindow


def served(window: MainWindow, qtbot: QtBot) -> None:
    """Waits until the server that is asked for is shown."""
    view = window.views["server"]
    qtbot.waitUntil(lambda: view._shown is not None and view._asked is window.store.result, timeout=20_000)
    qtbot.waitUntil(lambda: not view._worker.is_busy, timeout=20_000)


def test_that_l_drops_a_long_prompt_at_the_playhead_and_undo_takes_it_back(
    open_window: Callable[..., MainWindow], qtbot: QtBot
) -> None:
    window = open_window(Scenario(workload="0:512>100 0.05:512>100", against="none"))
    window.show_view("server")
    served(window, qtbot)
    window.player.seek(0.2)
    qtbot.keyClick(window.views["server"].stage, Qt.Key.Key_L)
    window.store.flush()
    assert window.store.scenario.workload == "0:512>100 0.05:512>100 0.2:16384>20"
    served(window, qtbot)
    assert window.player.time_s == pytest.approx(0.2)
    (course,) = window.views["server"]._shown.courses
    assert len(course) == 3
    window.store.undo()
    window.store.flush()
    served(window, qtbot)
    assert len(window.views["server"]._shown.courses[0]) == 2


def test_that_l_does_nothing_where_no_server_runs(open_window: Callable[..., MainWindow]) -> None:
    window = open_window()
    window.actions_by_id["server.long"].trigger()
    window.store.flush()
    assert window.store.scenario == Scenario()
    assert not window.actions_by_id["server.long"].isEnabled()


def test_that_a_dropped_trace_is_served_and_said_and_undo_takes_it_back(
    open_window: Callable[..., MainWindow], qtbot: QtBot, tmp_path: Path
) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(
        "TIMESTAMP,ContextTokens,GeneratedTokens\n"
        "2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,109\nx,1,1\n",
        encoding="utf-8",
    )
    window = open_window()
    before = window.store.scenario
    window.sharing.open_file(str(path))
    qtbot.waitUntil(lambda: not window.sharing.is_reading, timeout=20_000)
    assert window.view == "server"
    assert window.store.scenario.workload == str(path)
    (said,) = window.toast.sentences
    assert said.startswith("trace.csv: opened as the server's workload: Azure trace,")
    assert "2 requests, 1 row left out" in said
    window.store.flush()
    served(window, qtbot)
    assert len(window.views["server"]._shown.courses[0]) == 2
    window.store.undo()
    assert window.store.scenario == before
