"""Child plays: a play that another play runs, inside the same engine, limits and lanes."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Protocol

from runtime.calling import author_error
from runtime.durable import inside
from runtime.errors import ChildFailed, PlayError, raise_of_host
from runtime.identity import call_name, context_key
from runtime.ports import ChildCall
from runtime.program import PlayFunction
from runtime.receipts import Work, once
from runtime.scope import Scope, current
from runtime.session import Session, Standing
from runtime.turns import Turn
from runtime.values import Json, check_json, digest


class Parent(Protocol):
    """What a child play needs of the context that calls it. ``turn`` is None in the run's own play."""

    session: Session
    standing: Standing
    turn: Turn | None

    async def child(self, name: str, place: str) -> tuple[Parent, PlayFunction]:
        """Give the context and the function of a child play."""


async def run_play(parent: Parent, key: str, play: str, play_input: Json) -> Json:
    """Run a play of the library below ``parent``; give what it returned, which a receipt keeps.

    The durable name is made of the key and the input, so it does not depend on the order in which children
    start. Raises PlayError on recursion, depth or an unknown play, which count nothing; ChildFailed where
    the child raised. A used-up limit on child plays stops the run.
    """
    key = context_key(key, "ctx.run_play")
    name = context_key(play, "ctx.run_play")
    given = check_json(play_input, f"the input of the child play {key!r}")
    _check_ancestry(parent, name)
    scope = current.get()
    place = call_name(f"{scope.place}/play", f"{key}:{name}", given)
    child, function = await parent.child(name, place)
    counted = ChildCall(play=name, parent=parent.standing.place)
    work = Work(place, f"ctx.run_play({key!r}, {name!r})", digest(given), counted)
    running = once(parent.session, work, lambda: _run(parent, key, child, function, given))
    async with inside(scope.row.worker) if scope.row else nullcontext():
        return await parent.session.trace.around("play_call", name, running, place=place, play=name)


async def _run(
    parent: Parent, key: str, child: Parent, function: PlayFunction, given: Json
) -> Json:
    name = child.standing.play
    async with parent.session.turns.turn(name, parent.turn) as child.turn:
        token = current.set(Scope(child.standing.place, caller=current.get()))
        try:
            return check_json(await function(child, given), f"the child play {name!r}")
        except Exception as error:  # the child's author may raise anything
            raise_of_host(error)
            raise ChildFailed(key, name, author_error(error)) from error
        finally:
            current.reset(token)


def _check_ancestry(parent: Parent, name: str) -> None:
    chain = (*parent.standing.ancestry, parent.standing.play)
    if name.strip().casefold() in (known.strip().casefold() for known in chain):
        told = " → ".join((*chain, name))
        raise PlayError(
            f"a play cannot run itself, directly or through others ({told}): repeat the work in the play,"
            " or map the rows"
        )
    limit = parent.session.form.limits.get("max_play_call_depth", 6)
    if limit is not None and len(chain) > limit:
        raise PlayError(
            f"the child play {name!r} would stand {len(chain)} levels below the run's play,"
            f" and the limit max_play_call_depth is {limit}: let fewer plays call each other, or start"
            " the run again with a higher limit"
        )
