"""``python -m pdviz``."""

import sys

from pdviz.cli import main

if __name__ == "__main__":
    sys.exit(main())
