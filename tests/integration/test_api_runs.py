"""The REST API of runs: shapes, actions, refusals, strangers, downloads."""

from __future__ import annotations

import csv
import io
import json
import uuid
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.test import AsyncClient, Client

from plays.api import api, schemas
from plays.models import Run
from tests.fake_runs import FakeRun, make_run, refused_call
from tests.integration.cast import Cast, signed_in

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def fake(committed_cast: Cast) -> FakeRun:
    """A run with one map of 30 rows in Alice's workspace."""
    fake = make_run(committed_cast.workspace, committed_cast.alice)
    fake.add_map(30)
    fake.cell(0, "email", "completed", "ada@acme.example", provider="sandbox_a")
    fake.cell(1, "email", "failed", error={"type": "ToolFailed", "message": "refused"})
    fake.log("began")
    return fake


@pytest.fixture
def alice(committed_cast: Cast) -> Client:
    return signed_in(committed_cast.alice)


def addresses(fake: FakeRun, run_id: object | None = None) -> list[tuple[str, str]]:
    """Give every address of a run, with its method."""
    run, frame = run_id or fake.run.pk, fake.frame.pk
    base = f"/api/v1/runs/{run}"
    return [
        ("get", base),
        ("get", f"{base}/frames/{frame}/rows"),
        ("get", f"{base}/frames/{frame}/rows/0"),
        ("get", f"{base}/frames/{frame}/rows/0/cell?column=email"),
        ("get", f"{base}/log"),
        ("get", f"{base}/trace"),
        ("get", f"{base}/download.csv"),
        ("post", f"{base}/pause"),
        ("post", f"{base}/resume"),
        ("post", f"{base}/cancel"),
        ("post", f"{base}/retry"),
        ("get", f"/runs/{run}/"),
        ("get", f"/runs/{run}/download.csv"),
        ("post", f"/runs/{run}/pause/"),
        ("post", f"/runs/{run}/cancel/"),
        ("post", f"/runs/{run}/retry/"),
    ]


def ask(client: Client, method: str, address: str, body: object = None) -> Any:
    if method == "get":
        return client.get(address)
    told = {"rows": "failed"} if body is None else body
    return client.post(address, json.dumps(told), content_type="application/json")


def test_charlie_finds_nothing_at_any_address(fake: FakeRun, committed_cast: Cast) -> None:
    charlie = signed_in(committed_cast.charlie)
    for method, address in addresses(fake) + addresses(fake, uuid.uuid4()):
        assert ask(charlie, method, address).status_code == 404, address
    fake.run.refresh_from_db()
    assert (fake.run.status, fake.run.requested) == ("running", "none")
    assert Run.objects.count() == 1


def test_nobody_is_asked_to_sign_in(fake: FakeRun) -> None:
    for method, address in addresses(fake):
        expected = 401 if address.startswith("/api/") else 302
        assert ask(Client(), method, address).status_code == expected, address


def test_a_viewer_may_look_and_not_act(fake: FakeRun, committed_cast: Cast) -> None:
    bob = signed_in(committed_cast.bob)
    for method, address in addresses(fake):
        status = ask(bob, method, address).status_code
        assert status == (403 if method == "post" else 200), address
    refusal = ask(bob, "post", f"/api/v1/runs/{fake.run.pk}/pause").json()["detail"]
    assert "run plays" in refusal


def test_a_frame_of_another_run_is_not_there(fake: FakeRun, alice: Client) -> None:
    other = make_run(fake.run.workspace)
    other.add_map(3)
    base = f"/api/v1/runs/{fake.run.pk}/frames/{other.frame.pk}/rows"
    for address in (base, f"{base}/0", f"{base}/0/cell?column=email"):
        assert alice.get(address).status_code == 404


def test_answers_have_the_documented_shapes(fake: FakeRun, alice: Client) -> None:
    base = f"/api/v1/runs/{fake.run.pk}"
    rows = f"{base}/frames/{fake.frame.pk}/rows"
    for address, shape in (
        (base, schemas.Run),
        (rows, schemas.Rows),
        (f"{rows}/1", schemas.RowDetail),
        (f"{rows}/0/cell?column=email", schemas.CellDetail),
    ):
        told = alice.get(address).json()
        described = shape.model_validate(told)
        missing = set(told) - {f.alias or n for n, f in shape.model_fields.items()}
        assert not missing, f"{address} gives {missing}, which {shape.__name__} does not describe"
        assert described
    (line,) = alice.get(f"{base}/log").json()
    assert schemas.LogLine.model_validate(line).text == "began"


def test_the_documentation_names_every_address(alice: Client, fake: FakeRun) -> None:
    paths = alice.get("/api/v1/openapi.json").json()["paths"]
    assert paths == json.loads(json.dumps(api.get_openapi_schema()["paths"]))
    assert len(paths) == 14
    page = alice.get("/api/v1/docs")
    assert page.status_code == 200
    assert b"//cdn" not in page.content
    assert Client().get("/api/v1/docs").status_code == 302


