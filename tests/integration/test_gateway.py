"""The gateway as a process of its own, over HTTP, with its ledger in PostgreSQL.

What the provider really got is its own count (`/sandbox/stats`), never the gateway's word.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any
from uuid import uuid4

import httpx
import pytest

from plays.gateway.tokens import issue
from tests.integration.gateway_calls import (
    A_BATCH,
    ADA,
    BOB,
    A,
    C,
    Calls,
    key,
    ledger,
    person,
    set_run,
    usage,
)
from tests.product import StartProduct


def test_a_call_is_paid_once_and_answered_from_the_ledger_after(start_calls: Any) -> None:
    # rule 4.5, 8.8
    calls = start_calls()
    first = calls.single(A, ADA, key(1)).json()
    again = calls.single(A, ADA, key(1)).json()
    assert (first["status"], first["source"], first["credits"]) == ("completed", "live", 0.2)
    assert (again["result"], again["source"], again["credits"]) == (first["result"], "ledger", 0)
    assert calls.provider(A) == (1, 1)
    assert usage(calls.run).credits_spent == Decimal("0.2")
    assert usage(calls.run).tool_calls == 1


def test_a_batch_is_answered_member_by_member(start_calls: Any) -> None:
    # rule 4.5, 8.10
    calls = start_calls()
    calls.single(A, person(1), key(1))
    results = calls.results(A_BATCH, {key(number): person(number) for number in range(1, 31)})
    assert len(results) == 30
    assert results[key(1)]["source"] == "ledger"
    assert {result["status"] for result in results.values()} == {"completed", "no_result"}
    assert calls.provider(A) == (2, 30)
    hits = sum(result["status"] == "completed" for result in results.values())
    assert usage(calls.run).credits_spent == Decimal("0.2") * hits
    assert usage(calls.run).credits_reserved == 0


def test_only_the_culprit_of_a_batch_fails(start_calls: Any) -> None:  # case B6
    calls = start_calls()
    members = {key(number): person(number) for number in range(8)}
    members[key(5)] = person(5, "rejected.test")
    results = calls.results(A_BATCH, members)
    failed = [name for name, result in results.items() if result["status"] == "failed"]
    assert failed == [key(5)]
    assert results[key(5)]["error"]["category"] == "validation"


def test_shuffled_replies_land_where_they_belong(start_calls: Any) -> None:  # case B1
    calls = start_calls()
    members = {key(number): person(number) for number in range(20)}
    members[key(19)] = person(19, "shuffled.test")
    for name, result in calls.results(A_BATCH, members).items():
        if result["status"] == "completed":
            given = members[name]
            expected = f"{given['first_name']}.{given['last_name']}@{given['domain']}".lower()
            assert result["result"]["email"] == expected


def test_what_a_short_reply_leaves_out_is_unattempted_and_costs_nothing(start_calls: Any) -> None:
    # rule 8.10
    # case E10
    calls = start_calls()
    members = {key(0): person(0), key(1): person(1, "short-batch.test"), key(2): person(2)}
    results = calls.results(A_BATCH, members)
    assert results[key(0)]["status"] in ("completed", "no_result")
    assert [results[key(n)]["status"] for n in (1, 2)] == ["unattempted", "unattempted"]
    assert usage(calls.run).credits_reserved == 0


def test_failures_are_never_answers(start_calls: Any) -> None:  # case E6, D6
    # rule 10.10
    calls = start_calls()
    statuses = [calls.single(C, person(1, "flaky.test"), key(1)).status_code for _ in range(3)]
    assert all(status >= 500 for status in statuses[:2])
    assert statuses[2] == 200
    assert ledger(key(1)).attempts == 3
    assert usage(calls.run).retries == 2


@pytest.mark.parametrize(
    ("suffix", "category"),
    [
        ("unauthorized.test", "authentication"),
        ("no-credits.test", "billing"),
        ("garbage.test", "upstream"),
    ],
)
def test_refusals_carry_their_category(start_calls: Any, suffix: str, category: str) -> None:
    # case E3, E7
    error = start_calls().single(C, person(1, suffix), key(1)).json()["error"]
    assert error["category"] == category
    assert error["provider"] == "sandbox_c"
    assert error["request_id"]


def test_a_rate_limit_tells_when_to_come_back(start_calls: Any) -> None:  # case R1
    calls = start_calls()
    answer = calls.single(C, person(1, "rate-limited.test"), key(1))
    assert answer.status_code == 429
    assert float(answer.headers["Retry-After"]) > 0
    time.sleep(float(answer.headers["Retry-After"]))
    assert calls.single(C, person(1, "rate-limited.test"), key(1)).status_code == 200


def test_an_old_epoch_and_a_stopped_run_are_refused(start_calls: Any) -> None:  # case X1, C3
    # rule 15.1
    calls = start_calls()
    current, calls.token = calls.token, issue(str(calls.run), 0)
    old = calls.single(A, ADA, key(1))
    assert (old.status_code, old.json()["error"]["code"]) == (409, "lease_lost")
    calls.token = current
    set_run(calls.run, status="paused")
    stopped = calls.single(A, ADA, key(1))
    assert (stopped.status_code, stopped.json()["error"]["code"]) == (409, "run_stopped")
    set_run(calls.run, status="running", requested="cancel")
    assert calls.single(A, ADA, key(1)).status_code == 409
    assert calls.provider(A) == (0, 0)


def test_a_token_that_nobody_issued_is_refused(start_calls: Any) -> None:
    # rule 15.1
    calls = start_calls()
    calls.token = "made-up"
    assert calls.single(A, ADA, key(1)).status_code == 401


def test_twenty_clients_cannot_spend_a_budget_for_ten(start_calls: Any) -> None:  # case L1
    # rule 4.1, 4.2
    calls = start_calls(SANDBOX_LATENCY_MS="100")
    set_run(calls.run, limits={"max_tool_call_count": 10, "max_tool_calls_per_row": 0})
    with ThreadPoolExecutor(20) as clients:
        answers = list(clients.map(lambda n: calls.single(C, person(n), key(n)), range(20)))
    refused = [answer for answer in answers if answer.status_code == 402]
    assert len(refused) == 10
    assert usage(calls.run).tool_calls == 10
    assert calls.provider(C) == (10, 10)
    error = refused[0].json()["error"]
    assert (error["code"], error["category"]) == ("limit_reached", "limit")
    assert "max_tool_call_count" in error["message"]
    set_run(calls.run, limits={"max_tool_call_count": 20, "max_tool_calls_per_row": 0})
    late = next(n for n, answer in enumerate(answers) if answer.status_code == 402)
    assert calls.single(C, person(late), key(late)).status_code == 200


def test_a_batch_is_admitted_member_by_member(start_calls: Any) -> None:
    calls = start_calls()
    set_run(calls.run, limits={"max_credits": "1.0"})
    results = calls.results(A_BATCH, {key(number): person(number) for number in range(20)})
    refused = [r for r in results.values() if r["status"] == "failed"]
    assert len(refused) == 15  # five times 0.2 were reserved
    assert {r["error"]["category"] for r in refused} == {"limit"}
    assert usage(calls.run).credits_spent <= Decimal("1.0")


def test_a_client_that_vanishes_does_not_throw_its_answer_away(start_calls: Any) -> None:
    calls = start_calls(SANDBOX_LATENCY_MS="800")
    url = f"{calls.url}/api/v2/integrations/{A}/execute"
    headers = {"Authorization": f"Bearer {calls.token}", "Idempotency-Key": key(1)}
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(url, json={"payload": ADA}, headers=headers, timeout=0.3)
    again = calls.single(A, ADA, key(1)).json()
    assert again["status"] in ("completed", "no_result")
    assert calls.provider(A) == (1, 1)


def test_clients_that_ask_the_same_at_once_share_one_call(start_calls: Any) -> None:  # case D7
    calls = start_calls(SANDBOX_LATENCY_MS="400")
    with ThreadPoolExecutor(6) as clients:
        answers = list(clients.map(lambda _: calls.single(A, ADA, key(1)), range(6)))
    assert {answer.status_code for answer in answers} == {200}
    assert calls.provider(A) == (1, 1)
    assert usage(calls.run).tool_calls == 1


def test_two_gateways_share_one_call_and_one_ledger(start_product: StartProduct) -> None:
    sandbox = start_product(only=("gateway",), SANDBOX_LATENCY_MS="400")
    told = {"SANDBOX_URL": sandbox.gateway_url}
    one = Calls(start_product(only=("gateway",), **told).gateway_url)
    two = Calls(start_product(only=("gateway",), **told).gateway_url)
    two.run, two.token = one.run, one.token
    with ThreadPoolExecutor(2) as clients:
        both = list(clients.map(lambda calls: calls.single(A, ADA, key(1)), [one, two]))
    assert [answer.json()["status"] for answer in both] == [both[0].json()["status"]] * 2
    stats = httpx.get(f"{sandbox.gateway_url}/sandbox/stats").json()
    assert stats["members"] == 1


def test_a_provider_window_is_shared_by_all_gateways(start_product: StartProduct) -> None:
    # case R4, R5, R8
    from plays.models import ToolPolicy

    ToolPolicy.objects.create(provider="sandbox_c", windows=[[3, 60]])
    sandbox = start_product(only=("gateway",))
    told = {"SANDBOX_URL": sandbox.gateway_url}
    one = Calls(start_product(only=("gateway",), **told).gateway_url)
    two = Calls(start_product(only=("gateway",), **told).gateway_url)
    with ThreadPoolExecutor(8) as clients:
        asked = [(calls, number) for number in range(4) for calls in (one, two)]
        answers = list(
            clients.map(
                lambda each: each[0].single(
                    C, person(each[1]), key(each[1] + (each[0] is two) * 50)
                ),
                asked,
            )
        )
    codes = [answer.status_code for answer in answers]
    assert codes.count(200) == 3
    assert codes.count(429) == 5
    assert httpx.get(f"{sandbox.gateway_url}/sandbox/stats").json()["members"] == 3


def test_a_tool_that_is_switched_off_is_refused_at_once(start_calls: Any) -> None:
    from plays.models import ToolPolicy

    calls = start_calls()
    assert calls.single(A, ADA, key(1)).status_code == 200
    ToolPolicy.objects.create(provider="sandbox_a", tool=A, is_enabled=False)
    time.sleep(2.5)
    refused = calls.single(A, BOB, key(2))
    assert refused.status_code >= 400
    assert calls.provider(A) == (1, 1)


def test_a_claim_left_by_a_killed_gateway_is_called_again_when_it_expires(
    start_product: StartProduct,
) -> None:  # case D4
    from django.db.models.functions import Now

    from plays.models import ToolCall

    sandbox = start_product(only=("gateway",), SANDBOX_LATENCY_MS="3000")
    product = start_product(only=("gateway",), SANDBOX_URL=sandbox.gateway_url)
    calls = Calls(product.gateway_url)
    with ThreadPoolExecutor(1) as client:
        asking = client.submit(lambda: calls.single(A, ADA, key(1)))
        while not ToolCall.objects.filter(key=key(1), status="claimed").exists():
            time.sleep(0.02)
        product.gateway.kill()
        with pytest.raises(httpx.HTTPError):
            asking.result()
    ToolCall.objects.filter(key=key(1)).update(claimed_until=Now())
    product.start(product.gateway.program)
    answer = calls.single(A, ADA, key(1)).json()
    assert answer["status"] in ("completed", "no_result")
    assert ledger(key(1)).attempts == 2


def test_unknown_tools_and_code_are_refused_with_advice(start_calls: Any) -> None:
    calls = start_calls()
    assert calls.single("no_such_tool", {}, key(1)).status_code == 404
    refused = calls.single("run_javascript", {}, key(1))
    assert refused.status_code >= 400
    assert "step" in refused.json()["error"]["message"]


def test_metadata_comes_with_the_answer_where_it_is_asked_for(start_calls: Any) -> None:
    # rule 1.7
    answer = start_calls().single(A, ADA, key(1), **{"x-deepline-include-tool-metadata": "true"})
    assert answer.json()["_metadata"]["tool"]["toolId"] == A


def test_a_late_answer_of_a_call_that_another_took_over_changes_nothing(start_calls: Any) -> None:
    # case D1
    from plays.models import ToolCall

    calls = start_calls(SANDBOX_LATENCY_MS="600")
    with ThreadPoolExecutor(1) as client:
        asking = client.submit(calls.single, A, ADA, key(1))
        while not ToolCall.objects.filter(key=key(1), status="claimed").exists():
            time.sleep(0.02)
        other = uuid4()
        ToolCall.objects.filter(key=key(1)).update(claim=other)
        late = asking.result()
    assert late.json()["error"]["code"] == "claim_lost"
    held = ledger(key(1))
    assert (held.status, held.claim, held.result) == ("claimed", other, None)
    assert usage(calls.run).credits_spent == 0
