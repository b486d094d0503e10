"""What the sandbox answers, to the digit.

The literal values were computed by a program of its own from the digest's definition, not by the
product; the statistics below compute the digest again with nothing but `hashlib`.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from plays.tools.sandbox.rules import HIT_RATES, Rejected, canonical, number, outcome

ADA = {"first_name": "Ada", "last_name": "Stone", "domain": "acme.example"}
ZOE = {"first_name": "Zoë", "last_name": "O'Neil", "domain": "Bolt.Test"}
GRACE = {"first_name": "Grace", "last_name": "Rivers", "domain": "north.example"}
ALAN = {"first_name": "Alan", "last_name": "Van der Woods", "domain": "harbor-works.example"}


@pytest.mark.parametrize(
    ("tool", "given", "h"),
    [
        ("sandbox_a_email_finder", ADA, 4130518077),
        ("sandbox_a_email_finder", ZOE, 461016056),
        ("sandbox_b_email_finder", ALAN, 646878614),
        ("sandbox_email_verifier", {"email": "ada.stone@acme.example"}, 926076190),
        ("test_company_search", {"domain": "harbor-works.example"}, 4100668452),
    ],
)
def test_the_digest_has_its_literal_value(tool: str, given: Any, h: int) -> None:
    assert number(tool, given) == h


@pytest.mark.parametrize(
    ("tool", "given", "result"),
    [
        ("sandbox_a_email_finder", ADA, None),
        ("sandbox_a_email_finder", ZOE, None),
        (
            "sandbox_a_email_finder",
            GRACE,
            {"email": "grace.rivers@north.example", "confidence": 52},
        ),
        (
            "sandbox_a_email_finder",
            ALAN,
            {"email": "alan.vanderwoods@harbor-works.example", "confidence": 89},
        ),
        ("sandbox_b_email_finder", ADA, None),
        (
            "sandbox_b_email_finder",
            ALAN,
            {"email": "alan.vanderwoods@harbor-works.example", "confidence": 64},
        ),
        ("sandbox_c_email_finder", ADA, {"email": "ada.stone@acme.example", "confidence": 59}),
        ("sandbox_c_email_finder", GRACE, None),
        (
            "sandbox_email_verifier",
            {"email": "ada.stone@acme.example"},
            {"email": "ada.stone@acme.example", "verdict": "valid"},
        ),
        (
            "sandbox_email_verifier",
            {"email": "x@bolt.test"},
            {"email": "x@bolt.test", "verdict": "catch_all"},
        ),
        (
            "sandbox_email_verifier",
            {"email": "grace@north.example"},
            {"email": "grace@north.example", "verdict": "invalid"},
        ),
        (
            "sandbox_mobile_finder",
            {"linkedin_url": "https://linkedin.example/in/ada-stone-0"},
            None,
        ),
        (
            "sandbox_mobile_finder",
            {"linkedin_url": "https://linkedin.example/in/ada-stone-2"},
            {"mobile": "+15555152414"},
        ),
        (
            "sandbox_company_enrichment",
            {"domain": "acme.example"},
            {"company": {"name": "Acme", "employees": 10000, "industry": "Energy"}},
        ),
        (
            "sandbox_company_enrichment",
            {"domain": "BOLT.test"},
            {"company": {"name": "Bolt", "employees": 10000, "industry": "Energy"}},
        ),
        (
            "test_company_search",
            {"domain": "harbor-works.example"},
            {"company": {"name": "Harbor-works", "employees": 10, "industry": "Retail"}},
        ),
        (
            "sandbox_people_search",
            {"domain": "acme.example", "title": "CTO", "limit": 2},
            {
                "people": [
                    {
                        "first_name": "Alan",
                        "last_name": "Rivers",
                        "title": "CTO",
                        "linkedin_url": "https://linkedin.example/in/alan-rivers-6282",
                    },
                    {
                        "first_name": "Edsger",
                        "last_name": "Woods",
                        "title": "CTO",
                        "linkedin_url": "https://linkedin.example/in/edsger-woods-6283",
                    },
                ]
            },
        ),
        (
            "sandbox_people_search",
            {"domain": "bolt1.test", "title": "CEO", "limit": 1},
            {
                "people": [
                    {
                        "first_name": "Edsger",
                        "last_name": "Hills",
                        "title": "CEO",
                        "linkedin_url": "https://linkedin.example/in/edsger-hills-723",
                    }
                ]
            },
        ),
        ("test_rate_limit", {"any": ["thing", 1]}, {"any": ["thing", 1]}),
        ("test_transient_500", {}, {}),
    ],
)
def test_an_input_gives_its_literal_result(tool: str, given: Any, result: Any) -> None:
    assert outcome(tool, given) == result


def test_people_are_three_unless_asked_and_never_more_than_five() -> None:
    by_default = outcome("sandbox_people_search", {"domain": "acme.example", "title": "CTO"})
    many = outcome(
        "sandbox_people_search", {"domain": "north.example", "title": "Head of Sales", "limit": 9}
    )

    assert [person["first_name"] for person in by_default["people"]] == ["Grace", "Alan", "Edsger"]
    assert [person["last_name"] for person in by_default["people"]] == ["Fields", "Hills", "Stone"]
    assert [person["linkedin_url"][-4:] for person in many["people"]] == [
        "7864", "7865", "7866", "7867", "7868",
    ]  # fmt: skip


def test_mobile_numbers_are_filled_to_seven_digits() -> None:
    for n in range(400):
        given = {"linkedin_url": f"https://linkedin.example/in/{n}"}
        found = outcome("sandbox_mobile_finder", given)
        if found:
            assert len(found["mobile"]) == len("+15550000000")
            assert int(found["mobile"][5:]) == _h("sandbox_mobile_finder", given) % 10**7


@pytest.mark.parametrize("tool", sorted(HIT_RATES))
def test_each_tool_hits_exactly_where_the_digest_says(tool: str) -> None:
    rate = {
        "sandbox_a_email_finder": 55,
        "sandbox_b_email_finder": 35,
        "sandbox_c_email_finder": 25,
        "sandbox_mobile_finder": 30,
        "sandbox_company_enrichment": 80,
        "sandbox_people_search": 90,
    }.get(tool, 100)
    for n in range(300):
        given = {
            "first_name": f"F{n}", "last_name": "L", "domain": f"d{n}.example", "email": "a@b.test",
        }  # fmt: skip
        assert (outcome(tool, given) is not None) == (_h(tool, given) % 100 < rate)


def test_the_canonical_text_sorts_keys_and_keeps_characters_as_they_are() -> None:
    assert canonical({"b": "é", "a": {"z": 1, "y": [1.5, None, True]}}) == (
        '{"a":{"y":[1.5,null,true],"z":1},"b":"é"}'
    )


def test_composed_and_decomposed_letters_are_different_inputs() -> None:
    composed, decomposed = {"email": "zo\u00eb@b.test"}, {"email": "zoe\u0308@b.test"}

    assert number("sandbox_email_verifier", composed) != number(
        "sandbox_email_verifier", decomposed
    )


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ("İdil", "idil"),  # lower-casing gives a dot of its own, which is then stripped
        ("\u212aarl", "karl"),  # the Kelvin sign is a k once it is lower
        ("Jean-Luc", "jean-luc"),
        ("D. B.", "d.b."),
        ("李", ""),
    ],
)
def test_parts_of_an_address_are_lowered_and_then_stripped(first: str, expected: str) -> None:
    found = [
        result["email"]
        for n in range(50)
        if (
            result := outcome(
                "sandbox_a_email_finder",
                {"first_name": first, "last_name": "Ng", "domain": f"d{n}.example"},
            )
        )
    ]
    assert found
    assert {email.split(".ng@")[0] for email in found} == {expected}


@pytest.mark.parametrize(
    ("tool", "given", "sentence"),
    [
        ("sandbox_a_email_finder", {"first_name": "A", "domain": "b"}, "needs last_name as text"),
        ("sandbox_email_verifier", {"email": 5}, "needs email as text"),
        ("sandbox_people_search", {"limit": "2"}, "limit must be a whole number"),
        ("sandbox_people_search", {"limit": True}, "limit must be a whole number"),
    ],
)
def test_an_input_without_what_it_takes_is_rejected(tool: str, given: Any, sentence: str) -> None:
    with pytest.raises(Rejected, match=sentence):
        outcome(tool, given)


def _h(tool: str, given: Any) -> int:
    text = json.dumps(given, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return int(hashlib.sha256(f"{tool}|{text}".encode()).hexdigest()[:8], 16)
