"""A person's own model or accelerator: found, read, kept in the scenario, and refused for what it is."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tracemalloc
import zipfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from pdviz import cli, own_files
from pdviz.catalogue import default_catalogue
from pdviz.errors import InputError
from pdviz.evaluation import as_stored, evaluate, with_names
from pdviz.files import is_file_name
from pdviz.names import shown
from pdviz.opening import fields_in, open_path
from pdviz.scenario import Scenario, from_line, to_keys, to_line
from pdviz.share import text_fields, to_toml

sys.path.insert(0, str(Path(__file__).parent / "costmodel"))
import gguf_files as gguf

CATALOGUE = default_catalogue()
LLAMA = CATALOGUE.model("Llama 3.1 8B").config
FP8 = {"quant_method": "fp8", "weight_block_size": [128, 128]}
CHIP = """
[accelerator]
name = "My chip"
memory_bytes = 96000000000
memory_bandwidth_bytes_per_s = 2.0e12
peak_flops_per_s = { bf16 = 500e12, fp8 = 1000e12 }
"""


def config_file(folder: Path, name: str = "config.json", **changes: Any) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**LLAMA, **changes}), encoding="utf-8")
    return str(path)


def toml_or_skip() -> None:
    if sys.version_info < (3, 11):
        pytest.importorskip("tomli")


def chip_file(folder: Path, text: str = CHIP, name: str = "chip.toml") -> str:
    toml_or_skip()
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


# --- found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("config.json", True),
        ("models/Q4_K_M.GGUF", True),
        ("~/chip.toml", True),
        ("C:\\models\\config.json", True),
        ("Llama 3.1 8B", False),
        ("meta-llama/Llama-3.1-8B", False),
        ("/no/such/folder", False),
        ("", False),
    ],
)
def test_that_a_file_is_told_from_a_name(text: str, expected: bool) -> None:
    assert is_file_name(text) is expected


def test_that_a_path_gives_the_model_of_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = config_file(tmp_path, "My-Model/config.json")
    for text in (path, f" {path} ", str(tmp_path / "My-Model")):
        assert CATALOGUE.architecture(text).parameters == 8_030_261_248
        assert CATALOGUE.model(text).name == "My-Model"
        assert CATALOGUE.model_reference(text) == path
    monkeypatch.chdir(tmp_path)
    for text in ("My-Model/config.json", "./My-Model", "My-Model/../My-Model/config.json", "My-Model/"):
        assert CATALOGUE.model_reference(text) == path
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert CATALOGUE.model_reference("~/My-Model/config.json") == path


def test_that_names_of_the_catalogue_come_before_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config_file(tmp_path, "meta-llama/Llama-3.1-8B/config.json", num_hidden_layers=1)
    monkeypatch.chdir(tmp_path)
    assert CATALOGUE.model_reference("meta-llama/Llama-3.1-8B") == "Llama 3.1 8B"
    assert CATALOGUE.architecture("./meta-llama/Llama-3.1-8B").layers == 1


@pytest.mark.parametrize(
    ("place", "said", "name"),
    [
        ("folder/config.json", "meta-llama/Llama-3.1-8B", "Llama-3.1-8B"),
        ("folder/config.json", "/data/checkpoints/run-7/", "run-7"),
        ("folder/config.json", "", "folder"),
        ("folder/config.json", "./", "folder"),
        ("folder/config.json", 7, "folder"),
        ("models--org--Model-1B/snapshots/0123abcd/config.json", "", "Model-1B"),
        ("folder/org__Model.json", "", "org__Model"),
    ],
)
def test_that_a_model_is_called_what_its_file_or_folder_says(
    place: str, said: object, name: str, tmp_path: Path
) -> None:
    assert CATALOGUE.model(config_file(tmp_path, place, _name_or_path=said)).name == name


def test_that_a_file_is_read_again_once_it_has_changed(tmp_path: Path) -> None:
    path = config_file(tmp_path)
    first = CATALOGUE.architecture(path)
    assert CATALOGUE.architecture(path) is first
    config_file(tmp_path, num_hidden_layers=16)
    os.utime(path, ns=(1, 1))
    assert CATALOGUE.architecture(path).layers == 16


def test_that_what_a_file_is_is_found_from_its_content(tmp_path: Path) -> None:
    metadata, tensors = gguf.model(
        CATALOGUE.architecture("SmolLM2 135M"), CATALOGUE.model("SmolLM2 135M").config
    )
    made, _ = gguf.header(metadata, {name: tensors[name] for name in list(tensors)[:0]})
    (tmp_path / "config.json").write_bytes(made)
    with pytest.raises(InputError, match=r"^config\.json: it holds no tensors"):
        CATALOGUE.model(str(tmp_path / "config.json"))
    with pytest.raises(InputError, match=r"^config\.json: it holds no tensors"):
        open_path(str(tmp_path / "config.json"))
    assert open_path(config_file(tmp_path, "named.toml")).kind == "model"
    assert open_path(chip_file(tmp_path)).kind == "accelerator"
    (tmp_path / "scenario.toml").write_text("prompt = 512\n", encoding="utf-8")
    assert open_path(str(tmp_path / "scenario.toml")).kind == "scenario"


# --- in the scenario


def test_that_a_scenario_keeps_the_path_and_shows_the_name(tmp_path: Path) -> None:
    model, chip = config_file(tmp_path, "Mine/config.json"), chip_file(tmp_path)
    scenario = with_names(Scenario(model=model, accelerator=chip, prompt_tokens=77), CATALOGUE)
    assert (scenario.model, scenario.accelerator) == (model, chip)
    result = evaluate(scenario, CATALOGUE)
    assert (result.architecture.name, result.accelerator.name) == ("Mine", "My chip")
    assert result.machine.peak_flops_per_s == 500e12
    assert from_line(to_line(scenario)) == scenario
    assert Scenario(**text_fields(to_toml(scenario))) == scenario
    assert to_keys(scenario)["model"] == model


def test_that_a_line_with_a_file_says_its_weights() -> None:
    assert "weights=bf16" in to_line(Scenario(model="x.gguf"))
    assert "weights" not in to_line(Scenario())


def test_that_a_file_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    path = str(tmp_path / "config.json")
    for scenario in (Scenario(model=path), Scenario(accelerator=path)):
        for ask in (evaluate, with_names):
            with pytest.raises(InputError) as caught:
                ask(scenario, CATALOGUE)
            assert str(caught.value) == f"{path}: there is no such file"
    with pytest.raises(InputError, match=r"chip\.toml: there is no such file$"):
        evaluate(Scenario(accelerator="chip.toml"), CATALOGUE)


@pytest.mark.parametrize("damage", ["gone", "broken"])
@pytest.mark.parametrize("name", ["config.json", "without-ending"])
def test_that_what_was_read_is_used_after_its_file_has_gone(tmp_path: Path, name: str, damage: str) -> None:
    chip, catalogue = chip_file(tmp_path), default_catalogue().keeping_files()
    path = config_file(tmp_path, name)
    scenario = with_names(Scenario(model=path, accelerator=chip), catalogue)
    before = evaluate(scenario, catalogue)
    assert catalogue.stale(path) is catalogue.stale(chip) is None
    for file in (path, chip):
        if damage == "gone":
            os.remove(file)
        else:
            Path(file).write_text("{", encoding="utf-8")
    assert with_names(scenario, catalogue) == scenario
    again = evaluate(scenario, catalogue)
    assert (again.architecture, again.accelerator) == (before.architecture, before.accelerator)
    for file in (path, chip):
        said = catalogue.stale(file)
        assert said is not None
        assert os.path.basename(file) in said
    with pytest.raises(InputError):  # outside a window a file that is not there is no file
        evaluate(scenario)
    config_file(tmp_path, name, num_hidden_layers=3)
    chip_file(tmp_path)
    assert evaluate(scenario, catalogue).architecture.layers == 3
    assert catalogue.stale(path) is catalogue.stale(chip) is None
    assert catalogue.stale("Llama 3.1 8B") is None


def test_that_quantised_files_are_taken_as_they_are_stored(tmp_path: Path) -> None:
    plain = Scenario(model=config_file(tmp_path))
    fp8 = Scenario(model=config_file(tmp_path, "fp8.json", quantization_config=FP8))
    assert as_stored(plain, CATALOGUE).weights_dtype == "bf16"
    assert as_stored(fp8, CATALOGUE).weights_dtype == "published"
    assert as_stored(Scenario(model="DeepSeek V3"), CATALOGUE).weights_dtype == "bf16"


def test_that_dropped_files_are_opened_as_what_they_are(tmp_path: Path) -> None:
    model, chip = config_file(tmp_path), chip_file(tmp_path)
    catalogue = default_catalogue().keeping_files()
    for path, kind in ((model, "model"), (chip, "accelerator")):
        opened = open_path(path)
        assert (opened.kind, opened.words) == (kind, f"opened as the {kind}")
        assert fields_in(opened, catalogue) == {kind: path}


# --- refused


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("config.json", "", "the file is empty"),
        ("config.json", " \n", "the file is empty"),
        (
            "config.json",
            "[]",
            "not the config.json of a model; expected an object with model_type, got a list",
        ),
        (
            "config.json",
            "7",
            "not the config.json of a model; expected an object with model_type, got a single",
        ),
        ("config.json", "{}", "model_type is missing, expected the family's name, such as llama"),
        ("config.json", '{"a": 1,\n "b": 4096', "not JSON at line 2, column 11: the file ends too early"),
        ("config.json", '{"a": 1,\n  b: 2}', "not JSON at line 2, column 3: expecting property name"),
        ("config.json", "[" * 100_000, "lists or objects are nested too deeply"),
        ("config.json", '{"a": 1' + "0" * 5000 + "}", "it holds a number with too many digits"),
        ("config.json", b'{\n"a": "\xff"}', "not JSON, since line 2 is not text in UTF-8"),
        (
            "tokenizer_config.json",
            '{"tokenizer_class": "X"}',
            "this is a tokenizer's configuration, not a model",
        ),
        ("tokenizer.json", '{"version": "1.0", "added_tokens": [], "model": {}}', "this is a tokenizer, not"),
        (
            "special_tokens_map.json",
            '{"bos_token": "<s>"}',
            "this is a tokenizer's map of special tokens, not",
        ),
        (
            "adapter_config.json",
            '{"peft_type": "LORA", "model_type": "llama"}',
            "this is an adapter's config",
        ),
        ("generation_config.json", '{"bos_token_id": 1}', "this is a generation configuration, not a model"),
        ("generation_config.json", '{"do_sample": true}', "this is a generation configuration, not a model"),
        (
            "model.index.json",
            '{"metadata": {}, "weight_map": {}}',
            "this is the index of a model's safetensors",
        ),
        ("preprocessor_config.json", '{"image_processor_type": "X"}', "this is a processor's configuration"),
        ("quantize_config.json", '{"bits": 4, "desc_act": false}', "this is a description of a quantisation"),
        ("params.json", '{"dim": 4096, "n_layers": 32}', "this is the params.json of an original release"),
        ("model_index.json", '{"_class_name": "Flux"}', "this is a diffusion pipeline's configuration"),
        (
            "config.json",
            b"\x89PNG\r\n\x1a\nrest",
            "this is a picture, not a model; expected its config.json or",
        ),
        ("weights.json", b"\x10\x02\0\0\0\0\0\0" + b'{"a": {}}', "this is safetensors weights, not a model"),
        ("weights.gguf", b"PK\x03\x04rest", "this is weights (or another archive), not a model"),
        ("chip.toml", CHIP, "this is an accelerator's file; expected a config.json or GGUF"),
        ("notes.gguf", "just a text", "this is no GGUF file"),
        ("zeros.gguf", bytes(1000), "this is no GGUF file"),
        ("notes.json", "just a text", "not JSON at line 1, column 1: expecting value"),
        (
            "model.gguf",
            "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 4\n",
            "this is a pointer of Git LFS in the place of a file (git lfs pull fetches it), not a model",
        ),
        (
            "config.json",
            "<!DOCTYPE html>\n<html>",
            "this is a web page, not a model; expected its config.json",
        ),
        ("config.json", "\n <html>", "this is a web page, not a model; expected its config.json"),
    ],
)
def test_that_no_model_is_said_for_what_it_is(
    name: str, content: str | bytes, said: str, tmp_path: Path
) -> None:
    data = content if isinstance(content, bytes) else content.encode()
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError) as caught:
        CATALOGUE.architecture(str(tmp_path / name))
    assert str(caught.value).startswith(f"{name}: {said}")
    assert str(caught.value).isprintable()


def test_that_a_byte_order_mark_and_infinity_do_no_harm(tmp_path: Path) -> None:
    text = json.dumps({**LLAMA, "time_step_limit": [0.0, float("inf")]})
    (tmp_path / "config.json").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert CATALOGUE.architecture(str(tmp_path / "config.json")).layers == 32


def test_that_a_model_without_its_type_is_still_a_model(tmp_path: Path) -> None:
    path = config_file(tmp_path, model_type=None, architectures=None, bos_token_id=1)
    with pytest.raises(InputError, match=r"^config\.json: model_type is missing"):
        CATALOGUE.model(path)


@pytest.mark.parametrize(
    ("beginning", "said"),
    [
        (b'{"model_type": "llama", "x": "', r"too long for a config\.json \(200 MiB, expected up to 4\)$"),
        (
            b'{"metadata": {}, "weight_map": {',
            r"this is the index of a model's safetensors files, not a model",
        ),
        (b'{"version": "1.0", "added_tokens": [', r"this is a tokenizer, not a model"),
    ],
)
def test_that_a_long_file_is_refused_without_reading_it(beginning: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "long.json"
    path.write_bytes(beginning)
    os.truncate(path, 200 * 2**20)
    tracemalloc.start()
    with pytest.raises(InputError, match=rf"^long\.json: {said}"):
        CATALOGUE.model(str(path))
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 2 * 2**20


def test_that_a_folder_without_a_config_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"config\.json: there is no such file$"):
        CATALOGUE.model(str(tmp_path))
    (tmp_path / "odd.json").mkdir()
    with pytest.raises(InputError, match=r"odd\.json.config\.json: there is no such file$"):
        CATALOGUE.model(str(tmp_path / "odd.json"))
    with pytest.raises(InputError, match=r"odd\.json: this is a folder, not a file$"):
        CATALOGUE.accelerator(str(tmp_path / "odd.json"))
    with pytest.raises(InputError, match=r"^unknown accelerator .*the nearest names are"):
        CATALOGUE.accelerator("odd")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty; expected a TOML file with a table [accelerator]"),
        ("prompt = 512\n", "it has no table [accelerator]; expected a TOML file with a table [accelerator]"),
        ("[gpu]\nname = 'X'\n", "it has no table [accelerator] but [gpu]; expected a TOML file with a table"),
        (
            CHIP.replace("[accelerator", "[accelerators"),
            "it has no table [accelerator] but [accelerators]; expected a TOML file with a table [acc",
        ),
        ("[accelerator\n", "not a TOML accelerator file at line 1, column 13: expected ']' at the end of"),
        (CHIP + "color = 1\ncolor = 2\n", "not a TOML accelerator file at line"),
        ("a = '", "not a TOML accelerator file at "),
        ("a = " + "[" * 9000, "not a TOML accelerator file: lists or tables are nested too deeply"),
        ("a = " + "9" * 9000, "not a TOML accelerator file: it holds a number with too many digits"),
        ("accelerator = 3\n", "[accelerator] must be a table of fields, got 3"),
        ("[[accelerator]]\nname = 'X'\n", "[accelerator] must be a table of fields, got a list"),
        ("[accelerator]\nmemory_bytes = 96e9\n", "name is missing; expected printable text of 1 to 80"),
        (CHIP.replace('"My chip"', "3"), "name must be printable text of 1 to 80 characters, got 3"),
        ("[accelerator]\nname = 'X'\n", "memory_bytes is missing; expected a positive whole number"),
        (CHIP.replace("My chip", "My\\nchip"), 'name must be printable text of 1 to 80 characters, got "My'),
        (CHIP.replace("My chip", "\\u001b[31m"), "name must be printable text of 1 to 80 characters, got"),
        (CHIP.replace("My chip", "x" * 81), "name must be printable text of 1 to 80 characters, got"),
        (CHIP.replace("name", 'vendor = "a\\nb"\nname'), 'vendor must be text on one line, got "a'),
        (CHIP.replace("name", 'notes = ["a\\u0007"]\nname'), "notes must be a list of texts, each on one"),
        (CHIP.replace("96000000000", "96"), "memory_bytes must be in bytes between"),
        (CHIP.replace("bf16 = 500e12", "bf17 = 5"), 'peak_flops_per_s has the unknown dtype "bf17"'),
        (CHIP + "color = 'red'\n", '"color" is no field here; known are id, name'),
        ('{"name": "X"}', "this is JSON; expected a TOML file with a table [accelerator]"),
    ],
)
def test_that_an_accelerator_is_checked_as_the_catalogue_s_are(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        CATALOGUE.accelerator(chip_file(tmp_path, text))
    assert str(caught.value).startswith(f"chip.toml: {said}")


def test_that_other_files_are_no_accelerators(tmp_path: Path) -> None:
    toml_or_skip()
    for data, said in (
        (b"GGUF" + bytes(40), "this is a model; expected"),
        (b"\xff\xfe\0", "not text in UTF-8; expected"),
        (b"# " + bytes([120]) * 2**21, "too long for an accelerator; expected"),
    ):
        (tmp_path / "chip.toml").write_bytes(data)
        with pytest.raises(InputError, match=f"^chip.toml: {said}"):
            CATALOGUE.accelerator(str(tmp_path / "chip.toml"))


def test_that_an_archive_of_weights_is_no_model(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "pytorch_model.gguf", "w") as archive:
        archive.writestr("data.pkl", "x")
    with pytest.raises(InputError, match=r"^pytorch_model\.gguf: this is weights"):
        CATALOGUE.model(str(tmp_path / "pytorch_model.gguf"))


# --- on the command line


def command(*argv: str) -> str:
    """What a command prints; its one sentence where it refuses."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = cli.main(argv)
    if code:
        assert (code, out.getvalue(), len(err.getvalue().splitlines())) == (2, "", 1)
        return err.getvalue()
    assert err.getvalue() == ""
    return out.getvalue()


