"""``ctx.fetch``: a gateway operation, so that time-outs, size limit, address guard and ledger exist once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from runtime import toolcalls
from runtime.errors import PlayError, ToolFailed
from runtime.identity import context_key
from runtime.session import Session
from runtime.values import Json, json_or_none

TOOL = "http_fetch"
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")

Headers = Mapping[str, Any] | Iterable[tuple[str, Any]]


@dataclass(frozen=True, slots=True)
class FetchResponse:
    """An HTTP answer of any status. ``json`` is the parsed body, or None where it is no JSON."""

    status: int
    status_text: str
    url: str
    headers: dict[str, str]
    body_text: str

    @property
    def ok(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300

    @property
    def json(self) -> Json:
        """The body as JSON, or None."""
        return json_or_none(self.body_text)

    def to_json(self) -> dict[str, Json]:
        """Give the form that a step may return."""
        return {name: getattr(self, name) for name in self.__slots__} | {"ok": self.ok}


async def fetch(session: Session, key: str, request: Mapping[str, Any]) -> FetchResponse:
    """Fetch once under this name. Raises ToolFailed where no answer came, PlayError on a bad request."""
    key = context_key(key, "ctx.fetch")
    try:
        result = await toolcalls.execute(session, key, TOOL, _checked(key, request))
    except ToolFailed as error:
        cause = error.message.removeprefix(f"{TOOL} failed: ")
        raise ToolFailed(
            f"ctx.fetch({key!r}) failed: {cause}",
            tool=TOOL,
            provider=error.provider,
            category=error.category,
            code=error.code,
            attempts=error.attempts,
            retryable=error.retryable,
            request=error.request,
        ) from error
    told: dict[str, Any] = result.result
    return FetchResponse(**{name: told[name] for name in FetchResponse.__slots__})


def _checked(key: str, request: Mapping[str, Any]) -> dict[str, Json]:
    method, headers = str(request["method"]).upper(), header_texts(request["headers"])
    if request["json"] is not None and request["data"] is not None:
        raise PlayError(f"ctx.fetch({key!r}) has json and data: a request has one body")
    names = ("idempotency-key", "x-idempotency-key")
    if method not in SAFE_METHODS and not any(headers.get(name, "").strip() for name in names):
        raise PlayError(
            f"ctx.fetch({key!r}): {method} may change something on the other side, so it needs an"
            " Idempotency-Key header"
        )
    return {**request, "method": method, "headers": headers}


def header_texts(given: Headers | None) -> dict[str, str]:
    """Give headers, a mapping or pairs, with names in lower case; the last of one name counts."""
    pairs = given.items() if isinstance(given, Mapping) else given or ()
    return {str(name).lower(): str(value) for name, value in pairs}
