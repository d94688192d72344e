"""Shapes: every weight counted once, one scale for a page, honest where it ends, no text over another."""

from __future__ import annotations

import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scene_world import ACCELERATORS, measure, result_of, scenarios

from pdviz.catalogue import default_catalogue
from pdviz.costmodel.bounds import COMPUTE
from pdviz.costmodel.dtypes import DTYPES
from pdviz.costmodel.fidelities import FIDELITIES, TEXTBOOK
from pdviz.evaluation import Result
from pdviz.scenario import Scenario
from pdviz.scene.marks.geometry import Box, interface_scale
from pdviz.scene.marks.matrices import experts_hit, matrix_rows, weight_bytes
from pdviz.scene.marks.parts import MeasureText, Text
from pdviz.scene.marks.slab import LEAST_SIDE, Slab
from pdviz.scene.marks.theme import THEMES, Theme, contrast
from pdviz.scene.shapes.intensity import spread
from pdviz.scene.shapes.page import (
    EXAMPLE_SEQUENCES,
    SWEEP_S,
    Shapes,
    build_shapes,
    default_matrix,
    matmul_cost,
    page_scale,
    sweep_share,
    weight_matrices,
)
from pdviz.scene.shapes.panel import SmallShapes, build_shapes_panel, small_case

MODELS = tuple(entry.name for entry in default_catalogue().models)
KINDS = (  # square, wide, flat, thin and many matrices, of small models and large ones
    "Llama 3.1 8B",
    "Mixtral 8x7B",
    "DeepSeek V3",
    "Qwen3-Next 80B-A3B",
    "Mamba 2.8B",
    "Gemma 3 27B",
    "SmolLM2 135M",
    "BLOOM 176B",
)
WINDOWS = ((1024, 640), (1280, 720), (1366, 768), (1600, 900), (1920, 1080), (2560, 1080), (3840, 2160))


def view_of(window: tuple[int, int], text_size: float = 1.0) -> tuple[float, float, float]:
    """Scale, width and height of the view in a window of that size."""
    s = interface_scale(*window, text_size)
    width, height = window[0] - (284 + 42) * s, window[1] - (52 + 66 + 28) * s
    return page_scale(width, height, s), width, height


def letters(width: float) -> MeasureText:
    """A type whose letters are all ``width`` type sizes wide."""
    return lambda text, size, bold: width * size * len(text)


class Page(msgspec.Struct, frozen=True):
    """A page, and what it was made from."""

    result: Result
    width: float
    height: float
    scale: float
    shapes: Shapes

    def __repr__(self) -> str:
        return (
            f"page({self.result.scenario}, {self.shapes.index}, {self.width} x {self.height}, {self.scale})"
        )


def page(
    scenario: Scenario,
    index: int | None = None,
    window: tuple[int, int] = (1600, 900),
    measure: MeasureText = measure,
    text_size: float = 1.0,
) -> Page:
    result = result_of(scenario)
    scale, width, height = view_of(window, text_size)
    chosen = default_matrix(weight_matrices(result.architecture)) if index is None else index
    return Page(result, width, height, scale, build_shapes(result, chosen, width, height, scale, measure))


TYPES = st.sampled_from([letters(width) for width in (0.45, 0.5, 0.55)])


@st.composite
def pages(draw: st.DrawFn) -> Page:
    scenario = draw(scenarios())
    fidelity = draw(st.sampled_from(("textbook", "ideal")))
    weights = draw(st.sampled_from(("bf16", "int4", "fp32")))
    if weights == "fp32":
        scenario = msgspec.structs.replace(scenario, accelerator="H100 SXM")
    model = draw(st.sampled_from(MODELS))
    scenario = msgspec.structs.replace(scenario, model=model, weights_dtype=weights, fidelity=fidelity)
    matrices = weight_matrices(result_of(scenario).architecture)
    return page(
        scenario, draw(st.integers(0, len(matrices) - 1)), draw(st.sampled_from(WINDOWS)), draw(TYPES)
    )


