"""The sandbox's behaviour on demand, its counts and its pace, without a network."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plays.tools.sandbox.quirks import conduct, endings, refusal_of_call
from plays.tools.sandbox.server import Sandbox, Window

VERIFIER, BULK = "sandbox_email_verifier", "sandbox_email_verifier_batch"


def mail(name: str, domain: str = "acme.example") -> dict[str, str]:
    return {"email": f"{name}@{domain}"}


async def ask(
    operation: str, content: Any, *, attempts: str = "", sandbox: Sandbox | None = None
) -> tuple[int, Any, dict[str, str]]:
    """Give status, parsed body (the text where it is no JSON) and headers of one answer."""
    sandbox = sandbox or Sandbox(latency_seconds=0)
    answer = await sandbox.answer(operation, json.dumps(content).encode(), attempts)
    try:
        told = json.loads(answer.body)
    except ValueError:
        told = answer.body.decode()
    return answer.status, told, dict(answer.headers)


@pytest.mark.parametrize(
    ("domain", "attempt", "status"),
    [
        ("rate-limited.test", 1, 429),
        ("rate-limited.test", 2, 200),
        ("a.rate-limited.test", 1, 429),
        ("flaky.test", 1, 500),
        ("flaky.test", 2, 500),
        ("flaky.test", 3, 200),
        ("down.test", 9, 503),
        ("rejected.test", 1, 422),
        ("unauthorized.test", 1, 401),
        ("no-credits.test", 1, 402),
        ("flaky.test.example", 1, 200),
        ("short-batch.test", 1, 200),
        ("shuffled.test", 1, 200),
    ],
)
async def test_an_ending_decides_the_status(domain: str, attempt: int, status: int) -> None:
    got, _, _ = await ask(VERIFIER, mail("ada", domain), attempts=str(attempt))

    assert got == status


async def test_a_rate_limited_input_says_to_come_back_in_a_second() -> None:
    _, _, headers = await ask(VERIFIER, mail("ada", "rate-limited.test"))

    assert headers["retry-after"] == "1"


async def test_garbage_is_a_success_that_is_no_json() -> None:
    status, told, _ = await ask(VERIFIER, mail("ada", "garbage.test"))

    assert (status, isinstance(told, str)) == (200, True)


def test_a_slow_input_makes_the_request_slow() -> None:
    assert conduct([mail("ada"), mail("bob", "slow.test")], [1, 1]).is_slow
    assert not conduct([mail("ada")], [1]).is_slow


def test_an_ending_is_found_in_any_text_of_the_input_and_not_in_its_keys() -> None:
    assert endings({"a": [{"b": "x.down.test"}]}) == {"down.test"}
    assert endings({"down.test": "x"}) == set()


async def test_the_transient_tool_fails_twice() -> None:
    statuses = [
        (await ask("test_transient_500", {"x": 1}, attempts=str(attempt)))[0]
        for attempt in (1, 2, 3)
    ]

    assert statuses == [500, 500, 200]


async def test_a_bulk_reply_is_a_list_in_the_order_of_the_request() -> None:
    status, told, _ = await ask(
        BULK, {"requests": [mail("ada.stone"), mail("x", "bolt.test"), mail("y", "rejected.test")]}
    )

    assert status == 200
    assert told == {
        "results": [
            {"email": "ada.stone@acme.example", "verdict": "valid"},
            {"email": "x@bolt.test", "verdict": "catch_all"},
            {"error": {"status": 422, "message": "the sandbox rejects this input"}},
        ]
    }


async def test_a_miss_in_a_bulk_reply_is_null() -> None:
    given = {"first_name": "Ada", "last_name": "Stone", "domain": "acme.example"}
    _, told, _ = await ask("sandbox_a_email_finder_batch", {"requests": [given]})

    assert told == {"results": [None]}


async def test_flaky_concerns_its_call_only_and_goes_by_its_own_attempt() -> None:
    requests = [mail("ada", "flaky.test"), mail("bob"), mail("eve", "flaky.test")]
    _, told, _ = await ask(BULK, {"requests": requests}, attempts="2,1,3")

    assert told["results"][0]["error"]["status"] == 500
    assert told["results"][1]["email"] == "bob@acme.example"
    assert told["results"][2]["email"] == "eve@flaky.test"


@pytest.mark.parametrize(
    ("domain", "status"),
    [
        ("rate-limited.test", 429),
        ("down.test", 503),
        ("unauthorized.test", 401),
        ("no-credits.test", 402),
    ],
)
async def test_other_refusals_take_the_whole_bulk_request_with_them(
    domain: str, status: int
) -> None:
    got, told, _ = await ask(BULK, {"requests": [mail("ada"), mail("bob", domain)]})

    assert got == status
    assert told["error"]["status"] == status


async def test_a_short_reply_leaves_out_the_results_from_the_input_on() -> None:
    requests = [mail("ada"), mail("bob", "short-batch.test"), mail("eve")]
    _, told, _ = await ask(BULK, {"requests": requests})

    assert [result["email"] for result in told["results"]] == ["ada@acme.example"]


async def test_a_shuffled_reply_has_another_order_and_echoes_the_inputs() -> None:
    requests = [mail("ada"), mail("bob", "shuffled.test"), mail("eve")]
    _, told, _ = await ask(BULK, {"requests": requests})

    assert [result["input"] for result in told["results"]] == requests[::-1]
    assert all(result["email"] == result["input"]["email"] for result in told["results"])


async def test_a_bulk_request_over_its_size_is_refused() -> None:
    status, _, _ = await ask(
        "sandbox_company_enrichment_batch", {"requests": [{"domain": "a.example"}] * 26}
    )

    assert status == 413


@pytest.mark.parametrize("content", [[], {"requests": "no"}, {"requests": [1]}, {}])
async def test_a_bulk_body_of_another_form_is_refused(content: Any) -> None:
    assert (await ask(BULK, content))[0] == 400


async def test_an_unknown_operation_is_not_found() -> None:
    assert (await ask("sandbox_z_email_finder", {}))[0] == 404


async def test_stats_count_what_reached_the_provider() -> None:
    sandbox = Sandbox(latency_seconds=0)
    miss = {"first_name": "Ada", "last_name": "Stone", "domain": "acme.example"}
    hit = {"first_name": "Grace", "last_name": "Rivers", "domain": "north.example"}
    await ask("sandbox_a_email_finder_batch", {"requests": [miss, hit]}, sandbox=sandbox)
    await ask("sandbox_a_email_finder", hit, sandbox=sandbox)
    await ask(VERIFIER, mail("ada", "down.test"), sandbox=sandbox)

    assert sandbox.stats() == {
        "requests": 3,
        "members": 4,
        "hits": 2,
        "tools": {
            "sandbox_a_email_finder": {"requests": 2, "members": 3, "hits": 2},
            VERIFIER: {"requests": 1, "members": 1, "hits": 0},
        },
    }


async def test_the_sixth_request_of_a_second_to_the_rate_limited_tool_is_refused() -> None:
    sandbox = Sandbox(latency_seconds=0)
    answers = [await ask("test_rate_limit", {"n": n}, sandbox=sandbox) for n in range(6)]

    assert [status for status, _, _ in answers] == [200] * 5 + [429]
    assert 0 < float(answers[5][2]["retry-after"]) <= 1


def test_a_window_tells_exactly_when_there_is_a_place() -> None:
    window = Window(2)

    assert [window.wait(10.0), window.wait(10.25)] == [0.0, 0.0]
    assert window.wait(10.5) == 0.5
    assert window.wait(11.0) == 0.0
    assert window.wait(11.0) == 0.25


def test_a_window_of_less_than_one_request_a_second_spreads_them() -> None:
    window = Window(0.5)

    assert [window.wait(0.0), window.wait(1.5), window.wait(2.0)] == [0.0, 0.5, 0.0]


def test_the_pace_comes_from_the_environment() -> None:
    default = Sandbox.from_environment({})
    told = Sandbox.from_environment({"SANDBOX_LATENCY_MS": "700", "SANDBOX_RPS": "2.5"})

    assert (default.latency_seconds, default.requests_per_second) == (0.04, None)
    assert (told.latency_seconds, told.requests_per_second) == (0.7, 2.5)


def test_a_pace_that_is_no_number_is_told_by_its_variable() -> None:
    with pytest.raises(ValueError, match="SANDBOX_RPS must be a number of at least 0, not 'fast'"):
        Sandbox.from_environment({"SANDBOX_RPS": "fast"})


def test_a_rejected_call_is_refused_at_any_attempt() -> None:
    refusal = refusal_of_call(VERIFIER, mail("ada", "rejected.test"), 7)

    assert refusal is not None
    assert refusal.status == 422
