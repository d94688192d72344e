"""Small mistakes planted in the code one at a time: do the tests see them?

    make mutants [ARGS="--seed 1 --count 40 --jobs 2"]

A sample of all places in the rooms below, the same for the same seed and code. A script of our own, because
the tools for it (mutmut, cosmic-ray) try every place, which takes days here, and run our tests in an order
that is blind to which of them are near. Here those named as the mutated module come first, then those of its
room, and others only where these have seen nothing; tests that need a window or read files are not asked, so
that a few survivors are killed by them after all.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("costmodel", "scene", "explain", "store.py", "share.py")
LEAST_KILLED = 0.9
LONGEST_S = 600
NOT_ASKED = ("perf", "pictures", "widgets", "against_facts", "readers", "serving")  # long, or far away
NOT_NEAR = ("test_packaging.py", "test_environment.py", "test_isolation.py", "test_app.py", "test_binding.py")

OTHERS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
UNSEEN = {"annotation", "returns", "decorator_list", "type_params"}  # parts that do nothing when run


def parts(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it that is run."""
    yield node
    for name, value in ast.iter_fields(node):
        if name not in UNSEEN:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from parts(child)


def mutate(node: ast.AST) -> str | None:
    """Plants a mistake into a node and says which; None where there is none to plant."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OTHERS:
        node.ops[0] = OTHERS[type(node.ops[0])]()  # type: ignore[assignment]
    elif isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)) and type(node.op) in OTHERS:
        node.op = OTHERS[type(node.op)]()  # type: ignore[assignment]
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        node.value = not node.value
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        node.value += 1
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
        node.func.id = CALLS[node.func.id]
    elif isinstance(node, (ast.If, ast.IfExp)):
        node.test = ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.Return) and node.value is not None:
        node.value = ast.Constant(None)
    else:
        return None
    shown = ast.unparse(node.test if isinstance(node, (ast.If, ast.IfExp)) else node)
    return f"line {node.lineno}: {shown.splitlines()[0][:90]}"  # type: ignore[attr-defined]


def places(path: Path) -> list[int]:
    """Numbers of the parts of a file in which a mistake can be planted."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [number for number, node in enumerate(list(parts(tree))) if mutate(node) is not None]


def mutant(path: Path, number: int) -> tuple[str, str]:
    """The text of a file with a mistake in its part ``number``, and what it is."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    said = mutate(list(parts(tree))[number])
    return ast.unparse(ast.fix_missing_locations(tree)), said or ""


def stages(module: Path) -> list[list[str]]:
    """What to ask one after the other: tests named as the module, those of its room, the others."""
    tests = [path.relative_to(ROOT) for path in sorted((ROOT / "tests").rglob("test_*.py"))]
    tests = [path for path in tests if path.parts[1] not in NOT_ASKED and path.name not in NOT_NEAR]
    room, names = (
        module.parts[1].removesuffix(".py"),
        {module.stem, *module.parts[1:-1]} - {"costmodel", "scene"},
    )
    if room != "costmodel":  # which knows nothing of the rooms above it, nor do its tests
        tests = [path for path in tests if path.parts[1] != "costmodel"]
    near = [path for path in tests if any(path.stem.startswith(f"test_{name}") for name in names)]
    same = [path for path in tests if path not in near and room in (path.parts[1], path.stem[5:])]
    rest = [path for path in tests if path not in near and path not in same]
    return [[str(path) for path in stage] for stage in (near, same, rest) if stage]


def is_killed(copy: Path, module: Path, text: str) -> bool:
    """True where a test of the copy fails once ``module`` has the text."""
    file = copy / module
    before = file.read_text(encoding="utf-8")
    file.write_text(text, encoding="utf-8")
    environ = {**os.environ, "PYTHONPATH": str(copy), "CI": "true", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    try:
        for stage in stages(module):
            done = subprocess.run(
                [*command, *stage], cwd=copy, env=environ, capture_output=True, timeout=LONGEST_S, check=False
            )
            if done.returncode != 0:
                return True
    except subprocess.TimeoutExpired:
        return True
    finally:
        file.write_text(before, encoding="utf-8")
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default="", help="a part of the path of the modules to take")
    settings = parser.parse_args()
    rooms = [ROOT / "pdviz" / room for room in ROOMS]
    files = [path for room in rooms for path in ([room] if room.is_file() else sorted(room.rglob("*.py")))]
    every = [(path, number) for path in files if settings.only in str(path) for number in places(path)]
    sample = random.Random(settings.seed).sample(every, min(settings.count, len(every)))
    copies: SimpleQueue[Path] = SimpleQueue()

    def tried(choice: tuple[Path, int]) -> str | None:
        """What was planted where nobody saw it."""
        module = choice[0].relative_to(ROOT)
        text, said = mutant(*choice)
        copy = copies.get()
        killed = is_killed(copy, module, text)
        copies.put(copy)
        print(f"{'killed' if killed else 'SURVIVED'}  {module} {said}", flush=True)
        return None if killed else f"{module} {said}"

    with tempfile.TemporaryDirectory(prefix="pdviz-mutants-") as folder:
        for job in range(settings.jobs):
            copy = Path(folder) / str(job)
            ignored = shutil.ignore_patterns(
                ".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "golden"
            )
            shutil.copytree(ROOT, copy, ignore=ignored)
            copies.put(copy)
        with ThreadPoolExecutor(settings.jobs) as pool:
            survivors = [said for said in pool.map(tried, sample) if said]
    killed = len(sample) - len(survivors)
    print(f"\n{killed} of {len(sample)} killed ({killed / len(sample):.0%}), of {len(every):,} places")
    print("\n".join(f"survived: {said}" for said in survivors))
    return int(killed < LEAST_KILLED * len(sample))


if __name__ == "__main__":
    sys.exit(main())
