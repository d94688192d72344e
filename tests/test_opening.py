"""Every file comes in one way: recognised by its first bytes, read once, refused in one sentence."""

from __future__ import annotations

import io
import json
import os
import struct
import sys
import threading
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from time import monotonic, process_time
from urllib.request import pathname2url

import pytest

from pdviz import files, opening
from pdviz.catalogue import default_catalogue
from pdviz.errors import InputError
from pdviz.evaluation import evaluate, with_names
from pdviz.files import HEAD_BYTES, File
from pdviz.opening import KINDS, Opened, fields_in, open_path, open_text, path_in
from pdviz.own_files import AcceleratorFile, ModelFile
from pdviz.scenario import LINE_LIMIT, PRESETS, Scenario, line_keys, to_line
from pdviz.share import EXPECTED, PICTURE_KEY, to_toml

LLAMA = default_catalogue().model("Llama 3.1 8B").config
CHIP = """
[accelerator]
name = "My chip"
memory_bytes = 96000000000
memory_bandwidth_bytes_per_s = 2.0e12
peak_flops_per_s = { bf16 = 500e12, fp8 = 1000e12 }
"""
ASKED = Scenario(model="Gemma 3 27B", others=63, others_context_tokens=1_000, weights_dtype="fp8")

if sys.version_info < (3, 11):
    pytest.importorskip("tomli")


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(*chunks: bytes) -> bytes:
    begin = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + begin + b"".join(chunks) + chunk(b"IEND", b"")


KEY = PICTURE_KEY.encode() + b"\0"
LINE = to_line(ASKED).encode()
TEXT = chunk(b"tEXt", KEY + LINE)
PACKED = chunk(b"zTXt", KEY + b"\0" + zlib.compress(LINE))
PLAIN_UTF8 = chunk(b"iTXt", KEY + b"\0\0en\0word\0" + LINE)
PACKED_UTF8 = chunk(b"iTXt", KEY + b"\1\0\0\0" + zlib.compress(LINE))
SVG = f"<?xml version='1.0'?>\n<svg><title>pdviz</title><desc>{escape(LINE.decode())}</desc></svg>"
NOTHING = f"not a scenario, nor anything else that can be opened; {EXPECTED}"


def written(folder: Path, name: str, content: bytes | str) -> str:
    data = content if isinstance(content, bytes) else content.encode()
    (folder / name).write_bytes(data)
    return str(folder / name)


def model_file(folder: Path, name: str = "config.json", **changes: object) -> str:
    return written(folder, name, json.dumps({**LLAMA, **changes}))


_opened: list[str] | None = None


def _audit(event: str, given: tuple[object, ...]) -> None:
    if event == "open" and _opened is not None:
        _opened.append(str(given[0]))


@contextmanager
def openings() -> Iterator[list[str]]:
    """The path of every file that is opened meanwhile."""
    global _opened
    if not getattr(sys, "_pdviz_audits", False):
        sys.addaudithook(_audit)
        sys._pdviz_audits = True
    found = _opened = []
    yield found
    _opened = None


