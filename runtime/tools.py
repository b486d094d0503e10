"""Tools as the engine sees them: their specification, a call's outcome, and the author's ToolResult.

The engine never learns how a provider is spoken to: operation, batch size, ``group_by`` and linger are
all it knows of a batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from runtime.values import MISSING, Json, is_meaningful, value_at_path

OutputKind = Literal["scalar", "object", "list"]


@dataclass(frozen=True, slots=True)
class BatchForm:
    """How calls of one tool leave together: at most ``size`` whose ``group_by`` inputs agree."""

    operation: str
    size: int
    group_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool of the catalogue.

    ``getters`` gives, by name, the paths at which a value is looked for, in order; ``lists`` the same for
    lists. ``repeatable``: asking twice does no harm, so transient failures are retried. ``price`` is in
    credits per hit. ``unusable`` is why the tool cannot be asked (switched off, no credentials), or "".
    """

    id: str
    provider: str
    output: str
    output_kind: OutputKind = "scalar"
    getters: Mapping[str, Sequence[str]] = field(default_factory=dict, hash=False)
    lists: Mapping[str, Sequence[str]] = field(default_factory=dict, hash=False)
    repeatable: bool = True
    price: float = 0.0
    unusable: str = ""
    batch: BatchForm | None = None
    linger_seconds: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Give the plain form that travels over the ``Library`` port."""
        form = self.batch
        return {
            "id": self.id,
            "provider": self.provider,
            "output": self.output,
            "output_kind": self.output_kind,
            "getters": {name: list(paths) for name, paths in self.getters.items()},
            "lists": {name: list(paths) for name, paths in self.lists.items()},
            "repeatable": self.repeatable,
            "price": self.price,
            "unusable": self.unusable,
            "batch": form and [form.operation, form.size, list(form.group_by)],
            "linger_seconds": self.linger_seconds,
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> ToolSpec:
        """Read what :meth:`to_json` gave. Paths that are blank or no text are left out."""
        form = told["batch"]
        known = {
            "getters": _paths(told["getters"]),
            "lists": _paths(told["lists"]),
            "batch": form and BatchForm(form[0], form[1], tuple(form[2])),
        }
        return cls(**{**told, **known})


def _paths(told: Mapping[str, Any]) -> dict[str, list[str]]:
    """Give the paths by name that lead somewhere; a blank one would stand for the whole result."""
    named = {
        name: [path for path in paths if isinstance(path, str) and path.strip()]
        for name, paths in told.items()
    }
    return {name: paths for name, paths in named.items() if paths}


@dataclass(frozen=True, slots=True)
class Hit:
    """The provider had a result. ``source`` is ``live`` or ``ledger``; ``call`` is the ledger's key."""

    result: Json
    source: str = "live"
    credits: float = 0.0
    call: str = ""


@dataclass(frozen=True, slots=True)
class Miss:
    """The provider answered that it has nothing. Never stands for a failure."""

    source: str = "live"
    credits: float = 0.0
    call: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """The call failed. ``category`` as in ToolFailed; ``retry_after`` in seconds where one was told.

    ``request`` is the gateway's name of the request, for whoever looks into its log.
    """

    message: str
    category: str
    provider: str = ""
    code: str = ""
    retryable: bool = False
    retry_after: float | None = None
    attempts: int = 0
    call: str = ""
    request: str = ""


Outcome = Hit | Miss | Failed


@dataclass(frozen=True, slots=True)
class Execution:
    """Where a tool's result came from: ``live``, ``ledger`` or ``cache``."""

    source: str
    cached: bool
    cache_key: str
    idempotent: bool = True


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What ``ctx.tools.execute`` gives: truthy only where it holds a result."""

    spec: ToolSpec
    status: Literal["completed", "no_result"]
    result: Json
    execution: Execution

    def __bool__(self) -> bool:
        return self.result is not None

    def value(self, name: str | None = None) -> Json:
        """Give the first meaningful value at the tool's paths for ``name`` (its output by default)."""
        name = name or self.spec.output
        return output_value(self.spec, self.result, name)

    def list(self, name: str | None = None) -> list[Any]:
        """Give the list at the tool's list paths for ``name``; empty where there is none."""
        name = name or self.spec.output
        for path in (*self.spec.lists.get(name, ()), name):
            found = value_at_path(self.result, path)
            if isinstance(found, list):
                return found
        return []

    def to_json(self) -> dict[str, Any]:
        """Give the form that a cell stores."""
        return {"status": self.status, "result": self.result, "tool": self.spec.id}


def tool_result(spec: ToolSpec, outcome: Hit | Miss) -> ToolResult:
    """Wrap a definite outcome for the author."""
    execution = Execution(outcome.source, outcome.source != "live", outcome.call)
    if isinstance(outcome, Hit) and outcome.result is not None:
        return ToolResult(spec, "completed", outcome.result, execution)
    return ToolResult(spec, "no_result", None, execution)


def output_value(spec: ToolSpec, result: Json, name: str) -> Json:
    """Find the value called ``name`` in a tool's result, or None.

    In order: the tool's getter paths, the name itself as a path (present but blank ends the search), the
    whole result where the tool declares an object or a list as its output. A scalar output never takes
    the whole object.
    """
    for path in spec.getters.get(name, ()):
        found = value_at_path(result, path)
        if found is not MISSING and is_meaningful(found):
            return found
    direct = value_at_path(result, name)
    if direct is not MISSING:
        return direct if is_meaningful(direct) else None
    if name == spec.output and spec.output_kind != "scalar" and is_meaningful(result):
        return result if spec.output_kind == "object" or isinstance(result, list) else None
    return None
