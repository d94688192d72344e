"""The anatomy page: areas are bytes, one scale for a layer, sums that add up, no text over another."""

from __future__ import annotations

import itertools

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scene_world import measure

from pdviz.catalogue import default_catalogue
from pdviz.evaluation import Result, evaluate
from pdviz.explain import KEYS
from pdviz.scenario import Scenario, edit
from pdviz.scene.anatomy.page import (
    FIGURE_KEYS,
    AnatomyPage,
    anatomy_of,
    build_anatomy,
    item_hover,
    layer_hover,
    page_scale,
)
from pdviz.scene.anatomy.side import memory_action
from pdviz.scene.marks.geometry import Box, interface_scale
from pdviz.scene.marks.parts import Text
from pdviz.scene.marks.slab import LEAST_SIDE
from pdviz.units import count

MODELS = tuple(entry.name for entry in default_catalogue().models)
KINDS = (
    "Llama 3.1 8B",
    "Llama 3.1 405B",
    "Mixtral 8x7B",
    "DeepSeek V3",
    "Qwen3-Next 80B-A3B",
    "Nemotron 3 Super 120B-A12B",
    "Mamba 2.8B",
    "Gemma 3 27B",
    "gpt-oss 120B",
    "GPT-2 124M",
    "BLOOM 176B",
)
WINDOWS = ((1024, 640), (1280, 720), (1366, 768), (1600, 900), (1920, 1080), (2560, 1080), (3840, 2160))


def result_of(**fields: object) -> Result:
    return evaluate(msgspec.structs.replace(Scenario(), **fields))


def page_of(
    result: Result, window: tuple[int, int] = (1600, 900), index: int | None = None
) -> tuple[AnatomyPage, float, float, float]:
    """The page in a window of that size, its width, height and scale."""
    s = interface_scale(*window)
    width, height = window[0] - (284 + 42) * s, window[1] - (52 + 66 + 28) * s
    scale = page_scale(width, height, s)
    return build_anatomy(result, index, width, height, scale, measure), width, height, scale


def texts_of(page: AnatomyPage) -> dict[str, tuple[Box, tuple[Text, ...]]]:
    strip_texts = (*page.strip.texts, *(d.text for d in page.strip.dimensions))
    return {
        "strip": (page.strip.card, strip_texts),
        "layer": (page.layer.card, page.layer.texts),
        "table": (page.table.card, page.table.texts),
        "memory": (page.memory.card, page.memory.texts),
    }


@pytest.mark.parametrize("name", MODELS)
def test_that_no_text_lies_over_another_or_leaves_its_card(name: str) -> None:
    for others in (0, 63):
        page, *_ = page_of(result_of(model=name, others=others))
        for where, (card, texts) in texts_of(page).items():
            for text in texts:
                assert card.x <= text.box.x + 0.5, (where, text)
                assert text.box.right <= card.right + 0.5, (where, text)
                assert card.y <= text.box.y, (where, text)
                assert text.box.bottom <= card.bottom + 0.5, (where, text)
            for one, other in itertools.combinations(texts, 2):
                assert not one.box.inset(1).overlaps(other.box.inset(1)), (where, one, other)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", KINDS)
def test_that_the_cards_fill_windows_of_any_size_without_overlap(name: str, window: tuple[int, int]) -> None:
    page, width, height, scale = page_of(result_of(model=name), window)
    boxes = [*page.tiles, *(card for card, _ in texts_of(page).values())]
    for box in boxes:
        assert box.x >= 0
        assert box.y >= 0
        assert box.right <= width + 0.5
        assert box.bottom <= height + 0.5
        assert box.w > 0
        assert box.h > 40 * scale
    for one, other in itertools.combinations(boxes, 2):
        assert not one.inset(0.5).overlaps(other)
    for where, (card, texts) in texts_of(page).items():
        for text in texts:
            assert text.box.bottom <= card.bottom + 0.5, (where, text)
            assert text.box.right <= card.right + 0.5, (where, text)