# --- what it is ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "kind", "words"),
    [
        ("config.json", json.dumps(LLAMA), "model", "opened as the model"),
        ("picture.png", "\ufeff \n" + json.dumps(LLAMA), "model", "opened as the model"),
        ("chip.toml", CHIP, "accelerator", "opened as the accelerator"),
        (
            "chip.txt",
            "# mine\n [accelerator] # a chip\n" + CHIP[15:],
            "accelerator",
            "opened as the accelerator",
        ),
        ("a.toml", to_toml(ASKED), "scenario", "opened as a scenario"),
        ("a.png", to_toml(ASKED).replace("\n", "\r\n"), "scenario", "opened as a scenario"),
        ("a.txt", b"\xef\xbb\xbf# a comment\n\n" + LINE, "scenario", "opened as a scenario line"),
        ("a", LINE + b"\n", "scenario", "opened as a scenario line"),
        ("a.png", png(TEXT), "scenario", "opened the scenario of this picture"),
        (
            "a.json",
            png(chunk(b"tEXt", b"Title\0pdviz"), PACKED),
            "scenario",
            "opened the scenario of this pict",
        ),
        ("a.png", png(PLAIN_UTF8), "scenario", "opened the scenario of this picture"),
        ("a.png", png(PACKED_UTF8), "scenario", "opened the scenario of this picture"),
        ("a.svg", SVG, "scenario", "opened the scenario of this picture"),
    ],
)
def test_that_a_file_is_what_its_first_bytes_say(
    tmp_path: Path, name: str, content: bytes | str, kind: str, words: str
) -> None:
    opened = open_path(written(tmp_path, name, content))
    assert opened.kind == kind
    assert opened.words.startswith(words)
    if kind == "scenario":
        assert Scenario(**opened.value) == ASKED
    else:
        assert isinstance(opened.value, ModelFile if kind == "model" else AcceleratorFile)
        assert opened.files == (opened.value,)


def test_that_the_last_kind_takes_what_no_other_takes() -> None:
    assert all(not kind.recognises(b"", "empty") for kind in KINDS[:-1])
    assert KINDS[-1].recognises(b"", "empty")
    assert {kind.name for kind in KINDS} == {
        opening.MODEL,
        opening.ACCELERATOR,
        opening.SCENARIO,
        opening.WORKLOAD,
    }


def test_that_a_folder_means_its_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = model_file(tmp_path, num_hidden_layers=7)
    monkeypatch.chdir(tmp_path.parent)
    for given in (str(tmp_path), str(tmp_path) + os.sep, tmp_path.name, path):
        opened = open_path(given)
        assert opened.value.path == path
        assert opened.value.architecture.layers == 7
    os.remove(path)
    with pytest.raises(InputError) as caught:
        open_path(str(tmp_path))
    assert str(caught.value) == f"{tmp_path.name}: this folder holds no config.json; {EXPECTED}"


# --- read once -----------------------------------------------------------------------------------


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("name", ["config.json", "chip.toml", "a.toml", "a.png", "a.svg", "line.txt"])
def test_that_a_file_is_opened_once_from_the_drop_to_the_result(
    tmp_path: Path, name: str, long: bool
) -> None:
    content = {
        "config.json": json.dumps(LLAMA) + " " * HEAD_BYTES * long,
        "chip.toml": CHIP + "#" * HEAD_BYTES * long,
        "a.toml": to_toml(ASKED) + "#" * HEAD_BYTES * long,
        "a.png": png(chunk(b"tEXt", b"Title\0" + b"x" * HEAD_BYTES * long), TEXT),
        "a.svg": SVG.replace("</title>", " " * HEAD_BYTES * long + "</title>"),
        "line.txt": LINE + b"\n" * HEAD_BYTES * long,
    }[name]
    path = written(tmp_path, name, content)
    catalogue = default_catalogue().keeping_files()
    with openings() as paths:
        fields = fields_in(open_path(path), catalogue)
        named = with_names(Scenario(**fields), catalogue)
        result = evaluate(named, catalogue)
    assert paths.count(path) == 1
    expected = {"config.json": Scenario(model=path), "chip.toml": Scenario(accelerator=path)}
    assert result.scenario == expected.get(name, ASKED)


def test_that_files_that_a_scenario_names_are_read_with_it_and_once(tmp_path: Path) -> None:
    model, chip = model_file(tmp_path), written(tmp_path, "chip.toml", CHIP)
    wanted = Scenario(model=model, accelerator=chip, prompt_tokens=77)
    catalogue = default_catalogue().keeping_files()
    for opened in (
        open_text(to_line(wanted)),
        open_text(to_toml(wanted)),
        open_path(written(tmp_path, "s.toml", to_toml(wanted))),
    ):
        assert [file.path for file in opened.files] == [model, chip]
        with openings() as paths:
            found = evaluate(with_names(Scenario(**fields_in(opened, catalogue)), catalogue), catalogue)
        assert found.scenario == wanted
        assert paths == []


