"""Write what came out of runs into their files: ``python -m tests.recorded_runs.record FILE…``.

Do so for a new file, and for an old one only where a change of durable names or cells is meant: runs that an
older version began no longer find their work then.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from tests.recorded_runs.replay import read, replay


def main(paths: list[str]) -> None:
    for path in map(Path, paths):
        told = read(path)
        told["recorded"] = asyncio.run(replay(told))
        path.write_text(json.dumps(told, indent=1, ensure_ascii=False, default=str) + "\n")
        print(f"{path.name}: {len(told['recorded'])} runs")


if __name__ == "__main__":
    main(sys.argv[1:])
