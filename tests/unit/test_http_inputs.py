"""The inputs of ``http_fetch``: what is refused, what is hidden, what may be repeated."""

from __future__ import annotations

from typing import Any

import pytest

from plays.tools.http.inputs import is_repeatable, kept, problem

URL = "https://shop.example/orders?token=abc"


def asked(**changes: Any) -> dict[str, Any]:
    return {"url": URL, "method": "GET", "headers": {}, "json": None, "data": None, **changes}


@pytest.mark.parametrize(
    "given",
    [
        asked(),
        {"url": URL},
        asked(url="http://[2001:db8::1]:8080/"),
        asked(method="POST", headers={"idempotency-key": "1"}, json={"a": 1}),
        asked(method="delete", headers={"X-Idempotency-Key": "1"}),
        asked(headers={"accept": "text/html;\tq=1", "x-name": "Zoë"}),
    ],
)
def test_a_request_that_can_be_made_has_no_problem(given: Any) -> None:
    assert problem(given) == ""


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "needs a url"),
        (asked(url=7), "needs a url"),
        (asked(url="shop.example"), "needs http:// or https:// before it"),
        (asked(url="ftp://shop.example/"), "only http and https are spoken, not ftp"),
        (asked(url="file:///etc/passwd"), "only http and https are spoken, not file"),
        (asked(url="http:///x"), "names no host"),
        (asked(url="http://shop.example:0/"), "names no host"),
        (asked(url="http://shop.example:99999/"), "is no URL"),
        (asked(url="http://[::1/"), "is no URL"),
        (asked(url="http://" + "x" * 9000), "longer than 8000"),
        (asked(url="https://ann:hush@shop.example/"), "user's name or password"),
        (asked(url="https://ann@shop.example/"), "user's name or password"),
        (asked(json=1, data="2"), "either json or data"),
        (asked(data={"a": 1}), "data has to be text"),
        (asked(headers=["a"]), "has to be an object"),
        (asked(headers={"a b": "1"}), "name of a header"),
        (asked(headers={"x-a": "1\r\nhost: evil.example"}), "text of one line"),
        (asked(headers={"x-a": 1}), "text of one line"),
        (asked(headers={"Host": "evil.example"}), "Host is set by the gateway"),
        (asked(headers={"Content-Length": "5"}), "is set by the gateway"),
        (asked(method="CONNECT"), "has to be one of"),
        (asked(verify=False), "has no 'verify'"),
    ],
)
def test_what_is_wrong_with_a_request_is_one_sentence(given: Any, sentence: str) -> None:
    told = problem(given)
    assert sentence in told
    assert "hush" not in told
    assert "token=" not in told


@pytest.mark.parametrize("headers", [{}, {"idempotency-key": " "}, {"accept": "*/*"}])
def test_what_may_change_something_needs_an_idempotency_key(headers: dict[str, str]) -> None:
    # rule 12.10
    assert "needs an Idempotency-Key" in problem(asked(method="PUT", headers=headers))


def test_only_reading_methods_may_be_repeated() -> None:
    methods = ("get", "HEAD", "Options", "POST", "PUT", "PATCH", "DELETE")
    assert [is_repeatable(asked(method=method)) for method in methods] == [True] * 3 + [False] * 4


@pytest.mark.parametrize(
    "name",
    [
        "authorization",
        "Proxy-Authorization",
        "cookie",
        "x-api-key",
        "Api-Key",
        "x-auth-token",
        "x-amz-security-token",
        "x-hub-signature-256",
        "password",
    ],
)
def test_a_private_value_is_not_kept_but_two_are_told_apart(name: str) -> None:
    one, same, other = (kept(asked(headers={name: value})) for value in ("hush", "hush", "hush2"))
    assert "hush" not in str(one)
    assert one == same != other


def test_what_is_no_secret_is_kept_as_it_is() -> None:
    given = asked(headers={"accept": "text/html", "idempotency-key": "order-7"}, json={"a": 1})
    assert kept(given) == given
