"""Settings from the environment: defaults, spans, and one sentence for each mistake."""

from __future__ import annotations

import pytest

from deepline_site import environment


@pytest.fixture(autouse=True)
def mistakes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr(environment, "MISTAKES", found)
    return found


def test_what_is_not_set_or_empty_has_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEEPLINE_X", raising=False)
    assert environment.whole_number("DEEPLINE_X", 7, minimum=1) == 7
    monkeypatch.setenv("DEEPLINE_X", " ")
    assert environment.text("DEEPLINE_X", "usual") == "usual"
    assert environment.names("DEEPLINE_X") == []


@pytest.mark.parametrize("given", ["x", "0", "1.5", "70000", "nan", "inf"])
def test_a_bad_port_is_one_sentence_and_the_default(
    given: str, monkeypatch: pytest.MonkeyPatch, mistakes: list[str]
) -> None:
    monkeypatch.setenv("PORT", given)
    assert environment.whole_number("PORT", 8000, minimum=1, maximum=65_535) == 8000
    assert mistakes == [f"PORT must be a whole number from 1 to 65535, not {given!r}."]


@pytest.mark.parametrize("given", ["inf", "nan", "-1", "soon"])
def test_a_duration_is_a_finite_number(
    given: str, monkeypatch: pytest.MonkeyPatch, mistakes: list[str]
) -> None:
    monkeypatch.setenv("DEEPLINE_X", given)
    assert environment.number("DEEPLINE_X", 5.0, minimum=0.1) == 5.0
    assert mistakes == [f"DEEPLINE_X must be a number of at least 0.1, not {given!r}."]


def test_a_database_address_is_taken_apart(mistakes: list[str]) -> None:
    found = environment.database(
        "postgresql://me:p%40ss@db.example:6432/my%20leads?sslmode=require", idle_seconds=1.5
    )
    assert found == {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "my leads",
        "USER": "me",
        "PASSWORD": "p@ss",
        "HOST": "db.example",
        "PORT": "6432",
        "OPTIONS": {
            "sslmode": "require",
            "options": "-c idle_in_transaction_session_timeout=1500",
        },
    }
    assert mistakes == []


@pytest.mark.parametrize("given", ["mysql://h/d", "postgresql://h", "leads", "postgresql://h:x/d"])
def test_another_kind_of_database_address_is_a_mistake_that_shows_no_secret(
    given: str, mistakes: list[str]
) -> None:
    environment.database(given.replace("://h", "://me:hunter2@h"), idle_seconds=30)
    assert len(mistakes) == 1
    assert "hunter2" not in mistakes[0]


def test_a_redis_address_names_its_database(mistakes: list[str]) -> None:
    assert environment.redis_database("redis://:p@127.0.0.1:6379/3") == "3"
    assert environment.redis_database("redis://127.0.0.1") == "0"
    assert environment.redis("http://127.0.0.1") == "http://127.0.0.1"
    assert mistakes == ["REDIS_URL must look like redis://:password@host:6379/0."]
