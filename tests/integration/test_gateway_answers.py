"""What a provider may answer, and what the ledger makes of it: the provider is a server of the tests."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.integration.gateway_calls import (
    A_BATCH,
    C,
    Calls,
    key,
    ledger,
    person,
    set_run,
    usage,
)
from tests.webserver import WebServer

StartCalls = Callable[..., Calls]
STEP = {"x-deepline-waterfall": "1"}
SINGLE, BULK = f"/sandbox/{C}", f"/sandbox/{A_BATCH}"


@pytest.fixture
def calls(start_calls: StartCalls, web: WebServer) -> Calls:
    """A run behind a gateway whose provider is the web server."""
    return start_calls(SANDBOX_URL=web.url(""))


def test_an_answer_that_postgresql_cannot_hold_is_kept_by_the_stated_rule(
    calls: Calls, web: WebServer
) -> None:
    # case J1, J2, J3, J6
    # rule 10.15
    web.answer(
        BULK,
        b'{"results": [{"email": "nul \\u0000"}, {"email": "half \\ud83d"},'
        b' {"email": "a", "n": [NaN, -Infinity, 1e999, 18446744073709551616]},'
        b' {"error": {"status": 422, "message": "no \\u0000"}}, {"email": "fine"}]}',
    )
    members = {key(n): person(n) for n in range(5)}
    first = calls.results(A_BATCH, members)
    results = [first[key(n)]["result"] for n in (0, 1, 2, 4)]
    assert results == [
        {"email": "nul \ufffd"},
        {"email": "half \ufffd"},
        {"email": "a", "n": [None, None, None, 2**64]},
        {"email": "fine"},
    ]
    assert first[key(3)]["error"]["message"] == "no \ufffd"
    assert ledger(key(3)).error["message"] == "no \ufffd"
    again = calls.results(A_BATCH, {key(n): person(n) for n in (0, 1, 2, 4)})
    assert [again[key(n)]["result"] for n in (0, 1, 2, 4)] == results
    assert {result["source"] for result in again.values()} == {"ledger"}
    assert len(web.got(BULK)) == 1


NO_ANSWERS = [
    (200, b"<html>error</html>"),
    (200, b'"an error"'),
    (200, b""),
    (500, b'{"message": "down"}'),
    (404, b"{}"),
    (204, b""),
    (429, b'{"message": "slow down"}'),
]


def test_what_is_no_answer_is_neither_kept_nor_paid_nor_a_miss(
    calls: Calls, web: WebServer
) -> None:
    # case R11, E6, E7, E10
    # rule 10.10, 15.8
    for number, (status, body) in enumerate(NO_ANSWERS):
        web.answer(SINGLE, body, status=status)
        failed = calls.single(C, person(number), key(number))
        assert failed.status_code >= 400
        assert failed.json()["error"]["category"] in ("upstream", "rate_limit")
        assert ledger(key(number)).status == "failed"
    assert (usage(calls.run).credits_reserved, usage(calls.run).credits_spent) == (0, 0)
    time.sleep(float(failed.headers["retry-after"]))
    web.answer(SINGLE, b'{"email": "a@b.example"}')
    for source in ("live", "ledger"):
        for number in range(len(NO_ANSWERS)):
            told = calls.single(C, person(number), key(number)).json()
            assert (told["status"], told["source"]) == ("completed", source)


def test_a_failed_call_releases_everybody_who_waits_for_it(calls: Calls, web: WebServer) -> None:
    # case E8, D7
    web.answer(SINGLE, b'{"message": "no such person"}', status=422)
    with ThreadPoolExecutor(6) as clients:
        answers = list(clients.map(lambda _: calls.single(C, person(1), key(1)), range(6)))
    assert {answer.status_code for answer in answers} == {422}
    assert {answer.json()["error"]["message"] for answer in answers} == {"no such person"}


def test_a_quota_that_is_used_up_is_told_apart_from_a_moment_to_wait(
    calls: Calls, web: WebServer
) -> None:
    # case R3
    web.answer(SINGLE, b'{"message": "resets in 16 days"}', status=429, Retry_After="1382400")
    error = calls.single(C, person(1), key(1)).json()["error"]
    assert (error["category"], error["retryable"]) == ("quota", False)
    assert len(web.got(SINGLE)) == 1


def test_a_penalty_that_one_gateway_learns_holds_for_all(
    start_calls: StartCalls, web: WebServer
) -> None:
    # case R2, R4
    one, two = (start_calls(SANDBOX_URL=web.url("")) for _ in range(2))
    web.answer(SINGLE, b"{}", status=429, Retry_After="90")
    assert one.single(C, person(1), key(1)).status_code == 429
    later = two.single(C, person(2), key(2))
    assert later.status_code == 429
    assert 80 < float(later.headers["retry-after"]) <= 90
    assert len(web.got(SINGLE)) == 1


def test_a_reply_that_a_provider_breaks_off_is_a_failure_of_its_category(
    calls: Calls, web: WebServer
) -> None:
    # rule 15.8
    gone = calls.single(C, person(1), key(1))
    assert gone.status_code >= 400
    web.answer(BULK, b'{"results": [null, nu')
    cut = calls.results(A_BATCH, {key(n): person(n) for n in (2, 3)})
    errors = [cut[key(n)]["error"] for n in (2, 3)]
    assert {(error["category"], error["retryable"]) for error in errors} == {("upstream", True)}


def test_calls_and_steps_and_retries_are_counted_where_they_are_sent(
    calls: Calls, web: WebServer
) -> None:
    # rule 4.4, 4.5
    web.answer(BULK, b'{"results": [null, null, null]}')
    members = {key(n): person(n) for n in range(3)}
    for _ in range(2):
        calls.batch(A_BATCH, members, **STEP)
    told = usage(calls.run)
    assert (told.tool_calls, told.waterfall_steps, told.retries) == (3, 3, 0)
    for status, body in ((500, b"{}"), (200, b'{"email": "a"}')):
        web.answer(SINGLE, body, status=status)
        calls.single(C, person(1), key(9), **STEP)
    told = usage(calls.run)
    assert (told.tool_calls, told.waterfall_steps, told.retries) == (5, 4, 1)


def test_waterfall_steps_are_limited_where_a_number_is_given(calls: Calls, web: WebServer) -> None:
    # rule 4.1, 4.2, 4.3
    web.answer(SINGLE, b"null")

    def statuses(numbers: range) -> list[int]:
        return [calls.single(C, person(n), key(n), **STEP).status_code for n in numbers]

    assert statuses(range(3)) == [200] * 3
    set_run(calls.run, limits={"max_waterfall_step_executions": 5})
    assert statuses(range(3, 7)) == [200, 200, 402, 402]
    assert len(web.got(SINGLE)) == usage(calls.run).waterfall_steps == 5
    assert statuses(range(5)) == [200] * 5  # (from the ledger, which counts nothing)
    assert usage(calls.run).tool_calls == 5


def test_a_limit_on_calls_grows_with_the_rows_of_the_run(calls: Calls, web: WebServer) -> None:
    # rule 4.2, 4.6
    from plays.models import MapFrame

    set_run(calls.run, limits={"max_tool_call_count": 1, "max_tool_calls_per_row": 2})
    web.answer(SINGLE, b"null")
    before = [calls.single(C, person(n), key(n)).status_code for n in range(2)]
    assert before == [200, 402]
    MapFrame.objects.create(
        run_id=calls.run, path="p", table="t", is_sealed=True, total=2, columns=[], fields=[]
    )
    after = [calls.single(C, person(n), key(n)).status_code for n in range(1, 6)]
    assert after == [200, 200, 200, 200, 402]
    assert usage(calls.run).tool_calls == 5


def test_nobody_is_answered_without_a_token(calls: Calls, web: WebServer) -> None:
    # rule 15.1
    for scheme in ("", "Bearer x", "Basic {}"):
        for tool in (C, A_BATCH, "http_fetch", "no_such_tool"):
            headers = {"Authorization": scheme.format(calls.token)}
            assert calls.single(tool, person(1), key(1), **headers).status_code == 401
    assert web.asked == []
