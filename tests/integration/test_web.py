"""The web server as a process: what it answers before any page of the product is reached."""

from __future__ import annotations

import httpx
import pytest

from tests.product import LiveProduct, StartProduct

GRID = "/static/vendor/ag-grid/ag-grid-community.min.js"


@pytest.fixture
def web(start_product: StartProduct) -> LiveProduct:
    return start_product(only=("web",))


def test_static_files_are_served_once_and_then_confirmed(web: LiveProduct) -> None:
    with httpx.Client(base_url=web.web_url) as client:
        first = client.get(GRID)
        assert first.status_code == 200
        assert first.headers["content-type"].startswith("text/javascript")
        assert first.headers["x-content-type-options"] == "nosniff"
        assert len(first.content) == int(first.headers["content-length"])
        again = client.get(GRID, headers={"If-Modified-Since": first.headers["last-modified"]})
        assert (again.status_code, again.content) == (304, b"")
        part = client.get(GRID, headers={"Range": "bytes=0-9"})
        assert (part.status_code, part.content) == (206, first.content[:10])
        head = client.head(GRID)
        assert (head.status_code, head.content) == (200, b"")


def test_pages_carry_the_policy(web: LiveProduct) -> None:
    answer = httpx.get(f"{web.web_url}/admin/login/")
    assert answer.status_code == 200
    assert answer.headers["x-content-type-options"] == "nosniff"
    policy = answer.headers["content-security-policy"].split("; ")
    assert "script-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy


def test_a_host_that_is_not_ours_is_refused(web: LiveProduct) -> None:
    answer = httpx.get(f"{web.web_url}/admin/login/", headers={"Host": "evil.example"})
    assert answer.status_code == 400


def test_a_socket_from_another_site_is_refused(web: LiveProduct) -> None:
    answer = httpx.get(
        f"{web.web_url}/ws/",
        headers={
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
            "Origin": "https://evil.example",
        },
    )
    assert answer.status_code == 403
    assert "Traceback" not in web.web.output()
