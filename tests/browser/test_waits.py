"""Answering waits: on the run's page, in the panel of a cell, and by a link without an account."""

from __future__ import annotations

import io

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from plays.models import Boundary, Role, Run, Workspace
from plays.services import waittokens
from plays.services.revisions import revision_publish
from plays.services.runs import run_start
from plays.services.uploads import upload_accept
from plays.services.waits import wait_answer
from tests.browser.run_window import RunWindow, make_member, sign_in
from tests.fake_runs import make_run
from tests.integration.host_runs import until
from tests.integration.together import at_once
from tests.integration.waits import make_wait
from tests.product import LiveProduct, StartProduct

PLAY = b"""
from runtime import play

FORM = {
    "type": "object",
    "required": ["greeting"],
    "properties": {"greeting": {"type": "string", "title": "What to say"}},
}


@play("greetings")
async def greetings(ctx, input):
    async def greeting(row, ctx):
        answer = await ctx.wait_for_event(
            "ok",
            event=f"greet:{row['name']}",
            timeout_seconds=3600,
            message=f"How is {row['name']} greeted?",
            form=FORM if row["name"] == "Ada" else None,
        )
        return answer["payload"]["greeting"] if row["name"] == "Ada" else answer["payload"]

    people = await ctx.csv(input["people"])
    return await ctx.map("people", people, key="name").step("greeting", greeting).run()
"""
PEOPLE = b"name\nAda\nAlan\nGrace\n"
MINUTE = 60_000


@pytest.fixture
def product(start_product: StartProduct, allow_orm_beside_browser: None) -> LiveProduct:
    return start_product(DEEPLINE_SWEEP_SECONDS="0.5")


@pytest.fixture
def run(product: LiveProduct) -> Run:
    """A run whose three rows wait for an answer each."""
    workspace = Workspace.objects.create(name="Acme")
    revision = revision_publish(workspace, None, "greetings.py", PLAY)
    upload = upload_accept(workspace, None, io.BytesIO(PEOPLE), "people.csv")
    run = run_start(revision, None, {"people": upload.ref})
    until(lambda: Boundary.objects.filter(run=run).count() == 3, "three waits")
    return run


def window_of(run: Run, product: LiveProduct, context: BrowserContext, role: Role) -> RunWindow:
    sign_in(context, make_member("alice", run.workspace, role), product.web_url)
    return RunWindow(context.new_page(), f"{product.web_url}/runs/{run.pk}/").open()


@pytest.mark.timeout(180)
def test_a_person_answers_in_the_page_and_sees_the_cells_fill(
    product: LiveProduct, run: Run, context: BrowserContext
) -> None:
    window = window_of(run, product, context, Role.RUNNER)
    waits, page = window.part("waits"), window.page
    expect(window.part("waits-count")).to_have_text("3 answers")
    expect(window.part("waits-next")).to_contain_text("next deadline")

    window.part("waits-toggle").press("Enter")
    ada = waits.get_by_role("listitem").filter(has_text="How is Ada greeted?")
    expect(ada).to_contain_text("people, row 1")
    ada.get_by_role("button", name="Answer").press("Enter")
    expect(ada.get_by_label("What to say")).to_be_focused()
    page.keyboard.type("Hello Ada")
    page.keyboard.press("Enter")
    expect(ada.get_by_role("status")).to_contain_text("The run goes on with your answer")
    window.expect_cell(1, "greeting", "completed", "Hello Ada")
    expect(window.part("waits-count")).to_have_text("2 answers")

    window.cell(2, "greeting").dblclick()
    panel = window.part("panel-body")
    expect(panel).to_contain_text("How is Alan greeted?")
    panel.get_by_role("button", name="No").click()
    window.expect_cell(2, "greeting", "completed", "false")

    answer_outside(context, product, Boundary.objects.get(run=run, event="greet:Grace"))
    window.expect_cell(3, "greeting", "completed", "true")
    expect(waits).to_be_hidden()
    expect(window.part("status")).to_have_text("Completed", timeout=MINUTE)


