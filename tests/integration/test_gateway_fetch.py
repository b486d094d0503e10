"""``http_fetch`` through a gateway that runs as a process, with its ledger in PostgreSQL."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.integration.gateway_calls import Calls, key, ledger, usage
from tests.product import StartProduct
from tests.webserver import WebServer

TOOL = "http_fetch"
ALLOWED = {"DEEPLINE_ALLOWED_NETWORKS": "127.0.0.0/8"}
ORDER = {"idempotency-key": "order-7"}


@pytest.fixture
def calls(start_calls: Callable[..., Calls]) -> Calls:
    return start_calls(**ALLOWED)


def test_an_answer_of_any_status_is_a_result(calls: Calls, web: WebServer) -> None:
    # rule 12.11
    found = calls.single(TOOL, {"url": web.url("/hello")}, key(1)).json()
    assert (found["status"], found["credits"]) == ("completed", 0)
    result = found["result"]
    assert (result["status"], result["status_text"]) == (200, "OK")
    assert (result["url"], result["body_text"]) == (web.url("/hello"), '{"hello": "world"}')
    assert result["headers"]["x-kind"] == "greeting"
    for path, status in (("/nowhere", 404), ("/failing", 503)):
        answer = calls.single(TOOL, {"url": web.url(path)}, key(status)).json()
        assert (answer["status"], answer["result"]["status"]) == ("completed", status)
        assert len(web.got(path)) == 1


def test_bodies_are_text_by_their_charset(calls: Calls, web: WebServer) -> None:
    paths = {"/latin": "Zoë", "/wrong-bytes": "caf\ufffd"}
    for number, (path, text) in enumerate(paths.items()):
        told = calls.single(TOOL, {"url": web.url(path)}, key(number)).json()
        assert told["result"]["body_text"] == text
    error = calls.single(TOOL, {"url": web.url("/picture")}, key(9)).json()["error"]
    assert error["message"] == (
        "the answer of 127.0.0.1 is no text (image/png), and only text is taken"
    )


def test_a_request_leaves_as_it_was_asked(calls: Calls, web: WebServer) -> None:
    with_json = {"url": web.url("/hello"), "method": "put", "json": {"b": [1], "a": None}}
    calls.single(TOOL, with_json | {"headers": ORDER}, key(1))
    with_data = {"url": web.url("/hello"), "method": "POST", "data": "Zoë"}
    calls.single(TOOL, with_data | {"headers": {"X-Idempotency-Key": "1"}}, key(2))
    calls.single(TOOL, {"url": web.url("/hello"), "headers": {"Accept": "text/csv"}}, key(3))
    put, post, get = web.got("/hello")
    assert (put.method, put.headers["content-type"]) == ("PUT", "application/json")
    assert put.body == b'{"a":null,"b":[1]}'
    assert put.headers["idempotency-key"] == "order-7"
    assert (post.headers["content-type"], post.body) == (
        "text/plain; charset=utf-8",
        "Zoë".encode(),
    )
    assert get.headers["accept"] == "text/csv"
    assert "content-type" not in get.headers


def test_private_addresses_are_refused_unless_an_administrator_allows_them(
    start_calls: Callable[..., Calls], web: WebServer
) -> None:
    # rule 12.11
    calls = start_calls()
    refused = calls.single(TOOL, {"url": web.url("/hello?token=hush")}, key(1))
    assert refused.status_code == 422
    error = refused.json()["error"]
    assert (error["code"], error["retryable"]) == ("address_refused", False)
    assert "127.0.0.1" in error["message"]
    assert "hush" not in error["message"]
    assert web.asked == []
    assert usage(calls.run).tool_calls == 0


def test_what_is_wrong_with_a_request_is_refused_before_it_is_kept(calls: Calls) -> None:
    # rule 12.10
    from plays.models import ToolCall

    asked = [
        {"url": "https://ann:hush@shop.example/"},
        {"url": "ftp://shop.example/"},
        {"url": "https://shop.example/", "method": "POST", "headers": {"idempotency-key": " "}},
        {"url": "https://shop.example/", "json": {}, "data": ""},
    ]
    answers = [calls.single(TOOL, given, key(n)) for n, given in enumerate(asked)]
    assert {answer.status_code for answer in answers} == {422}
    assert "hush" not in answers[0].text
    assert "Idempotency-Key" in answers[2].json()["error"]["message"]
    assert not ToolCall.objects.exists()
    assert usage(calls.run).tool_calls == 0


def test_secrets_reach_the_other_side_and_neither_the_ledger_nor_the_log(
    start_product: StartProduct, web: WebServer
) -> None:
    product = start_product(only=("gateway",), **ALLOWED)
    calls = Calls(product.gateway_url)
    headers = {"Authorization": "Bearer hush", "X-Api-Key": "hush", "Cookie": "id=hush"}
    given = {"url": web.url("/hello"), "headers": headers}
    assert calls.single(TOOL, given, key(1)).status_code == 200
    calls.single(TOOL, {"url": web.url("/cut?hush"), "headers": headers}, key(2))
    assert web.asked[0].headers["authorization"] == "Bearer hush"
    kept = ledger(key(1))
    assert "hush" not in str([kept.input, kept.error, ledger(key(2)).error])
    assert "hush" not in product.gateway.output()
    again = calls.single(TOOL, given, key(1)).json()
    assert again["source"] == "ledger"
    other = {**given, "headers": headers | {"Authorization": "Bearer other"}}
    assert calls.single(TOOL, other, key(1)).json()["error"]["code"] == "key_reused"
    assert len(web.got("/hello")) == 1


def test_a_run_recovers_its_own_answer_and_never_that_of_another(
    calls: Calls, web: WebServer
) -> None:
    # rule 12.9
    given = {"url": web.url("/hello")}
    assert calls.single(TOOL, given, key(1)).json()["source"] == "live"
    assert calls.single(TOOL, given, key(1)).json()["source"] == "ledger"
    assert len(web.got("/hello")) == 1
    other = calls.another_run()
    assert other.single(TOOL, given, key(1)).json()["source"] == "live"
    assert len(web.got("/hello")) == 2


def test_a_connection_that_breaks_may_be_tried_again_where_that_does_no_harm(
    calls: Calls, web: WebServer
) -> None:
    lost = calls.single(TOOL, {"url": web.url("/cut")}, key(1))
    assert lost.json()["error"]["retryable"]
    calls.single(TOOL, {"url": web.url("/cut")}, key(1))
    assert len(web.got("/cut")) == 2


def test_what_may_change_something_is_sent_once_and_is_then_in_doubt(
    calls: Calls, web: WebServer
) -> None:
    given = {"url": web.url("/cut"), "method": "POST", "headers": ORDER}
    lost = calls.single(TOOL, given, key(1))
    assert lost.status_code == 424
    error = lost.json()["error"]
    assert (error["code"], error["retryable"]) == ("in_doubt", False)
    assert error["message"].startswith("the connection to 127.0.0.1 broke")
    assert ledger(key(1)).status == "in_doubt"
    assert calls.single(TOOL, given, key(1)).status_code == 424
    assert len(web.got("/cut")) == 1


def test_what_was_never_sent_is_not_in_doubt(calls: Calls) -> None:
    given = {"url": "http://127.0.0.1:1/", "method": "POST", "headers": ORDER}
    error = calls.single(TOOL, given, key(1)).json()["error"]
    assert (error["code"], error["retryable"]) == ("connect_failed", True)
    assert ledger(key(1)).status == "failed"


def test_a_gateway_that_is_killed_leaves_doubt_and_nothing_is_sent_twice(
    start_product: StartProduct, web: WebServer
) -> None:
    from django.db.models.functions import Now

    from plays.models import ToolCall

    product = start_product(only=("gateway",), **ALLOWED)
    calls = Calls(product.gateway_url)
    given = {"url": web.url("/slow"), "method": "POST", "headers": ORDER}
    with ThreadPoolExecutor(1) as client:
        asking = client.submit(lambda: calls.single(TOOL, given, key(1)))
        while not web.got("/slow"):
            time.sleep(0.02)
        product.gateway.kill()
        with pytest.raises(httpx.HTTPError):
            asking.result()
    ToolCall.objects.filter(key=key(1)).update(claimed_until=Now())
    product.start(product.gateway.program)
    again = calls.single(TOOL, given, key(1))
    assert (again.status_code, again.json()["error"]["code"]) == (424, "in_doubt")
    assert len(web.got("/slow")) == 1


def test_a_policy_switches_fetching_off_and_sets_its_windows(calls: Calls, web: WebServer) -> None:
    from plays.models import ToolPolicy

    policy = ToolPolicy.objects.create(provider="http", windows=[[1, 60]])
    given = {"url": web.url("/hello")}
    assert [calls.single(TOOL, given, key(n)).status_code for n in range(2)] == [200, 429]
    policy.is_enabled = False
    policy.save()
    while (refused := calls.single(TOOL, given, key(2))).status_code == 429:
        time.sleep(0.05)
    assert refused.json()["error"]["code"] == "tool_disabled"
    assert len(web.asked) == 1