# --- the matrices ----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_that_the_matrices_of_a_model_are_all_its_weights_but_a_table_only_looked_up(
    model: str,
) -> None:
    architecture = default_catalogue().architecture(model)
    matrices = weight_matrices(architecture)
    routed = sum(n * b.total * sum(m.weights for m in b.expert) for n, b in architecture.experts())
    head = (architecture.head or architecture.embedding).weights
    assert sum(m.copies * m.weights for m in matrices) == architecture.dense_weights + routed + head


@pytest.mark.parametrize("model", MODELS)
def test_that_each_matrix_of_a_model_has_a_name_of_its_own(model: str) -> None:
    names = [m.name for m in weight_matrices(default_catalogue().architecture(model))]
    assert len(set(names)) == len(names)
    assert names[-1].startswith("Head")


@pytest.mark.parametrize("model", MODELS)
def test_that_shares_are_of_all_parameters(model: str) -> None:
    architecture = default_catalogue().architecture(model)
    shares = sum(m.share for m in weight_matrices(architecture))
    looked_up = 0 if architecture.tied else architecture.embedding.weights
    vectors = architecture.vector_parameters + sum(
        n * b.total * sum(m.parameters - m.weights for m in b.expert) for n, b in architecture.experts()
    )
    assert shares == pytest.approx(1 - (looked_up + vectors) / architecture.parameters)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("weights", ["bf16", "int4"])
def test_that_the_bytes_of_the_matrices_are_those_of_the_cost_model(model: str, weights: str) -> None:
    result = result_of(Scenario(model=model, weights_dtype=weights))
    architecture = result.architecture
    dtype = DTYPES[weights]
    wide = 2.0 if dtype.is_quantised else dtype.bytes_per_weight
    others = architecture.vector_parameters + (0 if architecture.tied else architecture.embedding.weights)
    others += sum(
        n * b.total * sum(m.parameters - m.weights for m in b.expert) for n, b in architecture.experts()
    )
    total = sum(m.copies * weight_bytes(m, result) for m in weight_matrices(architecture))
    assert total + others * wide == pytest.approx(result.model.stored_weights_bytes)


def test_that_the_first_shown_matrix_of_llama_is_the_textbook_square() -> None:
    matrices = weight_matrices(default_catalogue().architecture("Llama 3.1 8B"))
    square = matrices[default_matrix(matrices)]
    assert (square.name, square.inputs, square.outputs) == ("Attention output", 4096, 4096)
    assert [m.name for m in matrices] == [
        "Queries, keys, values",
        "Attention output",
        "Gate and up",
        "Down",
        "Head",
    ]


def test_that_a_tied_head_is_the_embedding_table_read_the_other_way() -> None:
    head = weight_matrices(default_catalogue().architecture("GPT-2 124M"))[-1]
    assert (head.inputs, head.outputs, head.is_tied) == (768, 50257, True)


# --- what a multiplication costs -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "flops", "moved", "intensity", "bound"),
    [
        (512, 17_179_869_184, 41_943_040, 409.6, "compute"),
        (1, 33_554_432, 33_570_816, 0.99951, "bandwidth"),
        (64, 2_147_483_648, 34_603_008, 62.061, "bandwidth"),
    ],
)
def test_that_the_textbook_square_costs_what_it_does_by_hand(
    rows: int, flops: float, moved: float, intensity: float, bound: str
) -> None:
    result = result_of(Scenario())
    matrices = weight_matrices(result.architecture)
    cost = matmul_cost(matrices[default_matrix(matrices)], rows, result)
    assert (cost.flops, cost.bytes, cost.bound) == (flops, moved, bound)
    assert cost.intensity_flops_per_byte == pytest.approx(intensity, rel=1e-4)
    assert cost.compute_s == pytest.approx(flops / (0.55 * 989e12))
    assert cost.bandwidth_s == pytest.approx(moved / (0.75 * 3.35e12))
    assert cost.time_s == max(cost.compute_s, cost.bandwidth_s)


