"""What the sandbox answers: pure functions of a tool's id and an input.

Everything derives from ``h``, the first eight hexadecimal digits of the SHA-256 of
``<tool id>|<canonical JSON of the input>``, so that anybody can compute what a run must give.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from typing import Any

Json = Any

HIT_RATES = {
    "sandbox_a_email_finder": 55,
    "sandbox_b_email_finder": 35,
    "sandbox_c_email_finder": 25,
    "sandbox_email_verifier": 100,
    "sandbox_mobile_finder": 30,
    "sandbox_company_enrichment": 80,
    "sandbox_people_search": 90,
    "test_company_search": 100,
    "test_rate_limit": 100,
    "test_transient_500": 100,
}
"""Hits in a hundred, by tool."""

VERDICTS = ("valid", "valid", "valid", "catch_all", "invalid")
INDUSTRIES = ("Software", "Finance", "Retail", "Health", "Energy")
FIRST_NAMES = ("Ada", "Grace", "Alan", "Edsger", "Barbara")
LAST_NAMES = ("Stone", "Rivers", "Woods", "Fields", "Hills")
PEOPLE_DEFAULT, PEOPLE_MAX = 3, 5


class Rejected(Exception):
    """An input from which no answer can be made; the message says what is wrong with it."""


def outcome(tool_id: str, given: Json) -> Json:
    """Give the result of a tool for an input, or None for a miss. Raises Rejected, KeyError."""
    h = number(tool_id, given)
    result = _RESULTS[tool_id](given, h)
    return result if h % 100 < HIT_RATES[tool_id] else None


def number(tool_id: str, given: Json) -> int:
    """Give ``h`` of a tool's id (that of its single form, also inside a batch) and an input."""
    text = f"{tool_id}|{canonical(given)}"
    return int(hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8], 16)


def canonical(given: Json) -> str:
    """Give the one text of an input: sorted keys, no spaces, plain UTF-8, no normalisation.

    Python's own writer, so that a number's digits are those that any other Python program computes.
    """
    return json.dumps(given, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _email(given: Json, h: int) -> Json:
    first, last, domain = (_part(given, name) for name in ("first_name", "last_name", "domain"))
    return {"email": f"{first}.{last}@{domain}", "confidence": 50 + h % 50}


def _verdict(given: Json, h: int) -> Json:
    return {"email": _text(given, "email"), "verdict": VERDICTS[h % 5]}


def _mobile(given: Json, h: int) -> Json:
    return {"mobile": "+1555" + str(h % 10**7).zfill(7)}


def _company(given: Json, h: int) -> Json:
    name = _text(given, "domain").split(".")[0].capitalize()
    employees = 10 ** (1 + h % 4)
    return {"company": {"name": name, "employees": employees, "industry": INDUSTRIES[h % 5]}}


def _people(given: Json, h: int) -> Json:
    count = min(_limit(given) or PEOPLE_DEFAULT, PEOPLE_MAX)
    return {"people": [_person(given.get("title"), h, i) for i in range(count)]}


def _person(title: Json, h: int, i: int) -> Json:
    first, last = FIRST_NAMES[(h + i) % 5], LAST_NAMES[(h // 5 + i) % 5]
    path = f"{first}-{last}".lower()
    return {
        "first_name": first,
        "last_name": last,
        "title": title,
        "linkedin_url": f"https://linkedin.example/in/{path}-{h % 10000 + i}",
    }


def _echo(given: Json, h: int) -> Json:
    return given


_RESULTS: dict[str, Callable[[Json, int], Json]] = {
    "sandbox_a_email_finder": _email,
    "sandbox_b_email_finder": _email,
    "sandbox_c_email_finder": _email,
    "sandbox_email_verifier": _verdict,
    "sandbox_mobile_finder": _mobile,
    "sandbox_company_enrichment": _company,
    "sandbox_people_search": _people,
    "test_company_search": _company,
    "test_rate_limit": _echo,
    "test_transient_500": _echo,
}


def _part(given: Json, name: str) -> str:
    return re.sub(r"[^a-z0-9.-]", "", _text(given, name).lower())


def _text(given: Json, name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str):
        raise Rejected(f"the input needs {name} as text")
    return value


def _limit(given: Json) -> int:
    limit = given.get("limit") or 0
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise Rejected("the input's limit must be a whole number")
    return limit
