"""The tools that a play may name, and the sentence for one that there is not."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from runtime.loading.problems import did_you_mean, listed, nearest

DEFAULT_PROVIDERS = ("hunter", "leadmagic", "pdl", "dropcontact", "prospeo")
"""Who a named waterfall asks that names nobody; those that are not there are left out."""

PROVIDER_ALIASES = {"pdl": "peopledatalabs"}
ENGINE_TOOLS = frozenset({"event_wait"})
"""Tools that the engine itself answers."""

REFUSED_TOOLS = {
    "run_javascript": "run_javascript is no tool of plays: write the code as a function of the step",
}
NAMES_LISTED = 5


class ToolNames:
    """The ids of the catalogue."""

    def __init__(self, known: Collection[str]) -> None:
        self._known = frozenset(known)

    def problem(self, tool: str) -> str:
        """Give what is wrong with a tool's id, or ""."""
        if tool in REFUSED_TOOLS:
            return REFUSED_TOOLS[tool]
        if tool in self._known or tool in ENGINE_TOOLS:
            return ""
        return f"there is no tool {tool!r}{did_you_mean(tool, self._known) or self._some()}"

    def provider_problem(self, provider: str, waterfall: str) -> str:
        """Give what is wrong with asking a provider for a waterfall, or ""."""
        if self.tool_of(provider, waterfall):
            return ""
        others = self.providers_of(waterfall)
        if not others:
            return self._unknown_waterfall(waterfall)
        prefix = PROVIDER_ALIASES.get(provider, provider)
        is_known = any(tool.startswith(f"{prefix}_") for tool in self._known)
        wrong = f"has no {waterfall!r}" if is_known else "is no provider that is known here"
        usable = f": use {listed(others[:NAMES_LISTED], 'or')}"
        return f"{provider!r} {wrong}{did_you_mean(provider, others) or usable}"

    def default_problem(self, waterfall: str) -> str:
        """Give what is wrong with a waterfall that names no providers, or ""."""
        if any(self.tool_of(provider, waterfall) for provider in DEFAULT_PROVIDERS):
            return ""
        others = self.providers_of(waterfall)
        if not others:
            return self._unknown_waterfall(waterfall)
        return (
            f"the waterfall {waterfall!r} names no providers, and none of the usual ones"
            f" ({', '.join(DEFAULT_PROVIDERS)}) is here: add providers=[...] with"
            f" {listed(others[:NAMES_LISTED], 'or')}"
        )

    def tool_of(self, provider: str, waterfall: str) -> str | None:
        """Give the tool that a provider answers a waterfall with, or None."""
        tool = f"{PROVIDER_ALIASES.get(provider, provider)}_{waterfall}"
        return tool if tool in self._known else None

    def usual_providers(self, waterfall: str) -> list[str]:
        """Give the default providers that have a tool for a waterfall."""
        return [each for each in DEFAULT_PROVIDERS if self.tool_of(each, waterfall)]

    def providers_of(self, waterfall: str) -> list[str]:
        """Give the providers that have a tool for a waterfall, in the order of their names."""
        end = f"_{waterfall}"
        return sorted(tool.removesuffix(end) for tool in self._known if tool.endswith(end))

    def _unknown_waterfall(self, waterfall: str) -> str:
        endings = {tool.split("_", count)[-1] for tool in self._known for count in (1, 2)}
        near = [f": did you mean {name!r}?" for name in nearest(waterfall, endings)[:1]]
        return (
            f"no provider has a tool for the waterfall {waterfall!r}{''.join(near) or self._some()}"
        )

    def _some(self) -> str:
        return ": the tools' page lists the ids that there are" if self._known else ""


def repeated(names: Sequence[str]) -> list[str]:
    """Give the names that stand in a list more than once, in order."""
    return [name for index, name in enumerate(names) if name in names[:index]]
