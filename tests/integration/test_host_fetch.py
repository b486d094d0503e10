"""``ctx.fetch`` from a play to a web server, by the whole product, parts of which are killed on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psutil
import pytest

from tests.product import LiveProduct, StartProduct
from tests.webserver import WebServer

if TYPE_CHECKING:
    from plays.models import Run

PLAY = """
from runtime import play


@play("orders")
async def orders(ctx, input):
    key = {{"Idempotency-Key": "order-7", "Authorization": "Bearer hush"}}
    placed = await ctx.fetch("place", "{place}", method="POST", headers=key, json={{"n": 7}})
    page = await ctx.fetch("page", "{page}")
    return [placed.status, placed.body_text, page.ok, page.json]
"""

ROWS_PLAY = """
from runtime import play


async def page(row, ctx):
    found = await ctx.tool(id="page", tool="http_fetch", input={{"url": row["value"]}})
    return found.value()["status"]


@play("pages")
async def pages(ctx, input):
    done = await ctx.map("pages", {urls}).step("status", page).run()
    return [row["status"] for row in await done.materialize()]
"""


@pytest.fixture
def product(start_product: StartProduct) -> LiveProduct:
    from tests.integration.host_runs import QUICK

    only = ("gateway", "worker-1", "worker-2")
    return start_product(only=only, DEEPLINE_ALLOWED_NETWORKS="127.0.0.0/8", **QUICK)


def start(web: WebServer, *, place: str, page: str = "/hello") -> Run:
    from tests.integration.host_runs import start_run

    return start_run(1, source=PLAY.format(place=web.url(place), page=web.url(page)).encode())


def test_a_killed_worker_does_not_send_a_request_twice(
    product: LiveProduct, web: WebServer
) -> None:
    # rule 12.9
    from tests.integration.host_runs import ended, until, work_horses

    run = start(web, place="/slow")
    until(lambda: web.got("/slow"), "the request")
    workers = [psutil.Process(live.process.pid) for live in product.workers]
    (victim,) = [horse for worker in workers for horse in work_horses(worker)]
    victim.kill()
    ended(run)
    assert run.status == "completed"
    assert run.participants.get().epoch == 2
    assert run.result == {"value": [200, "at last", True, {"hello": "world"}]}
    assert [len(web.got(path)) for path in ("/slow", "/hello")] == [1, 1]
    (order,) = web.got("/slow")
    assert (order.method, order.body) == ("POST", b'{"n":7}')
    assert order.headers["authorization"] == "Bearer hush"


def test_nothing_secret_of_a_request_is_kept(product: LiveProduct, web: WebServer) -> None:
    from django.db import connection

    from tests.integration.host_runs import ended

    run = ended(start(web, place="/hello"))
    assert run.status == "completed"
    with connection.cursor() as cursor:
        for table in ("plays_toolcall", "plays_receipt", "plays_logline", "plays_run"):
            cursor.execute(f"SELECT count(*) FROM {table} t WHERE t::text LIKE '%%hush%%'")
            assert cursor.fetchone() == (0,), table
    assert not any("hush" in live.output() for live in product.programs.values())


def test_a_request_without_an_answer_ends_the_run_with_its_name_and_cause(
    product: LiveProduct, web: WebServer
) -> None:
    from tests.integration.host_runs import ended

    run = ended(start(web, place="/cut?token=secret"))
    assert run.status == "failed"
    message = run.error["message"]
    assert message.startswith("ctx.fetch('place') failed: the connection to 127.0.0.1 broke")
    assert "secret" not in message
    assert len(web.got("/cut?token=secret")) == 1


def test_a_page_that_cannot_be_had_is_tried_three_times(
    product: LiveProduct, web: WebServer
) -> None:
    from tests.integration.host_runs import ended

    run = ended(start(web, place="/hello", page="/cut"))
    assert run.status == "failed"
    assert run.error["attempts"] == 3
    assert len(web.got("/cut")) == 3


def test_the_tool_behind_it_can_be_asked_for_every_row(
    product: LiveProduct, web: WebServer
) -> None:
    from tests.integration.host_runs import ended, start_run

    urls = [web.url("/hello"), web.url("/nowhere"), web.url("/hello")]
    run = ended(start_run(1, source=ROWS_PLAY.format(urls=urls).encode()))
    assert run.result == {"value": [200, 404, 200]}
    assert len(web.asked) == 3
