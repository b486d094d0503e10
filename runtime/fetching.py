"""``ctx.fetch``: a gateway operation, so that time-outs, size limit, address guard and ledger exist once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from runtime import toolcalls
from runtime.errors import PlayError, ToolFailed
from runtime.identity import context_key
from runtime.session import Session
from runtime.values import Json, json_or_none

TOOL = "http_fetch"
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


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


async def fetch(session: Session, key: str, request: dict[str, Json]) -> FetchResponse:
    """Fetch once under this name. Raises ToolFailed where no answer came, PlayError on a bad request."""
    key = context_key(key, "ctx.fetch")
    result = await toolcalls.execute(session, key, TOOL, _checked(key, request))
    if not result:
        raise ToolFailed(
            f"ctx.fetch({key!r}) got no answer", tool=TOOL, provider="http", category="network"
        )
    told: dict[str, Any] = result.result
    return FetchResponse(**{name: told[name] for name in FetchResponse.__slots__})


def _checked(key: str, request: dict[str, Json]) -> dict[str, Json]:
    method = str(request["method"]).upper()
    headers = {str(name).lower(): str(value) for name, value in request["headers"].items()}
    keys = ("idempotency-key", "x-idempotency-key")
    if method not in SAFE_METHODS and not any(headers.get(name, "").strip() for name in keys):
        raise PlayError(
            f"ctx.fetch({key!r}): {method} may change something on the other side, so it needs an"
            " Idempotency-Key header"
        )
    return {**request, "method": method, "headers": headers}
