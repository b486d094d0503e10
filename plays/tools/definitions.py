"""What a provider's folder declares: its tools, how one call or many become a request, what replies mean.

    Tool ── spec           what the engine knows (runtime.tools)
         ── service        where requests go, what a refusal means
         ── request, read  one call: Ask -> ProviderRequest, ProviderReply -> Entry
         ── bulk           several calls in one request: the same for a list, one Entry per call

All of it is data and pure functions: the gateway sends, counts, retries and records. ``read`` and
``split`` see replies only that :func:`plays.tools.failures.failure_of` did not take for a refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from plays.tools.wire import loads
from runtime.tools import ToolSpec

Json = Any

Category = Literal[
    "validation", "authentication", "billing", "quota", "rate_limit", "network", "upstream",
    "limit", "internal",
]  # fmt: skip
"""What kind of failure it is; the engine decides by it between trying again, failing and pausing."""


class Unreadable(Exception):
    """A provider's reply that is not what its folder expects."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One call as its provider is asked; ``attempt`` counts from 1, by the ledger."""

    input: Json
    attempt: int


MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """A request below the service's address.

    ``content`` is sent as JSON, ``text`` as it is; both None: no body. At most ``redirects`` redirects are
    followed; ``private_headers``, names in lower case, do not follow to another origin.
    """

    path: str
    content: Json = None
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)
    text: str | None = None
    redirects: int = 0
    private_headers: frozenset[str] = frozenset()
    reply_max_bytes: int = 16 * MEGABYTE


@dataclass(frozen=True, slots=True)
class ProviderReply:
    """A whole reply; header names are in lower case. ``url`` is where it came from at last."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    reason: str = ""
    url: str = ""

    def json(self) -> Json:
        """Parse the body, integers of any size exactly, NaN as null. Raises Unreadable."""
        try:
            return loads(self.body, constant=lambda _: None)
        except ValueError as error:
            raise Unreadable("the reply is not JSON") from error


@dataclass(frozen=True, slots=True)
class Found:
    """The provider has this result."""

    result: Json


@dataclass(frozen=True, slots=True)
class Nothing:
    """The provider answered that it has nothing: a miss."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The reply to a bulk request does not mention this call."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The call has no answer.

    ``retry_after`` in seconds, where it is known. ``was_sent``: a request with this call left for the
    provider. ``is_unknown``: whether the provider did the work cannot be told from what came back.
    """

    code: str
    category: Category
    message: str
    retryable: bool = False
    retry_after: float | None = None
    was_sent: bool = True
    is_unknown: bool = False


Entry = Found | Nothing | LeftOut | Failure
"""What became of one call."""


@dataclass(frozen=True, slots=True)
class Service:
    """Where a family of tools is served.

    ``base_url`` None: the installation says where; "": each request says it whole, as its path.
    ``failure`` is the provider's table of refusals: it gives None for a reply that answers.
    """

    id: str
    failure: Callable[[ProviderReply], Failure | None]
    base_url: str | None = None


@dataclass(frozen=True, slots=True)
class Bulk:
    """How several calls travel as one request.

    ``split`` gives exactly one entry per ask, in the order of the asks: it matches by what the provider
    echoes, or by position where the provider keeps the order, and says LeftOut for what is not there.
    """

    request: Callable[[Sequence[Ask]], ProviderRequest]
    split: Callable[[ProviderReply, Sequence[Ask]], list[Entry]]


def _is_fine(call_input: Json) -> str:
    return ""


def _whole(call_input: Json) -> Json:
    return call_input


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool of a provider.

    ``version`` changes when equal inputs begin to give other answers. ``windows`` are (requests,
    seconds); ``concurrency`` is requests at a time; both None or empty: unlimited until an administrator
    says otherwise. ``bucket`` names what shares those limits and the waits that a 429 asks for: the
    tool's provider unless said. Lives are seconds for which answers hold; None: for ever.

    ``problem`` gives what is wrong with an input, or "": such a request is refused before anything of it
    is kept. ``kept`` gives the form of an input in which the ledger keeps it, secrets hidden.
    ``repeats`` says whether a call with this input may be made twice; None: as ``spec.repeatable`` says.
    """

    spec: ToolSpec
    service: Service
    request: Callable[[Ask], ProviderRequest]
    read: Callable[[ProviderReply], Entry]
    bulk: Bulk | None = None
    version: str = "1"
    bucket: str = ""
    windows: tuple[tuple[int, float], ...] = ()
    concurrency: int | None = None
    timeout_seconds: float = 30.0
    hit_life_seconds: float | None = None
    miss_life_seconds: float | None = None
    problem: Callable[[Json], str] = _is_fine
    kept: Callable[[Json], Json] = _whole
    repeats: Callable[[Json], bool] | None = None

    @property
    def id(self) -> str:
        return self.spec.id

    @property
    def provider(self) -> str:
        return self.spec.provider

    @property
    def limits_bucket(self) -> str:
        """Give the name of what this tool shares its limits with."""
        return self.bucket or self.spec.provider

    def is_repeatable(self, call_input: Json) -> bool:
        """Whether a call with this input may be made twice without harm."""
        return self.repeats(call_input) if self.repeats else self.spec.repeatable
