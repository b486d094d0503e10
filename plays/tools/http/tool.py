"""``http_fetch`` as the gateway and the engine know it."""

from __future__ import annotations

from yarl import URL

from plays.tools.addresses import web_address
from plays.tools.definitions import (
    MEGABYTE,
    Ask,
    Entry,
    Failure,
    Found,
    ProviderReply,
    ProviderRequest,
    Service,
    Tool,
)
from plays.tools.http import inputs
from plays.tools.http.texts import NotText, text_of
from runtime.tools import ToolSpec

REPLY_MAX_BYTES = 5 * MEGABYTE
REDIRECTS_MAX = 5
TIMEOUT_SECONDS = 30.0


def _request(ask: Ask) -> ProviderRequest:
    given = ask.input
    headers = inputs.headers_of(given)
    text = given.get("data")
    if text is not None:
        headers = {"content-type": "text/plain; charset=utf-8", **headers}
    return ProviderRequest(
        str(web_address(given["url"])),
        given.get("json"),
        inputs.method_of(given),
        headers,
        text,
        redirects=REDIRECTS_MAX if inputs.is_repeatable(given) else 0,
        private_headers=frozenset(filter(inputs.is_private, headers)),
        reply_max_bytes=REPLY_MAX_BYTES,
    )


def _read(reply: ProviderReply) -> Entry:
    try:
        text = text_of(reply.body, reply.headers.get("content-type", ""))
    except NotText as error:
        message = (
            f"the answer of {URL(reply.url).host} is no text ({error}), and only text is taken"
        )
        return Failure("reply_not_text", "upstream", message, is_unknown=True)
    return Found(
        {
            "status": reply.status,
            "status_text": reply.reason,
            "url": reply.url,
            "headers": dict(reply.headers),
            "body_text": text,
        }
    )


def _answers(reply: ProviderReply) -> None:
    """Refuse no reply: an answer of any status is a result."""


TOOLS = (
    Tool(
        # Not repeatable, so that a call is known by its place in its run and never by its input
        # alone: what another run was answered says nothing about now.
        ToolSpec("http_fetch", "http", "response", "object", repeatable=False),
        Service("http", _answers, base_url=""),
        _request,
        _read,
        timeout_seconds=TIMEOUT_SECONDS,
        hit_life_seconds=0.0,
        problem=inputs.problem,
        kept=inputs.kept,
        repeats=inputs.is_repeatable,
    ),
)