@given(pages())
def test_that_no_multiplication_is_faster_than_its_arithmetic_or_its_bytes(one: Page) -> None:
    machine = one.result.machine
    for row in one.shapes.rows:
        cost = row.cost
        assert cost.time_s >= cost.flops / machine.peak_flops_per_s * (1 - 1e-9)
        assert cost.time_s >= cost.bytes / machine.bandwidth_bytes_per_s * (1 - 1e-9)
        turn = machine.achievable_ridge_flops_per_byte
        if abs(cost.intensity_flops_per_byte / turn - 1) > 1e-9:
            assert (cost.bound == COMPUTE) == (cost.intensity_flops_per_byte > turn)


@given(st.sampled_from(MODELS), st.integers(1, 2**20))
def test_that_experts_share_the_tokens_among_those_that_are_hit(model: str, tokens: int) -> None:
    for matrix in weight_matrices(default_catalogue().architecture(model)):
        rows = matrix_rows(matrix, tokens, 1, TEXTBOOK)
        if matrix.experts:
            assert rows * experts_hit(matrix, tokens) == pytest.approx(tokens * matrix.active)
            assert rows * (1 + 1e-9) >= 1
        else:
            assert rows == tokens


def test_that_an_expert_stays_limited_by_bandwidth_where_the_prompt_spreads_over_all() -> None:
    matrices = weight_matrices(result_of(Scenario(model="DeepSeek V3")).architecture)
    index = [m.name for m in matrices].index("One expert: gate and up")
    prefill, decode, batch = page(Scenario(model="DeepSeek V3"), index).shapes.rows
    assert (prefill.rows, prefill.cost.bound) == (pytest.approx(16, rel=1e-3), "bandwidth")
    assert decode.rows == pytest.approx(1)
    assert batch.rows == pytest.approx(64 * 8 / 222.4, rel=1e-2)


def test_that_only_the_last_position_meets_the_head_where_operations_are_exact() -> None:
    for fidelity, rows in (("textbook", 512), ("ideal", 1)):
        result = result_of(Scenario(fidelity=fidelity))
        head = weight_matrices(result.architecture)[-1]
        assert matrix_rows(head, 512, 1, FIDELITIES[fidelity]) == rows
        assert matrix_rows(head, 64, 64, FIDELITIES[fidelity]) == 64


# --- to scale --------------------------------------------------------------------------------------


def slabs(shapes: Shapes) -> list[Slab]:
    return [slab for row in shapes.rows for slab in (row.activations, row.weights, row.outputs)]


@given(pages())
def test_that_all_rectangles_of_a_page_have_one_scale(one: Page) -> None:
    k = one.shapes.px_per_element
    for slab in slabs(one.shapes):
        assert slab.true_w == pytest.approx(slab.columns * k)
        assert slab.true_h == pytest.approx(slab.rows * k)


@given(pages())
def test_that_a_side_is_to_scale_or_too_short_to_be_seen_or_cut(one: Page) -> None:
    least = LEAST_SIDE * one.scale
    for slab in slabs(one.shapes):
        for drawn, true, cut in (
            (slab.box.w, slab.true_w, slab.cut_right),
            (slab.box.h, slab.true_h, slab.cut_bottom),
        ):
            assert drawn >= least * (1 - 1e-9)
            if true < least * (1 - 1e-9):
                assert drawn == pytest.approx(least)
            elif cut:
                assert drawn < true
            else:
                assert drawn == pytest.approx(true)


@given(pages())
def test_that_the_factors_of_a_product_fit_each_other(one: Page) -> None:
    for row in one.shapes.rows:
        activations, weights, outputs = row.activations, row.weights, row.outputs
        assert activations.columns == weights.rows == one.shapes.matrix.inputs
        assert weights.columns == outputs.columns == one.shapes.matrix.outputs
        assert activations.rows == outputs.rows == row.rows
        assert activations.box.w == pytest.approx(weights.box.h)  # both stand for the inputs
        assert activations.box.h == pytest.approx(outputs.box.h)
        assert weights.box.w == pytest.approx(outputs.box.w)


