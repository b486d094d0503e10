"""Says where an author's code stands when it does not let the event loop turn.

The host asks the loop for signs of life. Each re-arms a timer here; when it runs out, a signal
handler tells the host the row and step, on top of whatever blocks. Code that does not even let
signal handlers run gets its traceback printed, which needs no Python.
"""

from __future__ import annotations

import faulthandler
import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Any

from runtime.calling import NOT_AUTHORS
from runtime.scope import current

STDERR = 2
TELL_AFTER = 0.7
PRINT_AFTER = 0.85
"""Parts of the time after which the host gives up."""


class LoopWatch:
    """Watches the loop of this thread, which must be the main one. ``tell`` must not wait."""

    def __init__(self, seconds: float, tell: Callable[[dict[str, Any]], None]) -> None:
        self._seconds = seconds
        self._tell = tell
        signal.signal(signal.SIGALRM, self._blocked)
        self.turned()

    def turned(self) -> None:
        """The loop has turned: begin to count anew."""
        signal.setitimer(signal.ITIMER_REAL, self._seconds * TELL_AFTER)
        faulthandler.dump_traceback_later(self._seconds * PRINT_AFTER, file=STDERR)

    def _blocked(self, number: int, frame: FrameType | None) -> None:
        scope = current.get(None)
        row = scope.row if scope else None
        field = scope.place[len(row.place) + 1 :] if scope and row else ""
        self._tell(
            {
                "frame": row.frame if row else 0,
                "position": row.position if row else 0,
                "field": field,
                "line": _author_line(frame),
            }
        )


def _author_line(frame: FrameType | None) -> str:
    """Give ``file:line`` of the innermost frame that is an author's, or ""."""
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith((*NOT_AUTHORS, "<frozen")):
            return f"{os.path.basename(name)}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
