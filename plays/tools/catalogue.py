"""Finding a tool by its id, by its batch operation, or by the part it plays in a named waterfall. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from plays.tools.definitions import Tool
from runtime.tools import ToolSpec

ALIASES = {"pdl": "peopledatalabs"}
"""Short provider names that authors use, to the names that tool ids begin with."""


class Catalogue:
    """Tools by id. Two tools with one id, or with one batch operation, are a programming mistake."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        self._operations: dict[str, Tool] = {}
        for tool in tools:
            self._add(self._tools, tool.id, tool)
            if tool.spec.batch:
                self._add(self._operations, tool.spec.batch.operation, tool)

    def ids(self) -> list[str]:
        """Give the ids of all tools, sorted."""
        return sorted(self._tools)

    def tool(self, tool_id: str) -> Tool | None:
        """Give a tool by its id."""
        return self._tools.get(tool_id)

    def batched(self, operation: str) -> Tool | None:
        """Give the tool whose calls travel together under this batch operation."""
        return self._operations.get(operation)

    def spec(self, tool_id: str) -> ToolSpec | None:
        """Give what the engine knows of a tool, as the provider's folder says it."""
        tool = self._tools.get(tool_id)
        return tool.spec if tool else None

    def version(self, tool_id: str) -> str:
        """Give the version of a tool's answers, a part of every call's key. Raises KeyError."""
        return self._tools[tool_id].version

    def waterfall_tool(self, provider: str, name: str) -> str:
        """Give the id of the tool that ``provider`` has for the named waterfall; it need not exist."""
        return f"{ALIASES.get(provider, provider)}_{name}"

    @staticmethod
    def _add(index: dict[str, Tool], name: str, tool: Tool) -> None:
        if name in index:
            raise ValueError(f"{name} is registered twice: by {index[name].id} and by {tool.id}")
        index[name] = tool
