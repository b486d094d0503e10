"""Bodies that are too long: refused before they are stored, with a sentence that names the limit."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest
from django.core.asgi import get_asgi_application
from pytest_django import Settings

from plays.bodies import Message, Receive, Scope, Send, with_body_limit
from tests.product import StartProduct

MEBIBYTE = 1024 * 1024


async def count_body(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that reads its body, as Django does, and answers with its length."""
    size = 0
    while True:
        message: Message = await receive()
        if message["type"] == "http.disconnect":
            return
        size += len(message.get("body", b""))
        if not message.get("more_body"):
            break
    told = f"{scope['method']} {scope['path']} {size}".encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": told})


@pytest.fixture
def client(settings: Settings) -> httpx.AsyncClient:
    settings.DEEPLINE_UPLOAD_LIMIT_MB = 2
    transport = httpx.ASGITransport(with_body_limit(count_body))
    return httpx.AsyncClient(transport=transport, base_url="http://localhost")


async def chunks(count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b"x" * MEBIBYTE


async def test_a_body_within_the_limit_arrives_whole(client: httpx.AsyncClient) -> None:
    answer = await client.post("/uploads/new/", content=b"x" * 2 * MEBIBYTE)
    assert answer.text == f"POST /uploads/new/ {2 * MEBIBYTE}"


async def test_a_body_that_announces_too_much_is_not_read(client: httpx.AsyncClient) -> None:
    answer = await client.post("/uploads/new/", content=b"x" * 4 * MEBIBYTE)
    assert answer.text == "GET /too-large/ 0"


async def test_a_body_that_announces_nothing_is_counted(client: httpx.AsyncClient) -> None:
    within = await client.post("/uploads/new/", content=chunks(3))
    assert within.text == f"POST /uploads/new/ {3 * MEBIBYTE}"
    beyond = await client.post("/uploads/new/", content=chunks(4))
    assert (beyond.status_code, beyond.text) == (
        413,
        "The request is larger than 2 MB, the most here.\n",
    )


@pytest.mark.django_db(transaction=True)
async def test_the_page_of_the_refusal_names_the_limit(settings: Settings) -> None:
    settings.DEEPLINE_UPLOAD_LIMIT_MB = 2
    transport = httpx.ASGITransport(with_body_limit(get_asgi_application()))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        body = b"x" * 4 * MEBIBYTE
        page = await client.post("/uploads/new/", content=body)
        assert page.status_code == 413
        assert "larger than 2 MB" in page.text
        headers = {"accept": "application/json"}
        told = await client.post("/uploads/new/", content=body, headers=headers)
        assert "larger than 2 MB" in told.json()["error"]


def test_a_server_answers_a_long_body_with_the_limit(start_product: StartProduct) -> None:
    web = start_product(only=("web",), DEEPLINE_UPLOAD_LIMIT_MB="1")
    answer = httpx.post(f"{web.web_url}/uploads/new/", content=b"x" * 8 * MEBIBYTE)
    assert answer.status_code == 413
    assert "larger than 1 MB" in answer.text