def check_said(shapes: Shapes) -> None:
    for row in shapes.rows:
        said = " ".join(text.text for text in row.texts).replace("\u00a0", " ")
        wrong = [row.activations.box.h != pytest.approx(row.activations.true_h)]
        wrong.append(row.weights.box.w != pytest.approx(row.weights.true_w))
        assert said.count("would be") == sum(wrong), (said, wrong)


@given(pages())
def test_that_what_is_not_to_scale_is_said_in_its_card(one: Page) -> None:
    check_said(one.shapes)


def test_that_large_type_in_a_small_window_is_held_to_what_can_be_read() -> None:
    assert page_scale(1274, 758, 1.0) == 1.0
    assert page_scale(640, 758, 1.0) == 0.8
    assert page_scale(1274, 448, 1.4) == pytest.approx(0.8)


def test_that_the_weights_stay_as_they_are_while_the_prompt_grows() -> None:
    boxes = {page(Scenario(prompt_tokens=n)).shapes.rows[1].weights.box.w for n in (1, 512, 100_000)}
    assert len(boxes) == 1


def test_that_a_long_prompt_is_cut_and_a_single_row_is_thicker_than_it_is() -> None:
    prefill, decode, _ = page(Scenario(prompt_tokens=32_768)).shapes.rows
    assert prefill.activations.cut_bottom
    assert any(text.text.startswith("cut: 32,768") for text in prefill.texts)
    assert decode.activations.box.h == LEAST_SIDE
    assert any(text.text.startswith("not to scale: 1 row") for text in decode.texts)


def test_that_the_scale_bar_is_to_scale() -> None:
    shapes = page(Scenario()).shapes
    x0, x1, _ = shapes.column.scale_bar
    label = next(text.text for text in shapes.column.texts if text.text.endswith("elements"))
    assert x1 - x0 == pytest.approx(int(label.split()[0].replace(",", "")) * shapes.px_per_element)


# --- the sweep -------------------------------------------------------------------------------------


@given(pages(), st.floats(0, 10))
def test_that_sweeps_are_to_each_other_as_the_times_of_the_multiplications(one: Page, time_s: float) -> None:
    rows = one.shapes.rows
    into_s = time_s % rows[0].round_s
    for row in rows:
        share = sweep_share(row, time_s)
        assert row.round_s == rows[0].round_s
        assert share == pytest.approx(min(into_s / (row.cost.time_s * one.shapes.slowdown), 1.0))


@given(pages())
def test_that_every_sweep_ends_before_the_next_round_and_rounds_are_seen_in_a_request(one: Page) -> None:
    shapes = one.shapes
    assert all(sweep_share(row, row.round_s * 0.999) == 1.0 for row in shapes.rows)
    assert all(sweep_share(row, 0.0) == 0.0 for row in shapes.rows)
    if shapes.slowdown > 1:
        assert shapes.rows[0].round_s <= min(SWEEP_S, one.result.e2e_s) * (1 + 1e-9)


def test_that_the_slowness_of_the_sweep_is_written_on_the_page() -> None:
    shapes = page(Scenario()).shapes
    words = " ".join(text.text for text in shapes.column.texts)
    assert f"{shapes.slowdown:,.0f}\u00a0× slower than the playhead" in words


# --- the batch, the bar, the list ------------------------------------------------------------------


def test_that_a_batch_that_nobody_asked_for_is_called_an_example() -> None:
    alone, others = page(Scenario()).shapes.rows[2], page(Scenario(others=31)).shapes.rows[2]
    assert alone.rows == EXAMPLE_SEQUENCES
    assert "example" in alone.title
    assert others.rows == 32
    assert "example" not in others.title