@pytest.mark.parametrize("weights", ["bf16", "int4", "published"])
@pytest.mark.parametrize("name", KINDS)
def test_that_areas_of_the_strip_are_bytes(name: str, weights: str) -> None:
    result = result_of(model=name, weights_dtype=weights, others=7)
    page, *_ = page_of(result)
    strip = page.strip
    area = strip.area.w * strip.area.h
    stored = result.model.stored_weights_bytes
    drawn = sum(piece.box.w * piece.box.h for piece in strip.pieces)
    assert drawn == pytest.approx(area, rel=1e-6)
    read = sum(piece.box.w * piece.box.h for piece in strip.pieces if piece.is_read)
    expected = stored - sum(
        n * item.stored_bytes * (1 - item.read_share(8)) for n, item in page.parts.items()
    )
    assert read / area == pytest.approx(expected / stored, rel=1e-6)
    for one, other in itertools.pairwise(strip.columns):
        assert one.right == pytest.approx(other.x)
    for column, run in zip(strip.columns, page.parts.runs, strict=True):
        share = column.layer_w * strip.area.h / area
        assert share == pytest.approx(run.stored_bytes / stored, rel=1e-6)


@pytest.mark.parametrize("name", KINDS)
def test_that_every_layer_of_the_strip_can_be_pointed_at(name: str) -> None:
    result = result_of(model=name)
    page, *_ = page_of(result)
    strip = page.strip
    numbers = []
    for column in strip.columns:
        for i in range(column.count):
            x = column.x + (i + 0.5) * column.layer_w
            found = strip.layer_at(x, strip.area.y + 1)
            assert found is not None
            assert found[0] == column.run
            numbers.append(found[1])
            run = page.parts.runs[found[0]]
            assert run.first <= found[1] < run.first + run.count
    assert numbers == list(range(result.architecture.layers))
    assert strip.layer_at(strip.area.x - 5, strip.area.y + 1) is None
    assert strip.layer_at(strip.area.x, strip.card.y) is None
    said = layer_hover(page, result, *(strip.layer_at(strip.columns[0].x + 0.01, strip.area.y + 1) or (0, 0)))
    assert said.title.startswith("Layer 1: ")
    assert ("parameters", count(page.parts.runs[0].parameters)) in said.rows


@pytest.mark.parametrize("name", MODELS)
def test_that_the_matrices_of_a_layer_are_on_one_scale(name: str) -> None:
    result = result_of(model=name)
    for index in range(min(len(anatomy_of(result.model).runs), 3)):
        page, _, _, scale = page_of(result, index=index)
        k = page.layer.plan.k
        matrices = [item for item in page.parts.runs[index].items if item.inputs]
        assert [one.item for one in page.layer.weights] == _in_drawing_order(matrices)
        for one in page.layer.weights:
            slab, item = one.slab, one.item
            assert slab.box.w == pytest.approx(max(item.outputs * k, LEAST_SIDE * scale))
            assert slab.box.h == pytest.approx(max(item.inputs * k, LEAST_SIDE * scale))
            assert page.layer.card.contains(slab.box.x, slab.box.y)
            assert slab.box.bottom <= page.layer.card.bottom
            assert all(slab.box.x < x < slab.box.right + 1 for x in one.splits)


def _in_drawing_order(items: list) -> list:
    """Routers with the experts, else as they come."""
    parts = list(dict.fromkeys("experts" if i.part == "router" else i.part for i in items))
    return [i for part in parts for i in items if part == ("experts" if i.part == "router" else i.part)]


@pytest.mark.parametrize(("others", "read"), [(0, 8), (63, 222), (1023, 256)])
def test_that_the_grid_shows_how_many_experts_a_decode_pass_reads(others: int, read: int) -> None:
    page, *_ = page_of(result_of(model="DeepSeek V3", others=others))
    assert page.layer.grid is not None
    assert len(page.layer.grid.cells) == 256
    assert page.layer.grid.read == read


def test_that_fused_matrices_show_their_parts_and_a_matrix_says_what_it_is() -> None:
    result = result_of()
    page, *_ = page_of(result)
    qkv, output, gate_up, down = page.layer.weights
    k = page.layer.plan.k
    assert [x - qkv.slab.box.x for x in qkv.splits] == pytest.approx([4096 * k, 5120 * k])
    assert len(gate_up.splits) == 1
    assert output.splits == down.splits == ()
    box = down.slab.box
    said = item_hover(page, result, box.x + box.w / 2, box.y + box.h / 2)
    assert said is not None
    assert said.title == "Down"
    assert dict(said.rows)["shape"] == "14,336 × 4,096"
    assert dict(said.rows)["in all layers like this"] == "1,879,048,192 parameters"
    assert item_hover(page, result, page.layer.card.x + 1, page.layer.card.y + 1) is None


