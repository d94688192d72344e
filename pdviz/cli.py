"""The command line: one command carried out, or one sentence about why it cannot be.

Exit codes: 0; 2 for bad input, with one line on stderr and nothing on stdout; 130 when interrupted.
Opening the window goes through here, so everything is imported where it is needed; only what draws
may load Qt.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pdviz import console
from pdviz.errors import InputError
from pdviz.names import shown

if TYPE_CHECKING:
    from pdviz.catalogue import Catalogue
    from pdviz.options import Parser
    from pdviz.scenario import Scenario

EXIT_BAD_INPUT, EXIT_INTERRUPTED = 2, 130
WINDOW_THEMES = ("dark", "light", "system")
PICTURE_THEMES = ("dark", "light", "print")

# What a command is for: usage, description, examples.
HELP = {
    "": (
        "pdviz [scenario options] [--theme THEME] [--reset]\n       pdviz COMMAND ...",
        "See, to scale, how a language model is served: prefill is bound by compute, decode by memory\n"
        "bandwidth. Without a command the window opens.\n\n"
        "commands (pdviz COMMAND --help tells more):\n"
        "  show SCENARIO    open the window on a scenario\n"
        "  estimate         print what a request costs, and why\n"
        "  serve            serve many requests, pass by pass, and print how long they wait\n"
        "  study            serve them again and again with a knob varied\n"
        "  render           draw a view to a PNG, SVG or PDF file\n"
        "  models           list the models that are known\n"
        "  accelerators     list the accelerators that are known",
        (
            "pdviz",
            "pdviz --model qwen3-8b --gpu l4 --prompt 32K",
            "pdviz estimate --prompt 4000 --others 63",
        ),
    ),
    "show": (
        "pdviz show SCENARIO [scenario options] [--theme THEME] [--reset]",
        "Open the window on a scenario: a share line (words like prompt=512), or a TOML file of the same\n"
        "keys. The options override it.",
        (
            'pdviz show "model=llama-3.1-8b gpu=h100 prompt=32K others=63"',
            "pdviz show busy.toml --theme light",
        ),
    ),
    "estimate": (
        "pdviz estimate [scenario options] [--explain [FIGURE ...]] [--json]",
        "Print what a request costs: times, what limits each pass, memory. JSON is in SI units.\n"
        "With --explain: where figures come from, formula and numbers, inputs and sources. A figure is a\n"
        "name such as ttft, itl, decode.bytes or crossover, or a group such as prefill or memory.",
        (
            "pdviz estimate",
            'pdviz estimate --model "Llama 3.1 405B" --gpu h200 --tp 8 --weights fp8',
            "pdviz estimate --prompt 32K --output 256 --others 63 --json",
            'pdviz estimate --scenario "gpu=l4 prompt=2K" --fidelity ideal',
            "pdviz estimate --prompt 128 --explain ttft prefill.bound crossover",
        ),
    ),
    "models": (
        "pdviz models [SEARCH | FILE ...] [--all] [--json]",
        "List the models that are known, or those whose names hold every word of SEARCH, or those of files.\n"
        "Three or fewer are listed with their sources. With --all: every field of each, heads, windows and\n"
        "experts too.",
        (
            "pdviz models",
            "pdviz models qwen3 --all",
            "pdviz models deepseek v3 --json",
        ),
    ),
    "accelerators": (
        "pdviz accelerators [SEARCH | FILE ...] [--json | --toml]",
        "List the accelerators that are known, or those whose names hold every word of SEARCH, or those of\n"
        "files. Three or fewer are listed with their sources, and with the figures that were not believed.\n"
        "With --toml: the one of that name as a file, to be changed into one of your own for --gpu FILE.",
        (
            "pdviz accelerators",
            "pdviz accelerators h100",
            "pdviz accelerators amd --json",
            "pdviz accelerators h100 --toml",
        ),
    ),
    "render": (
        "pdviz render --out FILE [--view VIEW] [--at SECONDS | --at-fraction F] [--theme THEME]\n"
        "                    [--size WxH] [--scale F] [scenario options]",
        "Draw a view to a file. Needs no display; the same input gives the same picture.",
        (
            "pdviz render --out chat.png",
            "pdviz render --prompt 32K --at-fraction 0.5 --size 1280x720 --scale 2 --out long.png",
            "pdviz render --theme print --out paper.pdf",
        ),
    ),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out ``argv`` (None: what the process was given) and return the exit code."""
    try:
        return _run(list(sys.argv[1:] if argv is None else argv))
    except InputError as error:
        console.say(str(error))
        return EXIT_BAD_INPUT
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def _run(argv: list[str]) -> int:
    if not argv:
        return _open_window(None, None, reset=False)
    from pdviz.options import Answer, refuse

    first = argv[0]
    try:
        if first in COMMANDS:
            return COMMANDS[first](argv[1:])
        if first.startswith("-"):
            return _window(argv)
    except Answer as answer:
        console.write(str(answer))
        return 0
    hint = '"pdviz show" opens a scenario' if "=" in first else ""
    raise refuse("unknown command", first, COMMANDS, hint)


