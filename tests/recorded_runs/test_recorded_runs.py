"""Today's engine gives the cells, results and durable names that were recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.recorded_runs.replay import read, replay

FILES = sorted(Path(__file__).parent.glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
async def test_a_recorded_run_comes_out_the_same(path: Path) -> None:
    # rule 2.1, 10.4, 7.3, 6.17, 13.9
    told = read(path)
    shown: Any = json.loads(json.dumps(await replay(told), default=str))
    assert shown == told["recorded"]
