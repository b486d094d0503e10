"""``python -m benchmarks``: measure, and print one table."""

from __future__ import annotations

import sys
import time
from importlib import import_module

from benchmarks.installation import installation
from benchmarks.results import Result, table
from benchmarks.sizes import Sizes


def main() -> None:
    sizes = Sizes.from_environment()
    results: list[Result] = []
    with installation() as here:
        for name in sizes.measures:
            print(f"{time.strftime('%H:%M:%S')} {name}", file=sys.stderr, flush=True)
            results += import_module(f"benchmarks.measures.{name}").measure(here, sizes)
    print(table(results))


if __name__ == "__main__":
    main()
