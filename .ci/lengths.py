"""No module is longer than a person keeps in mind."""

import sys
from pathlib import Path

MOST = 400
ROOT = Path(__file__).resolve().parent.parent

if __name__ == "__main__":
    lengths = {path: len(path.read_bytes().splitlines()) for path in sorted((ROOT / "pdviz").rglob("*.py"))}
    long = [f"{path.relative_to(ROOT)}: {lines} lines" for path, lines in lengths.items() if lines > MOST]
    print("\n".join(long) if long else f"{len(lengths)} modules, none over {MOST} lines")
    sys.exit(bool(long) or not lengths)