# --- commands --------------------------------------------------------------------------------------


def _parser(command: str) -> Parser:
    from pdviz.options import Parser

    return Parser(f"pdviz {command}".strip(), *HELP[command])


def _add_window_options(parser: Parser) -> None:
    parser.add_argument("--theme", metavar="THEME", help=f"{', '.join(WINDOW_THEMES)} [as last time]")
    parser.add_argument(
        "--reset", action="store_true", help="forget the window's layout and what was last open"
    )


def _window(argv: list[str]) -> int:
    from pdviz import __version__, options

    parser = _parser("")
    parser.add_argument(
        "--version", action="version", version=f"pdviz {__version__}", help="show the version"
    )
    _add_window_options(parser)
    options.add_scenario(parser)
    given = parser.read(argv)
    parser.no_words()
    if given.theme is not None:
        given.theme = options.choice("theme", given.theme, WINDOW_THEMES)
    scenario = options.scenario_of(given) if options.is_any_given(given) else None
    return _open_window(scenario, given.theme, reset=given.reset)


def _show(argv: list[str]) -> int:
    from pdviz import options

    parser = _parser("show")
    _add_window_options(parser)
    options.add_scenario(parser, base=False)
    given = parser.read(argv)
    if given.theme is not None:
        given.theme = options.choice("theme", given.theme, WINDOW_THEMES)
    scenario = options.scenario_of(given, options.joined(parser.words))
    return _open_window(scenario, given.theme, reset=given.reset)


def _estimate(argv: list[str]) -> int:
    from pdviz import options

    parser = _parser("estimate")
    parser.add_argument("--json", action="store_true", help="print JSON, in SI units")
    options.add_explain(parser)
    options.add_scenario(parser)
    given = parser.read(argv)
    parser.no_words()
    if given.explain is not None:
        return _explain(given.explain, options.scenario_of(given), as_json=given.json)
    result = console.evaluated(options.scenario_of(given))

    from pdviz import report

    console.write(
        console.as_json(report.estimate_json(result)) if given.json else report.estimate_text(result)
    )
    return 0


def _explain(words: list[str], scenario: Scenario, *, as_json: bool) -> int:
    from pdviz.explain import explain, explanations_json, explanations_text, find_keys

    keys = find_keys(words)
    result = console.evaluated(scenario)
    found = [explain(result, key) for key in keys]
    console.write(console.as_json(explanations_json(found)) if as_json else explanations_text(found))
    return 0


def _models(argv: list[str]) -> int:
    from pdviz.listings import models_fields, models_json, models_table

    return _list("models", argv, models_json, models_table, models_fields)


