"""The tools that a run asks for, looked up once each."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from runtime.errors import UnknownTool
from runtime.ports import Library
from runtime.tools import ToolSpec


class Catalogue:
    """Tool specifications by id, read through the ``Library`` port and kept for the run."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._specs: dict[str, ToolSpec | None] = {}
        self._lock = asyncio.Lock()

    async def spec(self, tool: str) -> ToolSpec:
        """Give the tool's specification. Raises UnknownTool."""
        (found,) = await self.specs([tool])
        return found

    async def specs(self, tools: Iterable[str]) -> list[ToolSpec]:
        """Give the specifications in order. Raises UnknownTool for the first that there is not."""
        wanted = list(tools)
        await self._load(wanted)
        return [self._known(tool) for tool in wanted]

    async def those_known(self, tools: Iterable[str]) -> list[ToolSpec]:
        """Give the specifications of those tools that there are, in order."""
        wanted = list(tools)
        await self._load(wanted)
        return [spec for tool in wanted if (spec := self._specs[tool])]

    async def _load(self, wanted: list[str]) -> None:
        if all(tool in self._specs for tool in wanted):
            return
        async with self._lock:
            missing = [tool for tool in wanted if tool not in self._specs]
            if not missing:
                return
            told = await self._library.tools(missing)
            found = {form["id"]: ToolSpec.from_json(form) for form in told}
            self._specs.update({tool: found.get(tool) for tool in missing})

    def _known(self, tool: str) -> ToolSpec:
        spec = self._specs[tool]
        if spec is None:
            raise UnknownTool(
                f"there is no tool {tool!r}: see the tools' page for the ids that there are"
            )
        return spec
