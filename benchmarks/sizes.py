"""How much is measured: small by default, the sizes of the goals with ``FULL=1``, or as one wishes."""

from __future__ import annotations

import os
from dataclasses import dataclass

MEASURES = ("engine", "batched", "slow", "single", "large", "memory", "takeover")


@dataclass(frozen=True, slots=True)
class Sizes:
    """Rows are those of the larger run; ``rows // 5`` are those of the smaller one beside it."""

    measures: tuple[str, ...]
    rows: int
    slow_rows: int
    single_rows: int
    large_rows: int
    pure_rows: int
    takeover_rows: int
    stream_rows: int
    latency_ms: int
    rounds: int

    @classmethod
    def from_environment(cls) -> Sizes:
        """Read ``MEASURES``, ``FULL``, ``ROWS``, ``LATENCY_MS`` and ``ROUNDS``."""
        is_full = bool(os.environ.get("FULL"))
        given = int(os.environ.get("ROWS") or 0)

        def size(usual: int, full: int) -> int:
            return given or (full if is_full else usual)

        return cls(
            measures=tuple(os.environ.get("MEASURES", "").split()) or MEASURES,
            rows=size(10_000, 50_000),
            slow_rows=size(10_000, 50_000),
            single_rows=size(2_000, 5_000),
            large_rows=size(20_000, 100_000),
            pure_rows=size(100_000, 1_000_000),
            takeover_rows=size(20_000, 100_000),
            stream_rows=size(200_000, 1_000_000),
            latency_ms=int(os.environ.get("LATENCY_MS") or 50),
            rounds=int(os.environ.get("ROUNDS") or 3),
        )
