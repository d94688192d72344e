"""Every collected configuration against its known counts, where that collection is at hand."""

import csv
import json
from pathlib import Path

import pytest

from pdviz.errors import InputError
from pdviz.readers.hf.config import read_config

FACTS = Path(__file__).parents[3] / "shared" / "facts"
TABLE = FACTS / "configs_index.csv"
FAR = 1 << 50

# Their files were reduced to fields that do not tell what their layers look like.
REDUCED = {"XiaomiMiMo/MiMo-V2-Flash": "hybrid_layer_pattern", "google/gemma-4-26B-A4B": "global_head_dim"}

if TABLE.exists():
    with TABLE.open(newline="", encoding="utf-8") as file:
        ROWS = list(csv.DictReader(file))

    @pytest.mark.parametrize("row", ROWS, ids=[row["model"] for row in ROWS])
    def test_that_a_collected_configuration_has_its_known_counts(row: dict):
        config = json.loads((FACTS / row["file"]).read_text(encoding="utf-8"))
        if row["model"] in REDUCED:
            assert row["computed_total"] == ""
            with pytest.raises(InputError, match=f"{REDUCED[row['model']]} is missing"):
                read_config(config, row["model"])
            return
        found = read_config(config, row["model"])
        near, far = (2 * (found.cache_elements(n + 1) - found.cache_elements(n)) for n in (0, FAR))
        counted = {
            "computed_total": found.parameters,
            "active_computed": found.active_parameters,
            "kv_bytes_per_token_bf16": near,
            "kv_bytes_per_token_past_windows": far,
            "max_context": found.max_context_tokens,
        }
        for column, value in counted.items():
            if row[column]:
                assert value == int(row[column]), column
        if row["tied"]:
            assert str(found.tied) == row["tied"]
        if row["torch_dtype"]:
            assert found.published_dtype == row["torch_dtype"]
        if int(row["mtp_params"] or 0):
            assert any("prediction" in text for text in found.left_out)

    def test_that_two_revisions_of_one_model_are_read_alike():
        old, new = (
            json.loads((FACTS / "configs" / name).read_text(encoding="utf-8"))
            for name in ("microsoft__phi-2@phi-msft.json", "microsoft__phi-2.json")
        )
        assert read_config(old, "Phi-2").runs == read_config(new, "Phi-2").runs
        assert read_config(old, "Phi-2").parameters == 2_779_683_840