@given(pages())
def test_that_dots_stand_on_the_side_of_their_limit(one: Page) -> None:
    bar = one.shapes.bar
    assert bar.track.x <= bar.turn_x <= bar.ridge_x <= bar.track.right or bar.ridge_x <= bar.turn_x
    for dot in bar.dots:
        assert bar.track.x <= dot.x <= bar.track.right
        assert dot.x == pytest.approx(bar.to_px(dot.intensity))
        assert dot.x >= bar.turn_x - 1e-6 if dot.bound == COMPUTE else dot.x <= bar.turn_x + 1e-6


@given(st.lists(st.floats(0, 100), min_size=1, max_size=5))
def test_that_labels_are_spread_without_overlap(centres: list[float]) -> None:
    centres.sort()
    widths = [18.0] * len(centres)
    lefts = spread(centres, widths, 2.0, 0.0, 100.0)
    assert all(b - a >= 20.0 - 1e-9 for a, b in itertools.pairwise(lefts))
    assert lefts[0] >= -1e-9
    assert lefts[-1] + 18 <= 100 + 1e-9


@given(pages())
def test_that_entries_are_equally_high_and_begin_inside_the_list(one: Page) -> None:
    column = one.shapes.column
    heights = [entry.box.h for entry in column.entries]
    assert max(heights) - min(heights) < 1e-6
    assert column.entries[0].box.y == pytest.approx(column.list_box.y)
    assert len(column.entries) == len(one.shapes.matrices)


# --- texts -----------------------------------------------------------------------------------------


def ink(text: Text) -> Box:
    """Where the letters are: a line's box has room above and below them."""
    return text.box.inset(0, 0.16 * text.box.h)


def of_bar(shapes: Shapes) -> list[Text]:
    bar = shapes.bar
    return [*bar.texts, *(dot.name for dot in bar.dots), *(text for _, text in bar.ticks)]


def is_in(box: Box, card: Box) -> bool:
    left, top = card.x - 1e-6 <= box.x, card.y - 1e-6 <= box.y
    return left and top and box.right <= card.right + 1e-6 and box.bottom <= card.bottom + 1e-6


def written(shapes: Shapes) -> list[Text]:
    texts = [*shapes.column.texts, *of_bar(shapes)]
    for row in shapes.rows:
        texts += [*row.texts, *row.inside]
    return texts


def check_texts(shapes: Shapes) -> None:
    for a, b in itertools.combinations(written(shapes), 2):
        assert not ink(a).overlaps(ink(b)), (a, b)
    for texts, card in (
        (shapes.column.texts, shapes.column.box),
        (of_bar(shapes), shapes.bar.card),
        *(((*row.texts, *row.inside), row.card) for row in shapes.rows),
    ):
        for text in texts:
            assert is_in(ink(text), card), text


@given(pages())
def test_that_no_text_is_written_over_another_nor_leaves_its_card(one: Page) -> None:
    check_texts(one.shapes)


@pytest.mark.parametrize("model", KINDS)
def test_that_all_is_said_and_can_be_read_in_the_smallest_window_too(model: str) -> None:
    for prompt, width in ((1, 0.55), (2**17, 0.5)):
        scenario = Scenario(model=model, prompt_tokens=prompt, output_tokens=1, others=99)
        for index in range(len(weight_matrices(result_of(scenario).architecture))):
            shapes = page(scenario, index, WINDOWS[0], letters(width)).shapes
            check_said(shapes)
            check_texts(shapes)


@given(pages())
def test_that_no_text_is_written_over_a_rectangle_except_on_purpose(one: Page) -> None:
    for row in one.shapes.rows:
        for slab in (row.activations, row.weights, row.outputs):
            for text in row.texts:
                on_it = text.role.startswith("on_") and slab is row.activations
                assert on_it or not ink(text).overlaps(slab.box), text
        for text in row.inside:
            assert row.weights.box.contains(text.box.x, text.box.y)
            assert text.box.right <= row.weights.box.right