def estimate(*argv: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(command("estimate", "--json", *argv))
    return found


def small_gguf(folder: Path) -> str:
    """SmolLM2 135M as a GGUF file, its weights a hole in the file."""
    name = "SmolLM2 135M"
    made, size = gguf.header(*gguf.model(CATALOGUE.architecture(name), CATALOGUE.model(name).config))
    path = folder / "small.gguf"
    path.write_bytes(made)
    os.truncate(path, size)
    return str(path)


def test_that_a_config_json_costs_what_the_catalogue_s_model_costs(tmp_path: Path) -> None:
    path = config_file(tmp_path, "Mine/config.json")
    own, known = estimate("--model", path), estimate("--model", "Llama 3.1 8B")
    assert own["scenario"] == {**known["scenario"], "model": path}
    assert own["model"] == {**known["model"], "name": "Mine"}
    for key in set(known) - {"scenario", "model"}:
        assert own[key] == known[key], key


def test_that_a_gguf_file_costs_the_bytes_of_its_tensors(tmp_path: Path) -> None:
    path = small_gguf(tmp_path)
    found = estimate("--model", path)
    assert found["scenario"]["weights"] == "published"
    assert found["model"]["parameters"] == 134_515_008
    assert os.path.getsize(path) - 2**20 < found["memory"]["weights_bytes"] < os.path.getsize(path)
    assert estimate("--model", path, "--weights", "bf16")["memory"]["weights_bytes"] == 2 * 134_515_008
    line = to_line(with_names(Scenario(model=path), CATALOGUE))
    assert estimate("--scenario", line)["scenario"]["weights"] == "bf16"
    assert estimate("--scenario", path)["scenario"]["weights"] == "published"
    text = command("estimate", "--model", path)
    assert "SmolLM2 135M on H100 SXM" in text
    assert "Weights as published (" in text


def test_that_a_quantised_config_json_is_taken_as_it_is_stored(tmp_path: Path) -> None:
    path = config_file(tmp_path, quantization_config=FP8)
    found = estimate("--model", path)
    assert found["scenario"]["weights"] == "published"
    assert 8.0e9 < found["memory"]["weights_bytes"] < 9.2e9
    assert estimate("--model", path, "--weights", "fp8")["scenario"]["weights"] == "fp8"


def test_that_an_own_accelerator_is_named_by_its_file(tmp_path: Path) -> None:
    path = chip_file(tmp_path)
    found = estimate("--gpu", path)
    assert found["scenario"]["gpu"] == path
    assert found["ridge_flops_per_byte"] == 250
    assert "My chip" in command("accelerators", path)


def test_that_memory_says_what_each_accelerator_keeps_and_what_more_fits() -> None:
    memory = estimate("--model", "Llama 3.1 70B", "--tp", "4")["memory"]
    each = memory["per_accelerator"]
    assert each["weights_bytes"] == pytest.approx(memory["weights_bytes"] / 4, abs=1)
    assert sum(
        each[key] for key in ("weights_bytes", "kv_bytes", "reserve_bytes", "free_bytes")
    ) == pytest.approx(each["capacity_bytes"], abs=2)
    assert memory["fewest_accelerators"] == 2
    assert memory["largest_batch"] == memory["free_sequences"] + 1
    text = command("estimate", "--model", "Llama 3.1 70B")
    assert text.startswith("WARNING  Does not fit: ")
    assert "it fits on 2." in " ".join(text.split())


def test_that_without_a_file_no_reader_of_files_is_loaded() -> None:
    code = (
        "import sys; from pdviz import cli; cli.main(['estimate', '--json']); "
        "read = [m for m in sys.modules if 'readers.gguf' in m or m in ('mmap', 'tomllib', 'tomli')]; "
        "sys.exit(f'loaded: {read}' if read else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_that_a_family_from_a_file_cannot_steer_a_terminal(tmp_path: Path) -> None:
    path = config_file(tmp_path, model_type="new\x1b[31m\nkind")
    said = command("models", "--all", path)
    assert "\x1b" not in said
    assert "model_type must be a family's name" in said


def test_that_all_fields_of_a_model_are_listed(tmp_path: Path) -> None:
    text = " ".join(command("models", "--all", "mixtral 8x7b").split())
    for part in (
        "parameters: 46,702,792,704",
        "layers: 32",
        "hidden: 4,096",
        "vocabulary: 32,000",
        "context: 32,768",
        "attention: 32 × full, 32 heads, 8 KV, head dimension 128",
        "experts: 32 × 2 of 8",
        "BF16 KV cache of a token: 128 KiB",
        "weights as published: BF16, 93.4 GB",
        "configuration from:",
    ):
        assert part in text
    assert "window 4,096 tokens" in command("models", "--all", "mistral 7b v0.1")
    assert "4.77 MiB in engines that cache expanded heads" in command("models", "--all", "deepseek v3")
    assert command("models", "--all").count("\n  layers: ") == len(CATALOGUE.models)
    path = small_gguf(tmp_path)
    assert f"configuration from: {path}" in " ".join(command("models", path, "--all").split())
    (found,) = json.loads(command("models", "--json", path))["models"]
    assert found["attention"] == [
        {"layers": 30, "kind": "full", "query_heads": 9, "kv_heads": 3, "head_dim": 64, "value_head_dim": 64}
        | {"window_tokens": None}
    ]


@pytest.mark.parametrize("option", ["--model", "--gpu"])
def test_that_a_missing_file_is_one_line_on_the_command_line(option: str, tmp_path: Path) -> None:
    path = str(tmp_path / "gone.json")
    assert command("estimate", option, path) == f"pdviz: {path}: there is no such file\n"


# --- several files, names twice


def test_that_several_files_are_listed_each(tmp_path: Path) -> None:
    first, second = (config_file(tmp_path, f"{name}/config.json") for name in ("First", "Second"))
    for options in ((), ("--all",), ("--json",)):
        text = command("models", first, second, *options)
        assert "First" in text
        assert "Second" in text
    listed = json.loads(command("models", second, first, second, "--json"))["models"]
    assert [model["name"] for model in listed] == ["Second", "First"]
    assert "unknown" not in command("models", "qwen3", "8b")
    refused = command("models", first, "no/such.json")
    assert refused == f"pdviz: {os.path.abspath('no/such.json')}: there is no such file\n"
    assert command("models", first, "llama") == (
        f'pdviz: models: files and words of a search do not go together, got "llama" beside {shown(first)}\n'
    )


def test_that_a_path_with_spaces_needs_no_quotes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config_file(tmp_path, "My own model.json")
    monkeypatch.chdir(tmp_path)
    assert "My own model" in command("models", "My", "own", "model.json")


def test_that_several_accelerators_are_listed_each(tmp_path: Path) -> None:
    paths = [
        chip_file(tmp_path, CHIP.replace("My chip", f"Chip {n}"), f"chip{n}.toml") for n in ("one", "two")
    ]
    text = command("accelerators", *paths)
    assert "Chip one" in text
    assert "Chip two" in text


@pytest.mark.parametrize("name", ["H100 SXM", "h100-sxm", "H 100 sxm"])
def test_that_an_accelerator_of_a_known_name_is_told_apart(name: str, tmp_path: Path) -> None:
    assert any(chip.name == "H100 SXM" for chip in CATALOGUE.accelerators)
    path = chip_file(tmp_path, CHIP.replace("My chip", name), "mine.toml")
    assert CATALOGUE.accelerator(path).name == f"{name} (mine.toml)"
    assert CATALOGUE.accelerator("H100 SXM").name == "H100 SXM"
    assert CATALOGUE.accelerator(chip_file(tmp_path)).name == "My chip"


def test_that_a_field_of_the_wrong_kind_is_named_before_those_that_are_missing(tmp_path: Path) -> None:
    path = chip_file(tmp_path, "[accelerator]\nname = 5\n")
    assert command("accelerators", path).startswith(
        "pdviz: chip.toml: name must be printable text of 1 to 80"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"hidden_size": 1, "a": 2, "hidden_size": 2048}', '"hidden_size" is there twice, as 1 and as 2048'),
        ('{"a": {"b": true, "b": 1}}', '"b" is there twice, as true and as 1'),
    ],
)
def test_that_a_field_that_is_there_twice_is_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "twice.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=f"^twice.json: {said}"):
        CATALOGUE.model(str(tmp_path / "twice.json"))


