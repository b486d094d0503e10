"""Lists of tables with hundreds of thousands of rows: no count of the table, no scan, no page of all."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.integration.admin_world import World, build_world, signed_in

ROWS = 200_000

FILL = {
    "rowstate": """
        INSERT INTO plays_rowstate
            (id, frame_id, position, row_key, input, data, cells, status, sequence)
        SELECT %(first_row)s + n, %(frame)s, n, 'key ' || n, '{}', '{}', '{}', 'completed', n
        FROM generate_series(100, %(rows)s + 99) AS n""",
    "toolcall": """
        INSERT INTO plays_toolcall
            (key, workspace_id, run_id, tool, provider, input, status, attempts, credits, reserved,
             batch_size, created_at)
        SELECT lpad(n::text, 64, '0'), %(workspace)s, %(run)s, 'sandbox_a_email_finder',
            'sandbox_a', '{}', 'completed', 1, 1, 0, 1, now() - n * interval '1 second'
        FROM generate_series(1, %(rows)s) AS n""",
}


@pytest.fixture
def analysed_afterwards(django_db_setup: None, django_db_blocker: pytest.Item) -> Iterator[None]:
    """Let the planner forget the rows: what it believes of a table is not rolled back with them."""
    yield
    with django_db_blocker.unblock(), connection.cursor() as cursor:  # type: ignore[attr-defined]
        cursor.execute(f"ANALYZE {', '.join(f'plays_{name}' for name in FILL)}")


@pytest.fixture(params=sorted(FILL))
def table(request: pytest.FixtureRequest, analysed_afterwards: None, db: None) -> str:
    return str(request.param)


@pytest.fixture
def world(table: str) -> World:
    world = build_world()
    with connection.cursor() as cursor:
        cursor.execute(
            FILL[table],
            {
                "rows": ROWS,
                "first_row": world.row.pk - world.row.position,
                "frame": world.frame.pk,
                "run": world.run.pk,
                "workspace": world.workspace.pk,
            },
        )
    return world


@pytest.fixture
def client(world: World) -> Client:
    return signed_in(world.admin)


@pytest.fixture
def narrowed(table: str, world: World) -> dict[str, object]:
    """The filter that gives nearly all rows of the table."""
    return {"frame": world.frame.pk} if table == "rowstate" else {"run": world.run.pk}


def analyse(table: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE plays_{table}, plays_run, plays_mapframe")


def asked_for(client: Client, table: str, given: dict[str, object]) -> tuple[str, list[str]]:
    """Open a list; return its page and the statements that read the table."""
    with CaptureQueriesContext(connection) as asked:
        answer = client.get(reverse(f"admin:plays_{table}_changelist"), given)
    assert answer.status_code == 200
    assert len(answer.context["cl"].result_list) == 100
    statements = [query["sql"] for query in asked]
    return answer.text, [sql for sql in statements if f'FROM "plays_{table}"' in sql]


def plan_of(sql: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {sql}")
        return "\n".join(line for (line,) in cursor.fetchall())


def test_the_whole_table_is_neither_counted_nor_scanned(client: Client, table: str) -> None:
    analyse(table)
    for given in ({}, {"all": ""}):
        page, statements = asked_for(client, table, given)
        assert len(statements) == 1
        assert "COUNT(" not in statements[0].upper()
        assert statements[0].endswith("LIMIT 100")
        assert f"Seq Scan on plays_{table}" not in plan_of(statements[0])
        assert not re.search(r"(?<!Incremental )Sort  ", plan_of(statements[0]))
        assert re.search(r"About 200,\d\d\d\.", page)


def test_a_list_that_must_count_stops_at_a_bound(
    client: Client, table: str, narrowed: dict[str, object]
) -> None:
    _, never_analysed = asked_for(client, table, {})
    assert all(is_bounded(sql) for sql in never_analysed)
    analyse(table)
    page, statements = asked_for(client, table, narrowed)
    assert len(statements) == 2
    assert all(is_bounded(sql) for sql in statements)
    assert "More than 10,000. The first 10,000 can be paged through" in page
    asked_for(client, table, {**narrowed, "p": 100})
    beyond = client.get(reverse(f"admin:plays_{table}_changelist"), {**narrowed, "p": 101})
    assert beyond["Location"].endswith("?e=1")


def is_bounded(sql: str) -> bool:
    return "COUNT(" not in sql.upper() or sql.endswith("LIMIT 10001) subquery")