@given(pages())
def test_that_rectangles_stay_in_their_cards_and_apart(one: Page) -> None:
    for row in one.shapes.rows:
        boxes = [row.activations.box, row.weights.box, row.outputs.box]
        assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
        for box in boxes:
            assert is_in(box, row.card)


@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
def test_that_what_is_written_on_a_fill_can_be_read(theme: Theme) -> None:
    for ink_role, ground in (
        ("text", theme.raised),
        ("text", theme.bandwidth_soft),
        ("on_compute", theme.compute),
        ("on_bandwidth", theme.bandwidth),
        ("text", theme.line),
        ("muted", theme.raised),
        ("faint", theme.surface),
        ("compute_text", theme.surface),
        ("bandwidth_text", theme.surface),
    ):
        assert contrast(getattr(theme, ink_role), ground) >= 4.5, (ink_role, ground)


# --- the small panel -------------------------------------------------------------------------------


class Small(msgspec.Struct, frozen=True):
    """A small panel, and what it was made from."""

    result: Result
    width: float
    height: float
    scale: float
    shapes: SmallShapes

    def __repr__(self) -> str:
        return f"small({self.result.scenario}, {self.width} x {self.height}, {self.scale})"


@st.composite
def panels(draw: st.DrawFn) -> Small:
    scenario = msgspec.structs.replace(draw(scenarios()), model=draw(st.sampled_from(MODELS)))
    scale = draw(st.sampled_from((0.8, 1.0, 1.2, 2.4)))
    width, height = draw(st.floats(330, 640)) * scale, draw(st.floats(130, 300)) * scale
    result = result_of(scenario)
    made = build_shapes_panel(small_case(result), width, height, scale, draw(TYPES))
    return Small(result, width, height, scale, made)


@given(panels())
def test_that_nothing_of_the_panel_is_clipped_or_overlaps(one: Small) -> None:
    shapes, card = one.shapes, Box(0, 0, one.width, one.height)
    boxes = [shapes.prefill.box, shapes.decode.box, shapes.weights.box]
    for box in (*boxes, *map(ink, shapes.texts)):
        assert is_in(box, card), box
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    for a, b in itertools.combinations(shapes.texts, 2):
        assert not ink(a).overlaps(ink(b)), (a, b)
    for text in shapes.texts:
        assert not any(ink(text).overlaps(box) for box in boxes[:2]), text


@given(panels())
def test_that_the_panel_has_one_scale_and_says_where_a_block_is_cut(one: Small) -> None:
    shapes = one.shapes
    k = shapes.weights.true_h / shapes.weights.rows
    for slab, name in ((shapes.prefill, "prefill"), (shapes.decode, "decode")):
        assert slab.true_w == pytest.approx(slab.columns * k)
        assert slab.true_h == pytest.approx(slab.rows * k)
        label = next(text.text for text in shapes.texts if text.text.startswith(name))
        assert label.endswith("cut") == slab.cut_bottom
    assert not shapes.weights.cut_bottom
    assert not shapes.weights.cut_right


def test_that_the_panel_shows_intensities_and_the_matrix_that_is_read_once() -> None:
    made = build_shapes_panel(small_case(result_of(Scenario())), 430, 190, 1.0, letters(0.5))
    texts = [text.text for text in made.texts]
    for words in ("410", "1.00", "prefill: 512 rows", "decode: 1 row", "32 MiB", "read once"):
        assert words in texts
    assert made.bounds == ("compute", "bandwidth")


@pytest.mark.parametrize("accelerator", ACCELERATORS)
def test_that_the_bar_names_what_multiplies_on_an_accelerator(accelerator: str) -> None:
    words = " ".join(text.text for text in page(Scenario(accelerator=accelerator)).shapes.bar.texts)
    vendor = result_of(Scenario(accelerator=accelerator)).accelerator.vendor
    assert ("tensor cores" in words) == (vendor == "NVIDIA")