def test_rows_are_asked_for_with_a_query(fake: FakeRun, alice: Client) -> None:
    base = f"/api/v1/runs/{fake.run.pk}/frames/{fake.frame.pk}/rows"
    query = {"filters": [{"column": "email", "states": ["failed"]}], "sort": [{"column": "email"}]}
    page = alice.get(base, {"query": json.dumps(query)}).json()
    assert [row["position"] for row in page["rows"]] == [1]
    assert page["total"] == 1


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ('{"sort": [{"column": "nothing"}]}', "There is no column 'nothing' in this table."),
        ('{"filters": [{"column": "email", "states": ["odd"]}]}', "filters.0.states.0"),
        ("{", "The query is not understood"),
    ],
)
def test_a_wrong_query_gets_one_sentence(
    fake: FakeRun, alice: Client, query: str, sentence: str
) -> None:
    base = f"/api/v1/runs/{fake.run.pk}/frames/{fake.frame.pk}/rows"
    answer = alice.get(base, {"query": query})
    assert answer.status_code == 422
    assert sentence in answer.json()["detail"]


@pytest.mark.parametrize(
    "asked", [{"first": -1}, {"first": 2**40}, {"count": 501}, {"count": -1}, {"first": "x"}]
)
def test_pages_out_of_bounds_are_refused(
    fake: FakeRun, alice: Client, asked: dict[str, Any]
) -> None:
    base = f"/api/v1/runs/{fake.run.pk}/frames/{fake.frame.pk}/rows"
    assert alice.get(base, asked).status_code == 422


def test_numbers_beyond_the_database_are_not_there(fake: FakeRun, alice: Client) -> None:
    base = f"/api/v1/runs/{fake.run.pk}"
    far = 10**30
    for address in (
        f"{base}/frames/{far}/rows",
        f"{base}/frames/{fake.frame.pk}/rows/{far}",
        f"{base}/download.csv?frame={far}",
        f"/runs/{fake.run.pk}/download.csv?frame={far}",
    ):
        assert alice.get(address).status_code in (404, 422), address


def test_a_run_is_paused_resumed_and_cancelled(fake: FakeRun, alice: Client) -> None:
    # case X6
    base = f"/api/v1/runs/{fake.run.pk}"
    fake.set(status="queued")
    assert ask(alice, "post", f"{base}/pause").json()["status"] == "paused"
    again = ask(alice, "post", f"{base}/pause")
    assert again.status_code == 409
    assert again.json()["detail"] == "The run cannot be paused: it is paused."
    resumed = ask(alice, "post", f"{base}/resume", {"without_provider": "sandbox_a"})
    assert resumed.json()["status"] == "queued"
    assert ask(alice, "post", f"{base}/cancel").json()["status"] == "cancelled"
    fake.run.refresh_from_db()
    assert fake.run.left_out == ["sandbox_a"]


def test_a_retry_is_a_new_run(fake: FakeRun, alice: Client, committed_cast: Cast) -> None:
    fake.set(status="failed", input=committed_cast.leads, revision=committed_cast.revision)
    answer = ask(
        alice, "post", f"/api/v1/runs/{fake.run.pk}/retry", {"rows": [0, 3], "fields": ["email"]}
    )
    assert answer.status_code == 201
    started = Run.objects.get(pk=answer.json()["id"])
    assert started.retry_of_id == fake.run.pk
    assert started.selection == {"rows": [0, 3], "fields": ["email"]}
    assert answer.json()["url"] == f"/runs/{started.pk}/"
    assert (
        ask(alice, "post", f"/api/v1/runs/{fake.run.pk}/retry", {"rows": "some"}).status_code == 422
    )


def test_a_write_from_another_site_is_refused(fake: FakeRun, committed_cast: Cast) -> None:
    careful = Client(enforce_csrf_checks=True)
    careful.force_login(committed_cast.alice)
    assert ask(careful, "post", f"/api/v1/runs/{fake.run.pk}/cancel").status_code == 403
    fake.run.refresh_from_db()
    assert fake.run.requested == "none"


def test_the_pages_buttons_act_without_scripts_too(fake: FakeRun, alice: Client) -> None:
    fake.set(status="queued")
    answer = alice.post(f"/runs/{fake.run.pk}/pause/")
    assert answer.status_code == 302
    fake.run.refresh_from_db()
    assert fake.run.status == "paused"
    refused = alice.post(f"/runs/{fake.run.pk}/pause/", follow=True)
    assert "cannot be paused" in refused.content.decode()
    assert alice.post(f"/runs/{fake.run.pk}/explode/").status_code == 404


def download(user: User, address: str) -> tuple[Any, bytes]:
    """Read a download as an ASGI server does, with this thread's database connection."""

    @async_to_sync
    async def read() -> tuple[Any, bytes]:
        client = AsyncClient()
        await client.aforce_login(user)
        answer = await client.get(address)
        if not answer.streaming:
            return answer, answer.content
        return answer, b"".join([piece async for piece in answer])

    return read()


