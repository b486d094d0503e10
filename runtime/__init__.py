"""The engine of Deepline plays, and what an author imports: ``from runtime import play, steps, when``."""

from runtime.errors import ToolFailed, WaterfallIncomplete
from runtime.program import code_step, play, steps, tool_step, waterfall, when
from runtime.tools import ToolResult

__all__ = [
    "ToolFailed",
    "ToolResult",
    "WaterfallIncomplete",
    "code_step",
    "play",
    "steps",
    "tool_step",
    "waterfall",
    "when",
]
