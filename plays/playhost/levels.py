"""What ``PLAY_ISOLATION`` asks of the process that starts a play, and how its answer is told."""

from __future__ import annotations

from typing import Any

from plays.playhost.messages import Greeting

ORDERS: dict[str, dict[str, Any]] = {
    "auto": {"namespaces": True, "landlock": True, "required": []},
    "strict": {"namespaces": True, "landlock": True, "required": ["namespaces"]},
    "off": {"namespaces": False, "landlock": False, "required": []},
}


def level(greeting: Greeting) -> str:
    """Name the level that a play process has: "namespaces, Landlock", "limits only"."""
    return ", ".join(greeting.get("isolation", [])) or "limits only"


def sentence(greeting: Greeting) -> str:
    """Tell it in the run's log, with what the machine lacks."""
    lacking = [f"no {name} ({why})" for name, why in greeting.get("lacking", {}).items()]
    return "; ".join([f"isolation of the play: {level(greeting)}", *lacking])


def refusal(why: str) -> str:
    """Tell why a run may not go on where namespaces are required."""
    return (
        f"PLAY_ISOLATION is strict, and this machine gives a play no namespaces ({why}); allow them"
        " there or set PLAY_ISOLATION to auto, then resume"
    )
