"""What leaves the gateway, to a web server that behaves badly: time-outs, sizes, redirects, the guard."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from ipaddress import ip_network
from typing import Any

import pytest

from plays.gateway.transport import Transport
from plays.tools import catalogue
from plays.tools.definitions import MEGABYTE, Ask, Failure, ProviderReply
from tests.webserver import WebServer

TOOL = catalogue().tool("http_fetch")
assert TOOL
LOOPBACK = ("127.0.0.0/8",)

Fetch = Callable[..., Awaitable[ProviderReply | Failure]]


@asynccontextmanager
async def fetching(*networks: str) -> AsyncIterator[Fetch]:
    """A transport that may connect to these networks: ``fetch(url, seconds=30, **rest of the input)``."""
    transport = Transport(lambda: "", [ip_network(network) for network in networks])
    await transport.open()

    async def fetch(url: str, *, seconds: float = 30, **given: Any) -> ProviderReply | Failure:
        request = TOOL.request(Ask({"url": url, **given}, 1))
        small = replace(request, reply_max_bytes=MEGABYTE)
        return await transport.send(TOOL.service, small, seconds)

    try:
        yield fetch
    finally:
        await transport.close()


async def failure_of(reply: Awaitable[ProviderReply | Failure]) -> Failure:
    told = await reply
    assert isinstance(told, Failure)
    return told


async def test_an_answer_that_does_not_come_is_given_up(web: WebServer) -> None:  # rule 15.11
    async with fetching(*LOOPBACK) as fetch:
        failure = await failure_of(fetch(web.url("/slow?secret"), seconds=0.2))
    assert (failure.code, failure.category, failure.retryable) == ("timed_out", "network", True)
    assert failure.message == "127.0.0.1 gave no answer within 0.2 s"


async def test_a_connection_that_is_not_made_is_given_up(monkeypatch: Any) -> None:  # rule 15.11
    monkeypatch.setattr("plays.gateway.transport.CONNECT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        address = server.getsockname()
        with socket.create_connection(address):  # (which fills the queue that nobody empties)
            async with fetching(*LOOPBACK) as fetch:
                failure = await failure_of(fetch(f"http://127.0.0.1:{address[1]}/"))
    assert failure.message == "127.0.0.1 cannot be reached: no connection within 0.2 s"


@pytest.mark.parametrize("path", ["/endless", "/bomb"])
async def test_an_answer_that_is_too_large_is_refused(web: WebServer, path: str) -> None:
    async with fetching(*LOOPBACK) as fetch:  # rule 12.11
        failure = await failure_of(fetch(web.url(path)))
    assert failure.code == "reply_too_large"
    assert failure.message == "the answer of 127.0.0.1 is larger than 1 MB"


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
async def test_a_connection_that_breaks_is_not_tried_again_here(
    web: WebServer, method: str
) -> None:
    async with fetching(*LOOPBACK) as fetch:
        failure = await failure_of(fetch(web.url("/cut"), method=method))
    assert (failure.code, failure.is_unknown) == ("connection_lost", True)
    assert len(web.got("/cut")) == 1


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0x7f.1", "[::1]"])
async def test_no_name_of_a_private_address_gets_past_the_guard(web: WebServer, host: str) -> None:
    async with fetching() as fetch:  # rule 12.11
        failure = await failure_of(fetch(web.url("/hello", host)))
    assert (failure.code, failure.category, failure.was_sent) == (
        "address_refused", "validation", False,
    )  # fmt: skip
    assert "has no public address" in failure.message
    assert web.got("/hello") == []


async def test_a_name_without_an_address_is_told(web: WebServer) -> None:
    async with fetching() as fetch:
        failure = await failure_of(fetch("http://no-such-host.invalid/?token=hush"))
    assert (failure.category, failure.retryable) == ("network", True)
    assert failure.message == ("no-such-host.invalid cannot be reached: its name has no address")


async def test_a_port_where_nobody_listens_is_told() -> None:
    async with fetching(*LOOPBACK) as fetch:
        failure = await failure_of(fetch("http://127.0.0.1:1/"))
    assert failure.message == "127.0.0.1 cannot be reached: connection refused"


async def test_a_redirect_is_followed_to_its_end(web: WebServer) -> None:
    async with fetching(*LOOPBACK) as fetch:
        reply = await fetch(web.url("/turn?/turn?/hello"))
    assert isinstance(reply, ProviderReply)
    assert (reply.status, reply.url) == (200, web.url("/hello"))


async def test_a_redirect_to_an_address_that_is_refused_ends_there(web: WebServer) -> None:
    async with fetching("127.0.0.1/32") as fetch:
        failure = await failure_of(fetch(web.url(f"/turn?{web.url('/hello', '127.0.0.2')}")))
    assert failure.code == "address_refused"
    assert failure.message.startswith("127.0.0.2 has no public address")
    assert web.got("/hello") == []


@pytest.mark.parametrize(
    "target", ["file:///etc/passwd", "ftp://x.example/", "http://a:b@x.example/"]
)
async def test_a_redirect_to_what_is_not_fetched_ends_there(web: WebServer, target: str) -> None:
    async with fetching(*LOOPBACK) as fetch:
        failure = await failure_of(fetch(web.url(f"/turn?{target}")))
    assert failure.code == "redirect_refused"


async def test_a_circle_of_redirects_ends_with_the_last_answer(web: WebServer) -> None:
    async with fetching(*LOOPBACK) as fetch:
        reply = await fetch(web.url("/circle"))
    assert isinstance(reply, ProviderReply)
    assert reply.status == 302
    assert len(web.got("/circle")) == 6


async def test_private_headers_do_not_follow_to_another_origin(web: WebServer) -> None:
    headers = {"authorization": "Bearer hush", "cookie": "id=hush", "X-Api-Key": "hush", "x-a": "1"}
    async with fetching(*LOOPBACK) as fetch:
        await fetch(web.url("/turn?/hello"), headers=headers)
        await fetch(web.url(f"/turn?{web.url('/hello', 'localhost')}"), headers=headers)
    same, other = web.got("/hello")
    assert {"authorization", "cookie", "x-api-key", "x-a"} <= set(same.headers)
    assert other.headers["x-a"] == "1"
    assert "hush" not in str(other.headers)


async def test_what_changes_something_is_not_redirected(web: WebServer) -> None:
    async with fetching(*LOOPBACK) as fetch:
        reply = await fetch(web.url("/turn?/hello"), method="POST")
    assert isinstance(reply, ProviderReply)
    assert (reply.status, reply.headers["location"]) == (302, "/hello")
    assert web.got("/hello") == []