def test_that_a_field_that_is_there_twice_with_one_value_is_read(tmp_path: Path) -> None:
    text = json.dumps({**LLAMA, "vocab_size": 7}).replace(
        '"vocab_size": 7', '"vocab_size": 7, "vocab_size": 7'
    )
    (tmp_path / "twice.json").write_text(text, encoding="utf-8")
    assert CATALOGUE.architecture(str(tmp_path / "twice.json")).vocabulary == 7


def test_that_every_accelerator_can_be_had_as_a_file_that_says_the_same(tmp_path: Path) -> None:
    toml_or_skip()
    for known in default_catalogue().accelerators:
        path = chip_file(tmp_path, command("accelerators", known.name, "--toml"), "mine.toml")
        mine = own_files.read_accelerator_file(path).accelerator
        assert mine.name == f"My {known.name}"
        assert mine.memory_bytes == known.memory_bytes
        assert mine.memory_bandwidth_bytes_per_s == pytest.approx(
            known.memory_bandwidth_bytes_per_s, rel=1e-12
        )
        assert mine.peak_flops_per_s == pytest.approx(known.peak_flops_per_s, rel=1e-12)
        assert (mine.link_bytes_per_s or 0) == pytest.approx(known.link_bytes_per_s or 0, rel=1e-12)
        assert mine.sources == known.sources
    assert "unknown accelerator" in command("accelerators", "nothing", "--toml")