def test_that_a_scenario_that_names_what_cannot_be_read_is_opened(tmp_path: Path) -> None:
    wanted = Scenario(model=str(tmp_path / "gone.json"), accelerator=written(tmp_path, "x.toml", "a = "))
    opened = open_text(to_line(wanted))
    assert (opened.kind, opened.files) == ("scenario", ())
    assert opened.words == "Opened the pasted scenario"
    with pytest.raises(InputError, match=r"gone\.json: there is no such file$"):
        with_names(Scenario(**opened.value), default_catalogue())


def test_that_the_catalogue_takes_a_file_again_once_it_has_changed(tmp_path: Path) -> None:
    catalogue = default_catalogue().keeping_files()
    path = model_file(tmp_path, num_hidden_layers=7)
    fields_in(open_path(path), catalogue)
    assert catalogue.architecture(path).layers == 7
    model_file(tmp_path, num_hidden_layers=16)
    assert catalogue.architecture(path).layers == 16
    model_file(tmp_path, num_hidden_layers=3)
    fields_in(open_path(path), catalogue)
    assert catalogue.architecture(path).layers == 3


# --- refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "a.toml",
            b"\xff\xfe\0\1",
            f"a.toml: {NOTHING}",
        ),
        (
            "a.toml",
            "prompt = 5\0",
            f"a.toml: {NOTHING}",
        ),
        ("a.json", "[1, 2]", f"a.json: {NOTHING}"),
        (
            "a.pdf",
            b"%PDF-1.4\xff",
            f"a.pdf: {NOTHING}",
        ),
        ("a.gguf", "prompt = 5", "a.gguf: this is no GGUF file"),
        ("a.toml", "prompt = ", "a.toml: not a TOML scenario file at its end: invalid value"),
        ("a.toml", "promt = 5", 'a.toml: unknown key "promt", expected one of model, gpu'),
        ("a.toml", "prompt = 0", "a.toml: prompt must be"),
        ("a.txt", "prompt=0", "a.txt: prompt must be"),
        ("a.txt", "prompt=1 prompt=2", "scenario line: prompt is given twice"),
        ("a.txt", "model='x", "scenario line: no closing quotation, expected words like prompt=512"),
        ("a.toml", "#" * 2**20 + "\n", "a.toml: too long for a scenario file, expected a few lines such as"),
        (
            "a.txt",
            "model=" + "x" * LINE_LIMIT,
            "scenario line: too long (8,198 characters), expec",
        ),
        ("a.png", png(), "a.png: this picture carries no scenario; expected a PNG saved by pdviz"),
        ("a.png", png(TEXT)[:70], "a.png: the picture is cut off"),
        ("a.png", png()[:36], "a.png: the picture is cut off"),
        ("a.toml", "", "a.toml: it names nothing of a scenario, expected lines such as prompt = 512"),
        ("a.toml", "# only words\n", "a.toml: it names nothing of a scenario, expected lines such as"),
        ("a.png", png(chunk(b"zTXt", KEY + b"\0broken")), "a.png: this picture carries no scenario"),
        ("a.png", png(chunk(b"iTXt", KEY + b"\0")), "a.png: this picture carries no scenario"),
        ("a.png", png(chunk(b"IEND", b""), TEXT), "a.png: this picture carries no scenario"),
        (
            "a.svg",
            "<svg><desc>no words</desc></svg>",
            "a.svg: this picture carries no scenario; expected an SVG",
        ),
        ("a.svg", "<svg>", "a.svg: this picture carries no scenario; expected an SVG saved by pdviz"),
        ("a.svg", b"<svg>\xff", "a.svg: this picture carries no scenario; expected an SVG saved by pdviz"),
        ("chip.toml", "[accelerator]\n", "chip.toml: name is missing"),
        ("config.json", "", f"config.json: {NOTHING}"),
    ],
)
def test_that_what_cannot_be_opened_is_one_sentence(
    tmp_path: Path, name: str, content: bytes | str, said: str
) -> None:
    with pytest.raises(InputError) as caught:
        open_path(written(tmp_path, name, content))
    assert (
        str(caught.value)
        .removeprefix("a.png: " if "scenario line" in said else "")
        .startswith(said.removeprefix("a.png: " if "scenario line" in said else ""))
    )
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("suffix", ["json", "gguf", "toml", "png", "svg", "pipe"])
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names on this system")
def test_that_only_regular_files_are_opened(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    os.mkfifo(path)
    begin_s = monotonic()
    with openings() as paths, pytest.raises(InputError) as caught:
        open_path(str(path))
    assert str(caught.value) == f"a.{suffix}: this is no file"
    assert str(path) not in paths
    assert monotonic() - begin_s < 1


def test_that_what_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    for name, reason in (
        ("x.png", "there is no such file"),
        ("a\0b", "it cannot be read (that is no name"),
    ):
        with pytest.raises(InputError) as caught:
            open_path(str(tmp_path / name))
        assert str(caught.value).startswith(f"{name}: {reason}")


@pytest.mark.parametrize("when", ["open", "first", "later"])
def test_that_a_file_that_cannot_be_read_is_no_empty_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    path = written(tmp_path, "a.toml", "prompt = 77\n" + "#" * HEAD_BYTES)

    class Torn(io.BytesIO):
        reads = 0

        def read(self, size: int | None = -1) -> bytes:
            self.reads += 1
            if when == "first" or self.reads > 1:
                raise OSError(5, "Input/output error")
            return super().read(size)

    def torn(name: str, mode: str) -> Torn:
        if when == "open":
            raise PermissionError(13, "Permission denied")
        return Torn(Path(name).read_bytes())

    monkeypatch.setattr(files, "open", torn, raising=False)
    reason = "Permission denied" if when == "open" else "Input/output error"
    with pytest.raises(InputError) as caught:
        open_path(path)
    assert str(caught.value) == f"a.toml: it cannot be read ({reason})"


def test_that_a_file_gives_as_much_as_is_asked_for(tmp_path: Path) -> None:
    whole = bytes(range(256)) * 1024
    with File(written(tmp_path, "x.bin", whole)) as file:
        assert file.head == whole[:HEAD_BYTES]
        for limit in (0, 5, HEAD_BYTES, HEAD_BYTES + 1, len(whole), 2 * len(whole), 7):
            assert file.read(limit) == whole[:limit]
            assert file.read(limit, 77) == whole[77 : 77 + limit]
        assert (file.where, file.size) == ("x.bin", len(whole))


def test_that_a_long_line_is_refused_before_it_is_split() -> None:
    with pytest.raises(InputError, match=r"^scenario line: too long \(40,002 characters\), expected up to"):
        open_text('"a=' * 13_334)
    with pytest.raises(
        InputError, match=r"^pasted text: too long for a scenario \(200,000 characters\), exp"
    ):
        open_text("a=b c" * 40_000)
    assert line_keys("model=" + "x" * (LINE_LIMIT - 6)) == {"model": "x" * (LINE_LIMIT - 6)}


def soon_s() -> float:
    """What counts as soon: as long as a plain loop takes here and now, a quarter of a second or so."""
    begin_s, count = process_time(), 0
    while count < 5_000_000:
        count += 1
    return process_time() - begin_s


HOSTILE = {
    "dotted.toml": "a." * 45_000 + "a = 1",
    "dotted-table.toml": "[" + "a . " * 24_000 + "a]",
    "quoted.toml": "'a'.\"a\"." * 10_000 + "a = 1",
    "inline.toml": "x = {" + "a." * 45_000 + "a = 1}",
    "accelerator.toml": "[accelerator]\n" + "a." * 45_000 + "a = 1",
    "nested.toml": "prompt = " + "[" * 98_000,
    "tables.toml": "".join(f"[{'a.' * 22}b{number}]\n" for number in range(1_880)),
    "words.toml": "a " * 49_000,
    "quotes.toml": "'" * 98_000,
    "name.toml": "a" * 98_000,
    "long.toml": "#" * 50_000_000,
    "line.txt": '"a=' * 40_000,
    "chunks.png": png(chunk(b"tEXt", KEY) * 2_000_000),
    "bomb.png": png(chunk(b"zTXt", KEY + b"\0" + zlib.compress(b"a=" * 50_000_000))),
    "text.png": png(chunk(b"tEXt", KEY + b"x" * 50_000_000)),
    "desc.svg": "<svg><desc>" + "&amp;" * 10_000_000,
    "bits.svg": "<svg>" + "<desc>" * 8_000_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_that_hostile_input_is_answered_soon_and_in_little_memory(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, name, HOSTILE[name])
    begin_s = process_time()
    with pytest.raises(InputError) as caught:
        open_path(path)
    assert process_time() - begin_s < 2 * soon_s()
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500
    tracemalloc.start()
    with pytest.raises(InputError):
        open_path(path)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 64 * 2**20
    if isinstance(HOSTILE[name], str):
        begin_s = process_time()
        with pytest.raises(InputError):
            open_text(HOSTILE[name])
        assert process_time() - begin_s < 2 * soon_s()


# --- pasted --------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [to_line, to_toml, lambda s: f"\n {to_line(s)} \n"])
@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.title)
def test_that_a_pasted_scenario_comes_back(form: Callable[[Scenario], str], preset: object) -> None:
    wanted = preset.apply(ASKED)
    assert open_text(form(wanted)) == Opened(
        "scenario", open_text(form(wanted)).value, "Opened the pasted scenario"
    )
    assert Scenario(**open_text(form(wanted)).value) == wanted


def test_that_the_address_of_a_file_is_its_path(tmp_path: Path) -> None:
    path = str(tmp_path / "with space & 100%#?.json")
    address = pathname2url(path)
    for form in (
        f"file://{address}",
        f"FILE://localhost{address}",
        f"file:{address}",
        f' "file://{address}" ',
    ):
        assert path_in(form) == path
    assert path_in("file://") is None
    assert path_in("file://[") is None
    assert path_in("x" * 100_000 + ".json") is None


def test_that_files_are_opened_from_any_thread(tmp_path: Path) -> None:
    path, found = model_file(tmp_path), []
    thread = threading.Thread(target=lambda: found.append(open_path(path).value.architecture.layers))
    thread.start()
    thread.join(10)
    assert found == [32]


REQUESTS = "arrival_s,prompt_tokens,output_tokens\n0,512,100\n0.5,none,10\n1,256,20\n"


def test_that_a_file_of_requests_becomes_the_workload_whatever_it_is_called(tmp_path: Path) -> None:
    path = tmp_path / "requests of monday.txt"
    path.write_text(REQUESTS, encoding="utf-8")
    shares: list[float] = []
    opened = open_path(str(path), shares.append)
    assert opened.kind == opening.WORKLOAD
    assert fields_in(opened, default_catalogue()) == {"workload": str(path)}
    assert opened.words == (
        "opened as the server's workload: request list, 2 requests, "
        "1 row left out, the first (1): the prompt length is no number"
    )
    assert shares[-1:] == [1.0]


def test_that_a_table_of_something_else_is_told_what_a_trace_has(tmp_path: Path) -> None:
    path = tmp_path / "fruit.csv"
    path.write_text("apples,pears\n1,2\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"^fruit\.csv: expected columns arrival_s, .* found apples, pears$"):
        open_path(str(path))


def test_that_a_path_that_no_workload_can_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "two  spaces.csv"
    path.write_text(REQUESTS, encoding="utf-8")
    with pytest.raises(InputError, match="spaces in a row"):
        open_path(str(path))