def test_a_download_holds_every_row_once(fake: FakeRun, committed_cast: Cast) -> None:
    # case C9, M3
    answer, content = download(committed_cast.alice, f"/runs/{fake.run.pk}/download.csv")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer["Content-Disposition"].startswith('attachment; filename="find_emails-leads-')
    rows = list(csv.DictReader(io.StringIO(content.decode())))
    assert list(rows[0]) == ["first_name", "last_name", "domain", "email", "verdict"]
    assert [row["domain"] for row in rows] == [f"domain {n + 1}" for n in range(30)]
    assert rows[0]["email"] == "ada@acme.example"
    assert rows[1]["email"] == ""


# cases V15, V16
def test_a_download_for_excel_is_guarded_and_marked(fake: FakeRun, committed_cast: Cast) -> None:
    fake.cell(0, "email", "completed", "=1+1")
    address = f"/runs/{fake.run.pk}/download.csv"
    _, plain = download(committed_cast.alice, address)
    assert b",=1+1," in plain
    for guarded in (f"{address}?for=excel", f"/api/v1{address}?spreadsheet_safe=true&bom=true"):
        _, content = download(committed_cast.alice, guarded)
        assert content.startswith(b"\xef\xbb\xbf")
        assert b",'=1+1," in content


def test_without_a_table_a_download_says_why(committed_cast: Cast, alice: Client) -> None:
    fake = make_run(committed_cast.workspace)
    answer = alice.get(f"/api/v1/runs/{fake.run.pk}/download.csv")
    assert answer.status_code == 404
    assert answer.json()["detail"] == "This run has made no table yet."
    page = alice.get(f"/runs/{fake.run.pk}/download.csv", follow=True)
    assert "This run has made no table yet." in page.content.decode()


def test_an_upload_that_a_run_returned_is_its_table(committed_cast: Cast) -> None:
    upload = committed_cast.upload
    fake = make_run(committed_cast.workspace)
    names = [column["name"] for column in upload.columns]
    result = {"kind": "csv", "ref": upload.ref, "columns": names, "count": 2}
    fake.set(result={"dataset": result}, status="completed")
    _, content = download(committed_cast.alice, f"/runs/{fake.run.pk}/download.csv")
    assert content == b"first_name,last_name,domain\nAda,Stone,acme.example\nAlan,Woods,bolt.test\n"

    for columns, expected in (
        (
            ["first", "last", "site"],
            b"first,last,site\nAda,Stone,acme.example\nAlan,Woods,bolt.test\n",
        ),
        (["domain"], b"domain\nacme.example\nbolt.test\n"),
    ):
        fake.set(result={"dataset": {**result, "columns": columns}})
        _, content = download(committed_cast.alice, f"/runs/{fake.run.pk}/download.csv")
        assert content == expected
    fake.set(result={"dataset": {**result, "columns": ["site"]}})
    refused, _ = download(committed_cast.alice, f"/api/v1/runs/{fake.run.pk}/download.csv")
    assert refused.status_code == 404


def test_the_trace_is_a_tree_whose_values_lose_no_digit(fake: FakeRun, alice: Client) -> None:
    # rule 1.8, 14.2
    result = {"row": 3, "status": "completed", "value": 2**63, "provider": "a", "error": ""}
    fake.trace("m", told={"kind": "map", "title": "leads"}, counts={"completed": 30})
    fake.trace("t", "m", told={"kind": "tool", "tool": "look"}, counts={"completed": 30},
               results=[result])  # fmt: skip
    top = {**result, "row": None, "value": None, "status": "missed"}
    fake.trace("o", told={"kind": "tool", "tool": "look", "result": top})
    leads, once = alice.get(f"/api/v1/runs/{fake.run.pk}/trace").json()
    assert (leads["kind"], leads["facts"], leads["counts"]) == (
        "map", {"title": "leads"}, {"completed": 30}
    )  # fmt: skip
    (tool,) = leads["steps"]
    assert (tool["counts"], tool["results"]) == (
        {"completed": 30}, [{**result, "value": str(2**63)}]
    )  # fmt: skip
    assert (once["counts"], once["results"]) == ({"missed": 1}, [top])


def test_a_run_that_a_provider_stopped_goes_on_without_it(fake: FakeRun, alice: Client) -> None:
    fake.set(status="paused", stop_reason="provider", stop_message="the account is locked")
    refused_call(fake)
    address = f"/api/v1/runs/{fake.run.pk}"
    told = alice.get(address).json()
    assert (told["stopped_by"], told["may"]["resume_without"]) == ("sandbox_a", True)
    told = ask(alice, "post", f"{address}/resume", {"without_provider": "sandbox_a"}).json()
    assert (told["status"], told["left_out"], told["stopped_by"]) == ("queued", ["sandbox_a"], "")


def test_the_form_of_the_page_resumes_without_the_provider(fake: FakeRun, alice: Client) -> None:
    fake.set(status="paused", stop_reason="provider", stop_message="the account is locked")
    refused_call(fake)
    page = alice.get(f"/runs/{fake.run.pk}/")
    assert b'name="without_provider" value="sandbox_a"' in page.content
    alice.post(f"/runs/{fake.run.pk}/resume/", {"without_provider": "sandbox_a"})
    fake.run.refresh_from_db()
    assert (fake.run.status, fake.run.left_out) == ("queued", ["sandbox_a"])
