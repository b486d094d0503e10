"""Several calls as one request: what is divided, what is not, and who gets which entry."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from plays.gateway.batches import chunks, entries_of_bulk, entry_of_single
from plays.gateway.ledger import Asked, Claimed
from plays.tools import catalogue
from plays.tools.definitions import (
    Ask,
    Bulk,
    Entry,
    Failure,
    Found,
    LeftOut,
    Nothing,
    ProviderReply,
    ProviderRequest,
)
from plays.tools.failures import failure_for
from plays.tools.policies import Policies
from runtime.tools import BatchForm

SANDBOX = catalogue().tool("sandbox_email_verifier")
assert SANDBOX
INVALID = failure_for(422, "no such thing")


def calls(*inputs: Any) -> list[Claimed]:
    policy = Policies().policy(SANDBOX)
    return [
        Claimed(
            Asked(f"k{n}", given, False, SANDBOX, policy, Decimal(0), 1.0),
            claim="c",
            attempt=1,
            root="r",
            is_retry=False,
            is_new_step=False,
        )
        for n, given in enumerate(inputs)
    ]


class Provider:
    """Answers each request by a function of its inputs, and remembers how many each held."""

    def __init__(self, answer: Callable[[list[Any]], Any]) -> None:
        self._answer = answer
        self.sizes: list[int] = []

    async def __call__(
        self, request: ProviderRequest, members: Sequence[Claimed]
    ) -> ProviderReply | Failure:
        inputs = request.content["requests"]
        self.sizes.append(len(inputs))
        assert inputs == [member.asked.input for member in members]
        told = self._answer(inputs)
        if isinstance(told, Failure | ProviderReply):
            return told
        return ProviderReply(200, {}, json.dumps({"results": told}).encode())


def refuses(poison: set[int]) -> Callable[[list[Any]], Any]:
    """Refuse a whole request with any of these numbers in it, else answer with the numbers."""

    def answer(inputs: list[Any]) -> Any:
        numbers = [given["n"] for given in inputs]
        return INVALID if poison & set(numbers) else [{"verdict": n} for n in numbers]

    return answer


@pytest.mark.parametrize("poison", [set(), {0}, {99}, {3, 4}, {0, 50, 99}, set(range(100))])
async def test_only_the_calls_that_are_refused_fail(poison: set[int]) -> None:
    provider = Provider(refuses(poison))
    entries = await entries_of_bulk(SANDBOX, calls(*({"n": n} for n in range(100))), provider)

    assert [n for n, entry in enumerate(entries) if entry == INVALID] == sorted(poison)
    assert all(entry == Found({"verdict": n}) for n, entry in enumerate(entries) if n not in poison)


async def test_one_refused_call_in_a_hundred_costs_fifteen_requests() -> None:
    provider = Provider(refuses({37}))
    await entries_of_bulk(SANDBOX, calls(*({"n": n} for n in range(100))), provider)

    assert len(provider.sizes) <= 1 + 2 * 7


@pytest.mark.parametrize("status", [401, 402, 429, 500, 503])
async def test_what_is_not_refused_as_invalid_is_never_divided(status: int) -> None:
    # case B5
    failure = failure_for(status, "no")
    provider = Provider(lambda inputs: failure)
    entries = await entries_of_bulk(SANDBOX, calls({"n": 1}, {"n": 2}), provider)

    assert entries == [failure, failure]
    assert provider.sizes == [2]


async def test_a_reply_that_cannot_be_read_fails_its_calls_and_may_be_tried_again() -> None:
    # rule 15.8
    provider = Provider(lambda inputs: ProviderReply(200, {}, b"<html>"))
    entries = await entries_of_bulk(SANDBOX, calls({"n": 1}, {"n": 2}), provider)

    assert {
        (entry.category, entry.retryable) for entry in entries if isinstance(entry, Failure)
    } == {("upstream", True)}
    assert provider.sizes == [2]


async def test_a_short_reply_leaves_the_rest_out() -> None:
    # rule 8.10
    provider = Provider(lambda inputs: [None])
    entries = await entries_of_bulk(SANDBOX, calls({"n": 1}, {"n": 2}), provider)

    assert entries == [Nothing(), LeftOut()]


async def test_a_folder_that_gives_too_few_entries_is_not_believed() -> None:
    # case B2
    def careless(reply: ProviderReply, asks: Sequence[Ask]) -> list[Entry]:
        return [Nothing()]

    assert SANDBOX.bulk
    tool = replace(SANDBOX, bulk=Bulk(SANDBOX.bulk.request, careless))
    entries = await entries_of_bulk(tool, calls({"n": 1}, {"n": 2}), Provider(lambda inputs: []))

    assert all(isinstance(entry, Failure) for entry in entries)


async def test_a_part_for_which_there_is_no_slot_counts_as_sent_before() -> None:
    no_slot = Failure("rate_limited", "rate_limit", "full", True, 1.0, was_sent=False)
    provider = Provider(lambda inputs: INVALID if len(inputs) > 1 else no_slot)
    entries = await entries_of_bulk(SANDBOX, calls({"n": 1}, {"n": 2}), provider)

    assert [entry.was_sent for entry in entries if isinstance(entry, Failure)] == [True, True]


async def test_an_address_that_is_refused_is_not_asked_again_in_halves() -> None:
    refused = Failure("address_refused", "validation", "private", was_sent=False)
    provider = Provider(lambda inputs: refused)
    await entries_of_bulk(SANDBOX, calls({"n": 1}, {"n": 2}), provider)

    assert provider.sizes == [2]


async def test_a_single_reply_is_read() -> None:
    async def send(request: ProviderRequest, members: Sequence[Claimed]) -> ProviderReply:
        return ProviderReply(200, {}, b"null")

    assert await entry_of_single(SANDBOX, calls({"n": 1})[0], send) == Nothing()


async def test_a_folder_may_take_an_empty_answer_for_a_failure() -> None:
    # case E1
    blocked = failure_for(503, "the answer is empty because the account is blocked")
    tool = replace(SANDBOX, read=lambda reply: Nothing() if reply.json() else blocked)

    async def send(request: ProviderRequest, members: Sequence[Claimed]) -> ProviderReply:
        return ProviderReply(200, {}, b"[]")

    assert await entry_of_single(tool, calls({"n": 1})[0], send) == blocked


def test_requests_hold_at_most_their_size_in_order() -> None:
    made = list(chunks(SANDBOX, calls(*({"n": n} for n in range(5))), 2))

    assert [[call.asked.input["n"] for call in chunk] for chunk in made] == [[0, 1], [2, 3], [4]]


def test_calls_whose_grouped_inputs_differ_do_not_travel_together() -> None:
    grouped = replace(SANDBOX.spec, batch=BatchForm("x_batch", 100, ("country",)))
    tool = replace(SANDBOX, spec=grouped)
    given = [{"country": c, "n": n} for n, c in enumerate(("de", "fr", "de", None))]
    made = list(chunks(tool, calls(*given), 100))

    assert [[call.asked.input["n"] for call in chunk] for chunk in made] == [[0, 2], [1], [3]]