def test_that_a_window_ends_what_a_layer_keeps() -> None:
    page, *_ = page_of(result_of(model="gpt-oss 120B", prompt_tokens=897))
    heights = sorted({round(kept.box.h, 6) for kept in page.strip.kept})
    assert len(heights) == 2
    assert heights[0] / heights[1] == pytest.approx(128 / 1024, rel=1e-4)


@pytest.mark.parametrize("name", KINDS)
def test_that_the_table_is_exact_and_every_line_of_the_page_can_be_explained(name: str) -> None:
    result = result_of(model=name)
    page, *_ = page_of(result)
    said = {text.text for text in page.table.texts}
    assert count(result.architecture.parameters) in said
    for parameters, _ in page.parts.totals().values():
        assert count(parameters) in said
    assert {row.key for row in page.rows} <= set(KEYS)
    assert set(FIGURE_KEYS) <= set(KEYS)
    for row in page.rows:
        middle = row.box.x + row.box.w / 2, row.box.y + row.box.h / 2
        assert page.row_at(*middle) is row


def test_that_memory_is_that_of_one_accelerator_and_what_is_left_is_in_tokens_and_sequences() -> None:
    result = result_of(model="Llama 3.1 70B", accelerators=4)
    page, *_ = page_of(result)
    said = [text.text for text in page.memory.texts]
    for words in ("Memory of each of 4", "H100 SXM, 85.5 GB", "35.3 GB", "8.55 GB", "41.6 GB"):
        assert words in said, words
    m = result.memory
    assert f"{count(m.free_tokens or 0)} tokens" in said
    assert f"{count(m.free_sequences or 0)} more sequences" in said
    assert f"{count(m.largest_batch or 0)} sequences" in said


@settings(max_examples=40)
@given(
    st.sampled_from(KINDS),
    st.sampled_from(["H100 SXM", "L4", "MI300X", "T4"]),
    st.integers(0, 2000),
    st.integers(1, 200_000),
)
def test_that_the_button_makes_it_fit_or_fills_what_is_left(
    name: str, accelerator: str, others: int, prompt: int
) -> None:
    result = result_of(
        model=name, accelerator=accelerator, others=others, prompt_tokens=prompt, weights_dtype="fp16"
    )
    action = memory_action(result)
    if action is None:
        m, fewest = result.memory, result.fewest_accelerators
        assert fewest is None or fewest <= m.accelerators or m.fits
        return
    after = result_of(**{**_fields(result.scenario), **dict(action.edits)})
    assert after.memory.fits
    if result.memory.fits:
        assert after.memory.largest_batch == after.memory.sequences or after.scenario.others == 65_535
        more = edit(after.scenario, others=min(after.scenario.others + 1, 65_535))
        assert not result_of(**_fields(more)).memory.fits or more == after.scenario


def _fields(scenario: Scenario) -> dict[str, object]:
    return {name: getattr(scenario, name) for name in Scenario.__struct_fields__}


@pytest.mark.parametrize(("prompt", "others"), [(1, 0), (512, 0), (32_768, 20), (512, 4_000)])
def test_that_the_kv_cache_is_drawn_as_much_larger_than_the_weights_as_it_says(
    prompt: int, others: int
) -> None:
    result = result_of(prompt_tokens=prompt, others=others)
    page, *_ = page_of(result)
    strip = page.strip
    drawn = sum(kept.box.w * kept.box.h for kept in strip.kept)
    weights = strip.area.w * strip.area.h
    expected = result.memory.kv_bytes / result.model.stored_weights_bytes * strip.magnification
    assert drawn / weights == pytest.approx(expected, rel=1e-6)
    factor = count(max(strip.magnification, 1 / strip.magnification))
    said = [text.text for text in strip.texts]
    assert any(words.startswith("drawn ") and (factor in words or factor == "1") for words in said)
    assert all(
        strip.lane.y - 0.5 <= kept.box.y and kept.box.bottom <= strip.lane.bottom for kept in strip.kept
    )


def test_that_the_speed_of_light_leaves_the_embedding_unread() -> None:
    for fidelity, is_read in (("textbook", True), ("ideal", False)):
        page, *_ = page_of(result_of(fidelity=fidelity))
        assert page.strip.pieces[0].is_read == is_read