@pytest.mark.timeout(180)
def test_a_form_opened_while_the_list_reloads_stays_open(
    product: LiveProduct, run: Run, context: BrowserContext
) -> None:
    window = window_of(run, product, context, Role.RUNNER)
    waits, page = window.part("waits"), window.page
    window.part("waits-toggle").click()
    grace = waits.get_by_role("listitem").filter(has_text="How is Grace greeted?")
    expect(grace).to_be_visible()

    reloads: list[Route] = []
    page.route(lambda address: address.endswith("/waits/"), lambda route: reloads.append(route))
    with page.expect_request(lambda request: request.url.endswith("/waits/")):
        at_once([lambda: wait_answer(Boundary.objects.get(run=run, event="greet:Alan"), True)])
    grace.get_by_role("button", name="Answer").click()
    expect(grace.get_by_role("button", name="Yes")).to_be_visible()
    with page.expect_response(lambda response: response.url.endswith("/waits/")):
        reloads[0].continue_()
    page.unroute_all(behavior="wait")
    grace.get_by_role("button", name="Yes").click()
    window.expect_cell(3, "greeting", "completed", "true")


def answer_outside(context: BrowserContext, product: LiveProduct, wait: Boundary) -> None:
    """Answer by the link, in the browser of somebody without an account."""
    assert context.browser is not None
    outside = context.browser.new_context()
    page = outside.new_page()
    page.goto(f"{product.web_url}/waits/{wait.pk}/?token={waittokens.issue(wait.pk)}")
    expect(page.get_by_role("heading")).to_have_text("How is Grace greeted?")
    page.get_by_role("button", name="Yes").click()
    expect(page.get_by_role("heading")).to_have_text("Thank you")
    page.goto(page.url)
    expect(page.get_by_role("heading")).to_have_text("Answered already")
    outside.close()


@pytest.fixture
def web(start_product: StartProduct, allow_orm_beside_browser: None) -> LiveProduct:
    return start_product(only=("web",))


def test_viewers_see_what_is_asked_and_have_nothing_to_press(
    web: LiveProduct, context: BrowserContext
) -> None:
    fake = make_run(Workspace.objects.create(name="Acme"))
    fake.add_map(3)
    make_wait(fake, 1)
    fake.cell(1, "email", "waiting")
    window = window_of(fake.run, web, context, Role.VIEWER)
    window.part("waits-toggle").click()
    expect(window.part("waits-body")).to_contain_text("May it go?")
    expect(window.part("waits-body").get_by_role("button")).to_have_count(0)
    window.part("waits-body").get_by_role("link", name="leads, row 2").click()
    expect(window.part("panel")).to_be_visible()
    window.cell(2, "email").dblclick()
    expect(window.part("panel-body")).to_contain_text("takes the role runner")


def test_what_is_being_written_stays_while_other_waits_come_and_go(
    web: LiveProduct, context: BrowserContext
) -> None:
    fake = make_run(Workspace.objects.create(name="Acme"))
    fake.add_map(60)
    waits = [make_wait(fake, n, message=f"Number {n}?") for n in range(60)]
    window = window_of(fake.run, web, context, Role.RUNNER)
    window.part("waits-toggle").click()
    body = window.part("waits-body")
    expect(body.get_by_role("listitem")).to_have_count(50)
    body.get_by_role("button", name="Answer Number 3?", exact=True).click()
    body.get_by_text("Answer with something else").click()
    body.get_by_label("Answer (JSON)").fill('{"half": ')
    # In a thread, because Playwright's loop occupies this one.
    at_once([lambda: wait_answer(waits[0], True)])
    expect(window.part("waits-count")).to_have_text("59 answers")
    expect(body.get_by_label("Answer (JSON)")).to_have_value('{"half": ')
    body.get_by_role("button", name="Send this").click()
    expect(body.get_by_text("This is no JSON")).to_be_visible()
    body.get_by_role("button", name="Answer Number 3?", exact=True).click()
    expect(body.get_by_text("Number 0?", exact=True)).to_have_count(0)
    body.get_by_role("link", name="Later").click()
    expect(body.get_by_role("listitem")).to_have_count(9)


def test_nothing_is_said_where_nothing_is_waited_for(
    web: LiveProduct, context: BrowserContext, page: Page
) -> None:
    fake = make_run(Workspace.objects.create(name="Acme"))
    fake.add_map(3)
    window = window_of(fake.run, web, context, Role.RUNNER)
    expect(window.part("waits")).to_be_hidden()
