"""Words of the command line into values: a parser that complains in plain sentences, and checks.

Options stay text in the parser; what they mean is known by the table of scenario fields and by the
functions here, all of which raise InputError with one sentence that names the option.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from pdviz.errors import InputError
from pdviz.export import LARGEST_SIDE_PX, SUFFIXES
from pdviz.field import Field
from pdviz.fields import FIELDS
from pdviz.names import shown
from pdviz.scenario import LINE, Scenario, edit, line_keys, parse_keys
from pdviz.units import count, significant

SCALE_LIMIT = 8

Options = argparse.Namespace


def either(names: Iterable[str]) -> str:
    """Names as alternatives: "dark, light or print"."""
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def refuse(what: str, name: str, known: Iterable[str], hint: str = "") -> InputError:
    """The error about an unknown name: what was probably meant, else ``hint``, else what is known."""
    known = tuple(known)
    near = difflib.get_close_matches(name, known, 1, 0.6)
    expected = f"did you mean {near[0]}?" if near else hint or f"expected {either(known)}"
    return InputError(f"{what} {shown(name)}; {expected}")


# --- the parser ------------------------------------------------------------------------------------


class Answer(Exception):  # noqa: N818 (no error)
    """Raised in place of a result where the parser itself answers: help, the version."""


class Parser(argparse.ArgumentParser):
    """argparse without exits: what it prints is an Answer, what it complains about an InputError.

    Words that belong to no option may stand anywhere; `read` leaves them in ``words``.
    """

    def __init__(self, prog: str, usage: str, description: str, examples: Sequence[str]) -> None:
        super().__init__(
            prog=prog,
            usage=usage,
            description=description,
            epilog="examples:\n" + "\n".join(f"  {example}" for example in examples),
            formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=27),
            allow_abbrev=False,
        )
        self.words: list[str] = []

    def read(self, argv: list[str]) -> Options:
        """The options in ``argv``; the other words are then in ``words``. Raises InputError, Answer."""
        end = argv.index("--") if "--" in argv else len(argv)
        options, rest = self.parse_known_args(argv[:end])
        for word in rest:
            if word.startswith("-") and word != "-":
                name = word.partition("=")[0]
                known = self._option_string_actions
                raise refuse("unknown option", name, known, f'"{self.prog} --help" lists the options')
        self.words = rest + argv[end + 1 :]
        return options

    def no_words(self) -> None:
        """Raises InputError where a word belongs to no option."""
        if not self.words:
            return
        word = self.words[0]
        hint = f'"{self.prog} --help" lists its options'
        if "=" in word:
            hint = f"a scenario line is given as --scenario {shown(word)}"
        elif self.prog == "pdviz":
            hint = "a command comes before the options"
        raise InputError(f"unexpected {shown(word)}; {hint}")

    def error(self, message: str) -> NoReturn:
        found = re.fullmatch(r"argument (\S+): (.*)", message, re.DOTALL)
        if found is None:
            raise InputError(message)
        name, complaint = found[1].rpartition("/")[2], found[2]
        if complaint == "expected one argument":
            complaint = "needs a value"
        elif complaint.startswith("ignored explicit argument "):
            complaint = f"takes no value, got {complaint.removeprefix('ignored explicit argument ')}"
        raise InputError(f"{name} {complaint}")

    def _print_message(self, message: str, file: Any = None) -> None:
        raise Answer(message)


# --- the scenario ----------------------------------------------------------------------------------


def add_scenario(parser: Parser, *, base: bool = True) -> None:
    """The options that every command shares, one for each field; ``base`` adds --scenario."""
    group = parser.add_argument_group(
        "scenario", "Defaults are in brackets. Counts may carry K, M or G: 32K is 32,768."
    )
    if base:
        group.add_argument(
            "--scenario",
            metavar="LINE|FILE",
            help="start from a share line (words like prompt=512) or a scenario file; the others override it",
        )
    default = Scenario()
    server = parser.add_argument_group(
        "server", "For the server view, serve and study: what comes to it, and how it forms its passes."
    )
    for field in FIELDS:
        where = server if field.group == "server" else group
        where.add_argument(
            f"--{field.key}", dest=field.name, metavar=_METAVARS[field.kind], help=_help(field, default)
        )


_METAVARS = {"name": "NAME", "choice": "CHOICE", "count": "N", "fraction": "F", "amount": "X"}


def _help(field: Field, default: Scenario) -> str:
    value = getattr(default, field.name)
    text = f"{field.help} One of {either(field.choices)}." if len(field.choices) > 2 else field.help
    usual = field.absent if value is None else count(value) if field.kind == "count" else value
    return f"{text} [{usual}]".replace("%", "%%")


def add_explain(parser: Parser) -> None:
    """--explain with the figures to explain; a list of words, None where it is not given."""
    parser.add_argument(
        "--explain",
        nargs="*",
        action="extend",
        metavar="FIGURE",
        help="explain these figures; all where none is named",
    )


def is_any_given(options: Options) -> bool:
    """True where at least one scenario option was used."""
    names = ("scenario", *(field.name for field in FIELDS))
    return any(getattr(options, name) is not None for name in names)


def scenario_of(options: Options, base: str | None = None) -> Scenario:
    """The scenario that the options describe, on top of ``base`` or --scenario. Raises InputError.

    Where nobody says how the weights of a model's file are stored, the file does.
    """
    text = base if base is not None else getattr(options, "scenario", None)
    asked = {} if text is None else read_keys(text)
    given = {field.name: getattr(options, field.name) for field in FIELDS}
    asked |= {name: value for name, value in given.items() if value is not None}
    scenario = edit(Scenario(), **asked)
    if "model" not in asked or "weights_dtype" in asked:
        return scenario

    from pdviz.catalogue import default_catalogue
    from pdviz.evaluation import as_stored

    return as_stored(scenario, default_catalogue())


def joined(words: Sequence[str]) -> str:
    """A scenario from the words of a command line: one, or a line whose quotes the shell has taken."""
    if not words:
        raise InputError('show needs a scenario: a line such as "prompt=512 gpu=h100", or a scenario file')
    return words[0] if len(words) == 1 else shlex.join(words)


def read_keys(text: str) -> dict[str, Any]:
    """The fields in a share line, or in the scenario file or picture of that name. Raises InputError."""
    if os.path.exists(text):
        from pdviz.catalogue import default_catalogue
        from pdviz.opening import fields_in, open_path

        return fields_in(open_path(text), default_catalogue())
    if "=" in text:
        return parse_keys(line_keys(text), LINE)
    raise InputError(f"scenario {shown(text)}: no such file, and no line of words such as prompt=512")


# --- choices and pictures --------------------------------------------------------------------------


def add_picture(parser: Parser, views: Sequence[str], themes: Sequence[str]) -> None:
    """The options of a picture; `picture_file`, `picture_size` and `moment` read them."""
    group = parser.add_argument_group("picture")
    group.add_argument("--out", metavar="FILE", help=f"the file to write, {either(SUFFIXES)}; required")
    group.add_argument("--view", metavar="VIEW", default=views[0], help=f"{either(views)} [{views[0]}]")
    group.add_argument("--at", metavar="SECONDS", help="the playhead, in seconds from the start of prefill")
    group.add_argument("--at-fraction", metavar="F", help="the playhead as a share of the request, 0 to 1")
    group.add_argument("--theme", metavar="THEME", default=themes[0], help=f"{either(themes)} [{themes[0]}]")
    group.add_argument("--size", metavar="WxH", default="1920x1080", help="pixels [1920x1080]")
    group.add_argument("--scale", metavar="F", default="1", help="enlarges everything, pixels too [1]")


def choice(option: str, text: str, known: Sequence[str]) -> str:
    """``text`` as one of the ``known`` names."""
    name = text.strip().lower()
    if name not in known:
        raise InputError(f"--{option} must be {either(known)}, got {shown(text)}")
    return name


def _number(text: str) -> float:
    """A number, percentages included; not a number where the text is none (so that no range holds it)."""
    clean = text.strip()
    try:
        return float(clean[:-1]) / 100 if clean.endswith("%") else float(clean)
    except ValueError:
        return float("nan")


def picture_size(size: str, scale: str) -> tuple[int, int, float]:
    """(width, height, scale) from "1920x1080" and "2"; the picture has scale times as many pixels."""
    match = re.fullmatch(r"([0-9]{1,9})[xX×]([0-9]{1,9})", size.strip())
    width, height = (int(match[1]), int(match[2])) if match else (0, 0)
    limit = count(LARGEST_SIDE_PX)
    if not (0 < width <= LARGEST_SIDE_PX and 0 < height <= LARGEST_SIDE_PX):
        raise InputError(f"--size must be like 1920x1080, from 1 to {limit} pixels a side, got {shown(size)}")
    factor = _number(scale)
    if not 0 < factor <= SCALE_LIMIT:
        raise InputError(f"--scale must be a number above 0 and up to {SCALE_LIMIT}, got {shown(scale)}")
    wide, high = round(width * factor), round(height * factor)
    if not (0 < wide <= LARGEST_SIDE_PX and 0 < high <= LARGEST_SIDE_PX):
        raise InputError(
            f"--size times --scale must be from 1 to {limit} pixels a side, got {count(wide)} x {count(high)}"
        )
    return width, height, factor


def moment(at: str | None, at_fraction: str | None, end_s: float) -> float | None:
    """Where the playhead stands in a request that ends at ``end_s``; None where nobody said."""
    if at is not None and at_fraction is not None:
        raise InputError("give either --at or --at-fraction, not both")
    if at is not None:
        time_s = _number(at)
        if not 0 <= time_s <= end_s or at.strip().endswith("%"):
            raise InputError(
                f"--at must be a number of seconds within the request, which ends at "
                f"{significant(end_s, 6)}, got {shown(at)}"
            )
        return time_s
    if at_fraction is None:
        return None
    fraction = _number(at_fraction)
    if not 0 <= fraction <= 1:
        raise InputError(f"--at-fraction must be a number from 0 to 1, got {shown(at_fraction)}")
    return fraction * end_s


def picture_file(text: str | None) -> str:
    """The file to draw to, once it is sure that it can be written and of what kind it is."""
    if text is None:
        raise InputError(f"render needs --out with a file name that ends in {either(SUFFIXES)}")
    if os.path.isdir(text):
        raise InputError(f"--out must be a file, {shown(text)} is a folder")
    if os.path.splitext(text)[1].lower() not in SUFFIXES or "\0" in text:
        raise InputError(f"--out must be a file name that ends in {either(SUFFIXES)}, got {shown(text)}")
    folder = os.path.dirname(text) or os.curdir
    if not os.path.isdir(folder):
        raise InputError(f"--out: there is no folder {shown(folder)}")
    if not os.access(text if os.path.exists(text) else folder, os.W_OK):
        raise InputError(f"--out: {shown(text)} cannot be written")
    return text
