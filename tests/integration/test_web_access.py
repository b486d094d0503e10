"""Who gets which answer: strangers 404, members whose role does not reach 403, others the page."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client

from plays.models import Membership, Play, Revision, Role, Run, Upload, Workspace
from tests.integration.cast import CSV, PASSWORD, PLAY, Cast, make_person, set_role, signed_in

PAGES: dict[str, Callable[[Cast], str]] = {
    "play": lambda cast: f"/plays/{cast.revision.play_id}/",
    "revision": lambda cast: f"/plays/{cast.revision.play_id}/revisions/1/",
    "source": lambda cast: f"/plays/{cast.revision.play_id}/revisions/1/source/",
    "upload": lambda cast: f"/uploads/{cast.upload.pk}/",
}
FORM: Callable[[Cast], str] = lambda cast: f"/plays/{cast.revision.play_id}/run/"  # noqa: E731
LISTS = {"plays": "/", "runs": "/runs/", "uploads": "/uploads/"}


def publish(client: Client, cast: Cast) -> HttpResponse:
    text = PLAY.replace("Find e-mails", "Find them").encode()
    return client.post("/plays/publish/", {"file": SimpleUploadedFile("find_emails.py", text)})


def set_live(client: Client, cast: Cast) -> HttpResponse:
    return client.post(f"/plays/{cast.revision.play_id}/revisions/1/live/")


def upload(client: Client, cast: Cast) -> HttpResponse:
    return client.post("/uploads/new/", {"file": SimpleUploadedFile("leads.csv", CSV)})


def read_again(client: Client, cast: Cast) -> HttpResponse:
    return client.post(f"/uploads/{cast.upload.pk}/reading/", {"delimiter": ","})


def start(client: Client, cast: Cast) -> HttpResponse:
    form = {"revision": "1", "file-leads": str(cast.upload.pk)}
    return client.post(FORM(cast), form)


ACTIONS = {
    "publish": (publish, Role.AUTHOR),
    "set live": (set_live, Role.AUTHOR),
    "upload": (upload, Role.RUNNER),
    "read again": (read_again, Role.RUNNER),
    "start a run": (start, Role.RUNNER),
}
"""What changes something, and the least role that may."""

ON_ALICES_THINGS = {"set live", "read again", "start a run"}


def stored() -> tuple[int, int, int]:
    return Revision.objects.count(), Upload.objects.count(), Run.objects.count()


@pytest.mark.parametrize("address", [*PAGES.values(), FORM], ids=[*PAGES, "form"])
def test_a_stranger_gets_404_for_a_page(cast: Cast, address: Callable[[Cast], str]) -> None:
    answer = signed_in(cast.charlie).get(address(cast))
    assert answer.status_code == 404
    assert "not in a workspace of yours" in answer.content.decode()


@pytest.mark.parametrize("address", PAGES.values(), ids=PAGES)
def test_a_viewer_sees_a_page(cast: Cast, address: Callable[[Cast], str]) -> None:
    assert signed_in(cast.bob).get(address(cast)).status_code == 200


@pytest.mark.parametrize("address", LISTS.values(), ids=LISTS)
def test_lists_hold_a_persons_own_workspace_only(cast: Cast, address: str) -> None:
    start(signed_in(cast.alice), cast)
    own = signed_in(cast.bob).get(address).content.decode()
    other = signed_in(cast.charlie).get(address).content.decode()
    name = "leads.csv" if address == "/uploads/" else "find_emails"
    assert name in own
    assert name not in other


@pytest.mark.parametrize(
    "address",
    [*LISTS.values(), "/plays/1/", "/plays/1/run/", "/uploads/new/", "/plays/publish/"],
)
def test_nobody_sees_a_page_without_signing_in(db: None, client: Client, address: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 302
    assert answer.headers["Location"] == f"/login/?next={address}"


def test_a_stranger_cannot_download_a_file(cast: Cast) -> None:
    address = f"/uploads/{cast.upload.pk}/file/"
    assert signed_in(cast.charlie).get(address).status_code == 404


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("action", ACTIONS)
def test_an_action_needs_its_role(cast: Cast, action: str, role: Role) -> None:
    act, least = ACTIONS[action]
    set_role(cast.bob, role)
    before = stored()
    answer = act(signed_in(cast.bob), cast)
    may = Membership.objects.get(user=cast.bob).has_role(least)
    if may:
        assert answer.status_code == 302
    else:
        assert answer.status_code == 403
        assert f"takes the role {least.label.lower()}" in answer.content.decode()
        assert stored() == before


@pytest.mark.parametrize("action", sorted(ON_ALICES_THINGS))
def test_a_stranger_gets_404_for_an_action(cast: Cast, action: str) -> None:
    act, _ = ACTIONS[action]
    before = stored()
    assert act(signed_in(cast.charlie), cast).status_code == 404
    assert stored() == before


def test_what_a_stranger_publishes_and_uploads_is_in_their_own_workspace(cast: Cast) -> None:
    client = signed_in(cast.charlie)
    assert publish(client, cast).status_code == 302
    assert upload(client, cast).status_code == 302
    elsewhere = Membership.objects.get(user=cast.charlie).workspace
    assert Play.objects.get(workspace=elsewhere).live is not None
    assert Upload.objects.get(workspace=elsewhere).filename == "leads.csv"
    assert Revision.objects.filter(play=cast.revision.play).count() == 1


def test_a_viewer_is_not_offered_what_they_may_not_do(cast: Cast) -> None:
    page = signed_in(cast.bob).get(PAGES["play"](cast)).content.decode()
    assert "/plays/publish/" not in page
    assert FORM(cast) not in page


def test_a_person_without_a_workspace_is_told_what_to_do(db: None) -> None:
    answer = signed_in(User.objects.create_user("dora")).get("/")
    assert answer.status_code == 403
    assert "ask an administrator" in answer.content.decode()


def test_a_person_in_two_workspaces_looks_at_one_at_a_time(cast: Cast) -> None:
    elsewhere = Membership.objects.get(user=cast.charlie).workspace
    Membership.objects.create(workspace=elsewhere, user=cast.alice, role=Role.AUTHOR)
    client = signed_in(cast.alice)
    assert "find_emails" in client.get("/").content.decode()
    client.post("/workspace/", {"workspace": elsewhere.pk})
    assert "find_emails" not in client.get("/").content.decode()
    upload(client, cast)
    assert Upload.objects.filter(workspace=elsewhere).exists()


@pytest.mark.parametrize("number", ["", "x", "99999999999999999999", "-1"])
def test_a_workspace_that_is_not_theirs_cannot_be_chosen(cast: Cast, number: str) -> None:
    client = signed_in(cast.bob)
    client.post("/workspace/", {"workspace": number or cast.charlie.pk})
    assert "find_emails" in client.get("/").content.decode()


def test_signing_in_leads_to_the_page_that_was_asked_for(cast: Cast, client: Client) -> None:
    form = {"username": "bob", "password": PASSWORD, "next": "/runs/"}
    answer = client.post("/login/", form)
    assert answer.headers["Location"] == "/runs/"


def test_a_wrong_password_gets_one_sentence(cast: Cast, client: Client) -> None:
    answer = client.post("/login/", {"username": "bob", "password": "no"})
    assert answer.status_code == 200
    assert "correct username and password" in answer.content.decode()


def test_signing_out_takes_a_press_of_the_button(cast: Cast) -> None:
    client = signed_in(cast.bob)
    assert client.get("/logout/").status_code == 405
    assert client.post("/logout/").headers["Location"] == "/login/"
    assert client.get("/").status_code == 302


def test_a_new_superuser_joins_the_first_workspace_by_signing_in(db: None, client: Client) -> None:
    User.objects.create_superuser("root", password=PASSWORD)
    client.post("/login/", {"username": "root", "password": PASSWORD})
    assert client.get("/").status_code == 200
    assert Workspace.objects.get().membership_set.get().role == "admin"


def test_a_superuser_is_a_stranger_in_a_workspace_they_did_not_join(cast: Cast) -> None:
    root = make_person("root", Workspace.objects.create(name="Own"), Role.ADMIN)
    User.objects.filter(pk=root.pk).update(is_superuser=True, is_staff=True)
    assert signed_in(root).get(PAGES["play"](cast)).status_code == 404


def test_a_form_from_another_session_changes_nothing(cast: Cast) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.alice)
    answer = upload(client, cast)
    assert answer.status_code == 403
    assert "nothing was changed" in answer.content.decode()
    assert Upload.objects.count() == 1


def test_a_failure_of_the_server_gets_a_page_with_one_sentence(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("plays.views.plays.plays_listed", fail)
    client = signed_in(cast.alice)
    client.raise_request_exception = False
    answer = client.get("/")
    assert answer.status_code == 500
    assert "what was stored before is safe" in answer.content.decode()


@pytest.mark.parametrize(
    "address",
    [
        "/plays/99999999999999999999/",
        "/plays/1/revisions/99999999999999999999/",
        "/uploads/00000000-0000-0000-0000-000000000000/",
        "/no/such/page",
    ],
)
def test_an_address_of_nothing_is_404(cast: Cast, address: str) -> None:
    address = address.replace("/plays/1/", f"/plays/{cast.revision.play_id}/")
    assert signed_in(cast.alice).get(address).status_code == 404
