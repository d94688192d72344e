"""Nothing on the golden pictures has moved by a pixel, and the comparison would see it."""

import sys
from pathlib import Path

import numpy as np
import pytest
from comparison import pixels, problem
from gallery import GOLDEN, PICTURES, take_all

FAILURES = Path(__file__).parents[2] / ".pictures"

# Windows and macOS draw the same outlines with rasterisers of their own.
only_linux = pytest.mark.skipif(sys.platform != "linux", reason="the golden pictures are taken on Linux")


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    take_all(folder)
    return folder


@only_linux
@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_that_nothing_has_moved(taken, picture):
    new = pixels(taken / f"{picture.name}.png")
    assert new.shape == (picture.height, picture.width, 3)
    assert (said := problem(picture.name, pixels(GOLDEN / f"{picture.name}.png"), new, FAILURES)) is None, (
        said
    )


def test_that_every_golden_picture_has_a_row_of_its_own():
    assert sorted(path.stem for path in GOLDEN.iterdir()) == sorted(picture.name for picture in PICTURES)


@pytest.fixture
def golden():
    return pixels(GOLDEN / "window-request-dark-1280.png")


def test_that_the_same_picture_passes_and_leaves_nothing(golden, tmp_path):
    rounded = np.clip(golden.astype(int) + 3, 0, 255).astype(np.uint8)
    assert problem("same", golden, rounded, tmp_path / "failures") is None
    assert not list(tmp_path.iterdir())


def moved_column(picture):
    """The left edge of the plot, one column of 60 pixels, moved to the right by one."""
    picture[270:330, 320:330] = picture[270:330, 319:329].copy()


def moved_word(picture):
    """The word Prefill in the plot, lowered by a pixel."""
    picture[275:290, 328:365] = picture[274:289, 328:365].copy()


def another_colour(picture):
    """The figure below a headline in the other bound's colour."""
    picture[103:116, 262:350] = picture[103:116, 262:350, ::-1].copy()


def moved_picture(picture):
    picture[:, 1:] = picture[:, :-1].copy()


@pytest.mark.parametrize("change", [moved_column, moved_word, another_colour, moved_picture])
def test_that_what_has_moved_is_seen_named_and_shown(golden, tmp_path, change):
    new = golden.copy()
    change(new)
    said = problem("changed", golden, new, tmp_path / "failures")
    assert said is not None
    assert "make pictures" in said
    shown = pixels(tmp_path / "failures" / "changed-difference.png")
    marked = (shown == (255, 0, 160)).all(axis=2)
    assert marked.sum() > 10
    assert (pixels(tmp_path / "failures" / "changed-new.png") == new).all()


def test_that_another_size_is_seen(golden, tmp_path):
    assert problem("cropped", golden, golden[:-1], tmp_path) is not None
