"""Batches of a hundred and fifty, a quick provider: what one more row costs, beside the others."""

from __future__ import annotations

import math
from functools import partial

from benchmarks.contestants.work import BATCH_SIZES, FIRST, SECOND, rows
from benchmarks.installation import Installation, Took
from benchmarks.product import Ran, batch_tools, product
from benchmarks.results import Result, at_least, at_most, figure, middle
from benchmarks.rounds import Pair, Pass, Rounds, interleaved, rates, ratio
from benchmarks.sizes import Sizes
from plays.tools.sandbox.rules import outcome

NAME = "batched"
BARE_GOAL, REQUESTS_GOAL = 6.0, 1.05


def measure(here: Installation, sizes: Sizes) -> list[Result]:
    measured = _rounds(here, sizes)
    time = partial(ratio, measured, lambda pair: pair.seconds_a_row)
    return [
        at_least(NAME, "rows/s by DBOS', a step per batch", time("DBOS", "product"), 1.0),
        at_most(
            NAME, "time by a loop's that commits each batch", time("product", "upsert"), BARE_GOAL
        ),
        at_most(NAME, "requests by the ideal number", _requests(measured), REQUESTS_GOAL),
        figure(NAME, "time by a bare loop's", f"{time('product', 'bare'):.2f}"),
        figure(NAME, f"rows/s at {sizes.latency_ms} ms", rates(measured)),
        figure(NAME, "processor time a row", _shares(measured)),
    ]


def _rounds(here: Installation, sizes: Sizes) -> Rounds:
    with here.sandbox(sizes.latency_ms) as sandbox, product(here, sandbox) as live:
        batch_tools(is_batched=True)

        def other(module: str, kind: str, tag: str, n: int) -> Took:
            return here.contestant(module, kind, sandbox, tag, n)

        passes: dict[str, Pass] = {
            "product": partial(live.run, "emails"),
            "DBOS": partial(other, "with_dbos", "batches"),
            "upsert": partial(other, "bare", "upsert"),
            "bare": partial(other, "bare", "plain"),
        }
        return interleaved(passes, sizes.rows, sizes.rounds)


def _requests(measured: Rounds) -> float:
    """Give how many requests reached the provider by how many would do."""
    return middle(_sent(pair["product"]) for pair in measured)


def _sent(pair: Pair) -> float:
    run = pair.long
    assert isinstance(run, Ran)
    missed = sum(outcome(FIRST, row) is None for row in rows(run.tag, run.rows))
    ideal = math.ceil(run.rows / BATCH_SIZES[FIRST]) + math.ceil(missed / BATCH_SIZES[SECOND])
    return run.requests / ideal


def _shares(measured: Rounds) -> str:
    """Tell the processor time of one more row, by process, in microseconds."""
    pairs = [round_["product"] for round_ in measured]
    names = pairs[0].long.shares  # type: ignore[attr-defined]
    return ", ".join(f"{name} {_share(pairs, name):.0f} µs" for name in names)


def _share(pairs: list[Pair], name: str) -> float:
    def microseconds(pair: Pair) -> float:
        short, long = pair.short, pair.long
        assert isinstance(short, Ran)
        assert isinstance(long, Ran)
        return (long.shares[name] - short.shares[name]) / (long.rows - short.rows) * 1e6

    return middle(map(microseconds, pairs))
