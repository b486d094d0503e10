"""The sandbox's tools as the catalogue holds them, and how their replies are read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plays.tools import catalogue
from plays.tools.catalogue import Catalogue
from plays.tools.definitions import (
    Ask,
    Failure,
    Found,
    LeftOut,
    Nothing,
    ProviderReply,
    Tool,
    Unreadable,
)
from runtime.tools import output_value


def tool(name: str) -> Tool:
    found = catalogue().tool(name)
    assert found is not None
    return found


def split(results: Any, *inputs: Any, name: str = "sandbox_email_verifier") -> list[Any]:
    bulk = tool(name).bulk
    assert bulk is not None
    reply = ProviderReply(200, {}, json.dumps({"results": results}).encode())
    return bulk.split(reply, [Ask(given, 1) for given in inputs])


@pytest.mark.parametrize(
    ("name", "output", "price", "operation", "size"),
    [
        ("sandbox_a_email_finder", "email", 0.2, "sandbox_a_email_finder_batch", 100),
        ("sandbox_b_email_finder", "email", 0.4, "sandbox_b_email_finder_batch", 50),
        ("sandbox_c_email_finder", "email", 0.6, None, None),
        ("sandbox_email_verifier", "verdict", 0.1, "sandbox_email_verifier_batch", 100),
        ("sandbox_mobile_finder", "mobile", 1.0, None, None),
        ("sandbox_company_enrichment", "company", 0.3, "sandbox_company_enrichment_batch", 25),
        ("sandbox_people_search", "people", 0.5, None, None),
        ("test_company_search", "company", 0.0, None, None),
        ("test_rate_limit", "echo", 0.0, None, None),
        ("test_transient_500", "echo", 0.0, None, None),
    ],
)
def test_the_catalogue_holds_each_tool_as_specified(
    name: str, output: str, price: float, operation: str | None, size: int | None
) -> None:
    spec = tool(name).spec

    assert (spec.output, spec.price, spec.repeatable) == (output, price, True)
    assert (spec.batch and (spec.batch.operation, spec.batch.size)) == (size and (operation, size))


def test_a_named_waterfall_finds_its_tools_by_provider() -> None:
    tools = catalogue()

    assert tools.waterfall_tool("sandbox_a", "email_finder") == "sandbox_a_email_finder"
    assert tools.waterfall_tool("pdl", "person_enrichment") == "peopledatalabs_person_enrichment"
    assert tools.waterfall_tool("hunter", "email_finder") not in tools.ids()


def test_one_id_for_two_tools_is_a_mistake_that_names_it() -> None:
    with pytest.raises(ValueError, match="sandbox_mobile_finder is registered twice"):
        Catalogue([tool("sandbox_mobile_finder")] * 2)


@pytest.mark.parametrize(
    ("name", "result", "value"),
    [
        ("sandbox_a_email_finder", {"email": "a@b.test", "confidence": 50}, "a@b.test"),
        ("sandbox_email_verifier", {"email": "a@b.test", "verdict": "valid"}, "valid"),
        ("sandbox_mobile_finder", {"mobile": "+15550000001"}, "+15550000001"),
        ("sandbox_company_enrichment", {"company": {"name": "A"}}, {"name": "A"}),
        ("sandbox_people_search", {"people": [{"title": "CTO"}]}, [{"title": "CTO"}]),
        ("test_rate_limit", {"x": 1}, {"x": 1}),
    ],
)
def test_a_waterfalls_value_is_found_in_a_result(name: str, result: Any, value: Any) -> None:
    spec = tool(name).spec

    assert output_value(spec, result, spec.output) == value


def test_a_bulk_request_carries_inputs_and_attempts_in_order() -> None:
    bulk = tool("sandbox_email_verifier").bulk
    assert bulk is not None
    request = bulk.request([Ask({"email": "a@b.test"}, 3), Ask({"email": "c@d.test"}, 1)])

    assert request.path == "/sandbox/sandbox_email_verifier_batch"
    assert request.content == {"requests": [{"email": "a@b.test"}, {"email": "c@d.test"}]}
    assert request.headers == {"x-sandbox-attempts": "3,1"}


def test_a_bulk_reply_is_matched_by_position() -> None:
    # case B2
    entries = split(
        [{"verdict": "valid"}, None, {"error": {"status": 500, "message": "no"}}], *"abc"
    )

    assert entries[:2] == [Found({"verdict": "valid"}), Nothing()]
    assert entries[2] == Failure(
        "provider_error", "upstream", "no", retryable=True, is_unknown=True
    )


def test_calls_that_a_reply_leaves_out_are_said_to_be_left_out() -> None:
    assert split([None], *"abc") == [Nothing(), LeftOut(), LeftOut()]
    assert split([], "a") == [LeftOut()]


def test_a_shuffled_reply_is_matched_by_the_inputs_that_it_echoes() -> None:
    # case B1
    a, b, c = {"email": "a@x.test"}, {"email": "b@x.test"}, {"email": "c@x.test"}
    entries = split(
        [{"input": c}, {"verdict": "valid", "input": a}, {"verdict": "invalid", "input": b}],
        a,
        b,
        c,
    )

    assert entries == [Found({"verdict": "valid"}), Found({"verdict": "invalid"}), Nothing()]


def test_equal_inputs_of_a_shuffled_reply_each_get_a_result() -> None:
    a = {"email": "a@x.test"}
    told = {"verdict": "valid", "input": a}

    assert split([told, told], a, a) == [Found({"verdict": "valid"})] * 2
    assert split([told], a, a) == [Found({"verdict": "valid"}), LeftOut()]


@pytest.mark.parametrize(
    "results",
    [
        None,
        {"a": 1},
        [None, None],
        [{"error": {"status": "bad", "message": "x"}}],
    ],
)
def test_a_reply_of_another_form_is_unreadable(results: Any) -> None:
    with pytest.raises(Unreadable):
        split(results, "a")


def test_what_json_does_not_have_is_null_in_a_reply() -> None:
    # case J2
    reply = ProviderReply(200, {}, b'{"n": [NaN, Infinity, -Infinity, 1]}')

    assert tool("test_rate_limit").read(reply) == Found({"n": [None, None, None, 1]})


@pytest.mark.parametrize("body", [b'"an error"', b"[]", b"7", b"<html>", b""])
def test_a_single_reply_that_is_no_object_is_no_result(body: bytes) -> None:
    # case E7
    with pytest.raises(Unreadable):
        tool("test_rate_limit").read(ProviderReply(200, {}, body))


def test_a_single_result_that_looks_like_an_error_is_a_result() -> None:
    reply = ProviderReply(200, {}, b'{"error": {"status": 500, "message": "echoed"}}')

    assert tool("test_rate_limit").read(reply) == Found(
        {"error": {"status": 500, "message": "echoed"}}
    )


def test_big_numbers_of_a_reply_stay_exact() -> None:
    reply = ProviderReply(200, {}, b'{"id": 123456789012345678901234567890}')

    assert tool("test_rate_limit").read(reply) == Found({"id": 123456789012345678901234567890})
