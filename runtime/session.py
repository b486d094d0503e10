"""What all parts of one engine share while it runs: ports, recorder, lanes, catalogue, halt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from runtime.activity import Activity
from runtime.catalogue import Catalogue
from runtime.halt import Halt
from runtime.lanes import Lanes
from runtime.ports import Json, Ports
from runtime.recorder import Recorder
from runtime.trace import Trace
from runtime.turns import Turns
from runtime.waits import Waits


@dataclass(frozen=True, slots=True)
class RunForm:
    """What the engine is told of a run.

    ``play`` is the play's name, ``limits`` the run's own copy, ``left_out`` the providers that a person
    excluded. Secrets have no place here.
    """

    id: str
    play: str
    limits: Mapping[str, Json]
    left_out: tuple[str, ...] = ()
    selection: Mapping[str, Json] | None = None

    def to_json(self) -> dict[str, Json]:
        """Give the form that travels to the play process."""
        return {
            "id": self.id,
            "play": self.play,
            "limits": dict(self.limits),
            "left_out": list(self.left_out),
            "selection": dict(self.selection or {}),
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Json]) -> RunForm:
        """Read what :meth:`to_json` gave."""
        return cls(**{**told, "left_out": tuple(told["left_out"])})


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a play stands in the run tree: its durable place, and the names of those that called it."""

    play: str
    place: str
    ancestry: tuple[str, ...] = ()


@dataclass(slots=True)
class Claims:
    """Named work that this engine has claimed and not finished, and what of it is under way.

    Work that was cancelled stays claimed, and this engine may begin it again.
    """

    held: set[str] = field(default_factory=set)
    running: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Session:
    """One running engine."""

    form: RunForm
    ports: Ports
    recorder: Recorder
    lanes: Lanes
    catalogue: Catalogue
    activity: Activity
    halt: Halt
    waits: Waits
    turns: Turns
    trace: Trace
    claims: Claims = field(default_factory=Claims)
