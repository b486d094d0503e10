"""Child plays: a play that another play runs, inside the same engine, limits and lanes."""

from __future__ import annotations

from typing import Protocol

from runtime.errors import ChildFailed, HostFailed, PlayError, describe
from runtime.identity import call_name, context_key
from runtime.program import PlayFunction
from runtime.scope import Scope, current
from runtime.session import Session, Standing
from runtime.values import Json, check_json, digest


class Parent(Protocol):
    """What a child play needs of the context that calls it."""

    session: Session
    standing: Standing

    async def child(self, name: str, place: str) -> tuple[Parent, PlayFunction]:
        """Give the context and the function of a child play."""


async def run_play(parent: Parent, key: str, play: str, play_input: Json) -> Json:
    """Run a play of the library below ``parent``; give what it returned.

    At the top level a receipt keeps the value. The durable name is made of the key and the input, so it
    does not depend on the order in which children start. Raises PlayError on recursion, depth or an
    unknown play; ChildFailed where the child raised.
    """
    key = context_key(key, "ctx.run_play")
    name = context_key(play, "ctx.run_play")
    given = check_json(play_input, f"the input of the child play {key!r}")
    _check_ancestry(parent, name)
    scope = current.get()
    place = call_name(f"{scope.place}/play", f"{key}:{name}", given)
    if scope.row is not None:
        return await _run(parent, name, given, place)
    return await _run_with_receipt(parent, name, given, place)


async def _run_with_receipt(parent: Parent, name: str, given: Json, place: str) -> Json:
    receipts = parent.session.ports.receipts
    receipt = await receipts.claim(place, digest(given))
    if receipt["state"] == "completed":
        return receipt["output"]
    if receipt["state"] == "refused":
        raise PlayError(f"ctx.run_play({name!r}): {receipt['error']}")
    try:
        output = await _run(parent, name, given, place)
    except ChildFailed as error:
        await receipts.fail(place, describe(error))
        raise
    await receipts.complete(place, output)
    return output


async def _run(parent: Parent, name: str, given: Json, place: str) -> Json:
    child, function = await parent.child(name, place)
    scope = current.get()
    row = scope.row
    token = current.set(Scope(child.standing.place, inside=scope.inside))
    if row is not None:
        row.worker.wait()
    try:
        result = await function(child, given)
        return check_json(result, f"the child play {name!r}")
    except HostFailed:
        raise
    except Exception as error:  # the child's author may raise anything
        raise ChildFailed(
            f"the child play {name!r} failed: {type(error).__name__}: {error}"
        ) from error
    finally:
        current.reset(token)
        if row is not None:
            row.worker.resume()


def _check_ancestry(parent: Parent, name: str) -> None:
    chain = (*parent.standing.ancestry, parent.standing.play)
    if name.strip().casefold() in (known.strip().casefold() for known in chain):
        told = " → ".join((*chain, name))
        raise PlayError(f"a play cannot run itself, directly or through others: {told}")
    limit = int(parent.session.form.limits.get("max_play_call_depth") or 6)
    if len(chain) > limit:
        raise PlayError(
            f"the child play {name!r} would stand {len(chain)} levels below the run's play,"
            f" and the limit max_play_call_depth is {limit}"
        )
