"""The shipped accelerators against the table they were taken from, where that table is at hand."""

import csv
from pathlib import Path

import pytest

from pdviz.catalogue import default_catalogue

TABLE = Path(__file__).parents[3] / "shared" / "facts" / "accelerators.csv"
COLUMNS = {
    "fp32": "fp32_TFLOPS",
    "tf32": "tf32_TFLOPS",
    "fp16": "fp16_TFLOPS",
    "bf16": "bf16_TFLOPS",
    "fp8": "fp8_TFLOPS",
    "int8": "int8_TOPS",
    "fp4": "fp4_TFLOPS",
}
# The datasheet's rounded figures, as the field quotes them; the table holds the unrounded ones.
ROUNDED = {"fp16": 989e12, "bf16": 989e12, "fp8": 1979e12, "int8": 1979e12}

if TABLE.exists():
    with TABLE.open(newline="", encoding="utf-8") as file:
        ROWS = list(csv.DictReader(file))

    @pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
    def test_that_a_row_of_the_table_is_in_the_catalogue_figure_for_figure(row: dict):
        entry = default_catalogue().accelerator(row["id"])
        assert default_catalogue().accelerator(row["name"].partition(" (")[0]) is entry
        assert (entry.vendor, entry.year) == (row["vendor"], int(row["year"]))
        assert entry.memory_bytes == int(row["memory_bytes"])
        if row["driver_reported_MiB"]:
            assert entry.memory_basis == f"driver reports {int(row['driver_reported_MiB']):,} MiB"
        else:
            assert "as sold" in entry.memory_basis
        expected = {dtype: float(row[name]) * 1e12 for dtype, name in COLUMNS.items() if row[name]}
        if row["id"] in ("h100-sxm5-80gb", "h200-sxm-141gb"):
            assert expected == pytest.approx(expected | ROUNDED, rel=5e-4)
            expected |= ROUNDED
        assert entry.peak_flops_per_s == pytest.approx(expected, rel=1e-12)
        assert entry.memory_bandwidth_bytes_per_s == pytest.approx(float(row["memory_bandwidth_GBps"]) * 1e9)
        one_way = row["link_GBps_per_direction"]
        assert entry.link_bytes_per_s == (pytest.approx(float(one_way) * 1e9) if one_way else None)
        assert entry.power_w == (float(row["tdp_W"]) if row["tdp_W"] else None)
        assert entry.confidence == row["confidence"]

    def test_that_the_catalogue_and_the_table_hold_the_same_accelerators():
        found = {default_catalogue().accelerator(row["id"]).id for row in ROWS}
        assert found == {entry.id for entry in default_catalogue().accelerators}