def _accelerators(argv: list[str]) -> int:
    from pdviz.listings import accelerators_json, accelerators_table

    if "--toml" in argv:
        from pdviz.catalogue import default_catalogue
        from pdviz.share import accelerator_toml

        parser = _parser("accelerators")
        parser.add_argument("--toml", action="store_true")
        parser.read(argv)
        console.write(accelerator_toml(default_catalogue().accelerator(" ".join(parser.words) or "H100 SXM")))
        return 0
    return _list("accelerators", argv, accelerators_json, accelerators_table)


def _list(
    command: str,
    argv: list[str],
    as_json: Callable[[Catalogue, str], dict[str, Any]],
    as_table: Callable[[Catalogue, str], str],
    in_full: Callable[[Catalogue, str], str] | None = None,
) -> int:
    from pdviz.catalogue import default_catalogue

    parser = _parser(command)
    if in_full is not None:
        parser.add_argument("--all", action="store_true", help="every field of each, with sources")
    parser.add_argument("--json", action="store_true", help="print JSON, in SI units, with sources")
    given = parser.read(argv)
    search = " ".join(parser.words)
    catalogue = default_catalogue()
    if catalogue.problems and not getattr(catalogue, command):
        raise InputError(catalogue.problems[0])
    console.warn(catalogue)
    if len(parser.words) > 1 and not os.path.exists(search):
        catalogue, search = _of_files(catalogue, command, parser.words)
    as_text = in_full if in_full is not None and given.all else as_table
    console.write(console.as_json(as_json(catalogue, search)) if given.json else as_text(catalogue, search))
    return 0


def _of_files(catalogue: Catalogue, command: str, words: list[str]) -> tuple[Catalogue, str]:
    """(the entries of the files among ``words`` and nothing else, "") where there are several words.

    Where none is a file, they are one search in the whole catalogue. Raises InputError.
    """
    from pdviz.catalogue import Catalogue
    from pdviz.files import is_file_name

    files = list(dict.fromkeys(word for word in words if is_file_name(word)))
    others = [word for word in words if word not in files]
    if not files:
        return catalogue, " ".join(words)
    if others:
        raise InputError(
            f"{command}: files and words of a search do not go together, got {shown(others[0])} "
            f"beside {shown(files[0])}"
        )
    if command == "models":
        return Catalogue((), tuple(catalogue.model(file) for file in files)), ""
    return Catalogue(tuple(catalogue.accelerator(file) for file in files), ()), ""


def _render(argv: list[str]) -> int:
    from pdviz import options
    from pdviz.export import render
    from pdviz.widgets.views import VIEW_BY_NAME, VIEW_NAMES

    parser = _parser("render")
    options.add_picture(parser, VIEW_NAMES, PICTURE_THEMES)
    options.add_scenario(parser)
    given = parser.read(argv)
    parser.no_words()
    view = options.choice("view", given.view, VIEW_NAMES)
    theme = options.choice("theme", given.theme, PICTURE_THEMES)
    width, height, scale = options.picture_size(given.size, given.scale)
    out = options.picture_file(given.out)
    result = console.evaluated(options.scenario_of(given))
    time_s = options.moment(given.at, given.at_fraction, VIEW_BY_NAME[view].end_s(result))
    try:
        render(
            view, result.scenario, out, width=width, height=height, scale=scale, theme=theme, time_s=time_s
        )
    except OSError as error:
        raise InputError(f"--out: {out} cannot be written ({error.strerror or error})") from error
    return 0


def _serve(argv: list[str]) -> int:
    from pdviz.server_commands import serve

    return serve(argv)


def _study(argv: list[str]) -> int:
    from pdviz.server_commands import study

    return study(argv)


COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "show": _show,
    "estimate": _estimate,
    "serve": _serve,
    "study": _study,
    "render": _render,
    "models": _models,
    "accelerators": _accelerators,
}


def _open_window(scenario: Scenario | None, theme: str | None, *, reset: bool) -> int:
    if scenario is not None:  # what cannot be computed is said here, not in a window
        scenario = console.evaluated(scenario).scenario
    from pdviz.app import run

    return run(scenario, theme=theme, reset=reset)
