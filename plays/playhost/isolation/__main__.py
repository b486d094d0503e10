"""From the keeper to the engine: ``python -m plays.playhost.isolation <descriptor> <order>``.

The order is JSON: ``{"namespaces", "landlock": what to use, "required": what it must not do without}``.
Before any of the author's code, the worker is told at the descriptor what this machine gave, as
``{"isolation": […], "lacking": {…}}``; or ``{"refused": why}``, and nothing is run.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from typing import Any, NoReturn

from plays.playhost.isolation import bounds, keeper, landlock, namespaces, view
from plays.playhost.isolation.kernel import IS_LINUX, PR_SET_DUMPABLE, Lacking, prctl

Json = Any


def main() -> NoReturn:
    """Make the play's process, and keep it."""
    descriptor, order = int(sys.argv[1]), json.loads(sys.argv[2])
    os.umask(0o022)
    keeper.become_keeper()
    told: dict[str, Json] = {"isolation": [], "lacking": {}}
    others = 0
    child = _in_namespaces(descriptor, told) if order["namespaces"] else None
    if child is None:
        if "namespaces" in order["required"]:
            _refuse(descriptor, told["lacking"])
        others = bounds.tasks_of(bounds.NOBODYS_USER if os.geteuid() == 0 else os.geteuid())
        parent, child = os.getpid(), keeper.fork()
    else:
        parent = 1
    if child.pid == 0:
        keeper.begin_play(parent)
        _confine(order, told, others)
        _play(descriptor, told)
    os.close(descriptor)
    _keep_private()
    keeper.keep(child)


def _in_namespaces(descriptor: int, told: dict[str, Json]) -> keeper.Child | None:
    told["isolation"].append("namespaces")
    try:
        return namespaces.start(descriptor)
    except Lacking as error:
        told["isolation"].clear()
        told["lacking"]["namespaces"] = str(error)
        return None


def _confine(order: dict[str, Json], told: dict[str, Json], others: int) -> None:
    """Take from this process what a play must not have; it is nobody's afterwards."""
    has_namespaces = "namespaces" in told["isolation"]
    bounds.set_bounds(others)
    parent = os.getppid()
    bounds.give_up_rights(is_root=os.geteuid() == 0, with_way=not has_namespaces)
    # Giving up rights forgets that.
    keeper.die_with_parent(parent)
    _keep_private()
    if order["landlock"]:
        try:
            _under_landlock(has_namespaces=has_namespaces)
            told["isolation"].append("Landlock")
        except Lacking as error:
            told["lacking"]["Landlock"] = str(error)


def _keep_private() -> None:
    """Have no other process of this user, another play say, look into this one."""
    if IS_LINUX:
        prctl("dumpable", PR_SET_DUMPABLE, 0)


def _under_landlock(*, has_namespaces: bool) -> None:
    if has_namespaces:
        landlock.confine(["/"], [*view.DEVICES, view.SCRATCH])
    else:
        landlock.confine([*view.readable(), "/proc/self"], view.DEVICES)


def _play(descriptor: int, told: dict[str, Json]) -> NoReturn:
    _tell(descriptor, told)
    sys.argv = [sys.argv[0], str(descriptor)]
    from runtime.remote.__main__ import main as run_engine

    run_engine()
    os._exit(0)


def _refuse(descriptor: int, lacking: dict[str, str]) -> NoReturn:
    _tell(descriptor, {"refused": lacking.get("namespaces", "none was asked for")})
    os._exit(0)


def _tell(descriptor: int, message: dict[str, Json]) -> None:
    body = json.dumps(message).encode()
    with socket.socket(fileno=os.dup(descriptor)) as host:
        host.sendall(len(body).to_bytes(4, "big") + body)


if __name__ == "__main__":
    main()
