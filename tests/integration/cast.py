"""The people of the tests, and what they publish and upload.

Alice owns things, Bob is in her workspace, Charlie is in another one and must see nothing of hers.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cache

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.test import Client

from plays.models import Membership, Revision, Role, Upload, Workspace
from plays.services.revisions import revision_publish
from plays.services.uploads import upload_accept

PASSWORD = "made-up-password"

CSV = b"first_name,last_name,domain\nAda,Stone,acme.example\nAlan,Woods,bolt.test\n"

PLAY = '''
"""Work e-mail for every lead."""

from runtime import play


@play("find_emails", description="Work e-mail for every lead")
async def find_emails(ctx, input):
    leads = await ctx.csv(input["leads"])
    return await (
        ctx.map("leads", leads, key=["first_name", "last_name", "domain"])
        .step("_site", lambda row: row["domain"].lower())
        .step("email", lambda row, ctx: ctx.waterfall(
            "email_finder",
            {"first_name": row["first_name"], "last_name": row["last_name"], "domain": row["_site"]},
            providers=["sandbox_a", "sandbox_b"],
        ))
        .run(description="Find e-mails")
    )
'''.lstrip()

SCHEMA_PLAY = """
from runtime import play


@play("segment", input_schema={
    "type": "object",
    "required": ["companies", "minimum"],
    "properties": {
        "companies": {"type": "string", "title": "Companies"},
        "minimum": {"type": "integer", "title": "Fewest employees", "minimum": 1},
        "market": {"type": "string", "enum": ["Europe", "Asia"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "strict": {"type": "boolean"},
    },
})
async def segment(ctx, input):
    companies = await ctx.csv(input["companies"])
    return await (
        ctx.map("companies", companies, key="domain")
        .step("is_big", lambda row: len(row["domain"]) > input["minimum"])
        .run()
    )
""".lstrip()


@dataclass
class Cast:
    """Alice's workspace with a play and an upload; Bob is a viewer there; Charlie is elsewhere."""

    workspace: Workspace
    alice: User
    bob: User
    charlie: User
    revision: Revision
    upload: Upload

    @property
    def leads(self) -> dict[str, str]:
        """An input that fits the play."""
        return {"leads": self.upload.ref}


def build_cast() -> Cast:
    """Make everybody and everything, through the services where there is one."""
    workspace = Workspace.objects.create(name="Acme")
    elsewhere = Workspace.objects.create(name="Elsewhere")
    alice = make_person("alice", workspace, Role.ADMIN)
    return Cast(
        workspace=workspace,
        alice=alice,
        bob=make_person("bob", workspace, Role.VIEWER),
        charlie=make_person("charlie", elsewhere, Role.ADMIN),
        revision=revision_publish(workspace, alice, "find_emails.py", PLAY.encode()),
        upload=upload_accept(workspace, alice, io.BytesIO(CSV), "leads.csv"),
    )


def make_person(name: str, workspace: Workspace, role: Role) -> User:
    """Make a person who is a member of one workspace."""
    person = User.objects.create(username=name, password=_hashed_password())
    Membership.objects.create(workspace=workspace, user=person, role=role)
    return person


@cache
def _hashed_password() -> str:
    """Hash once: doing so is slow on purpose."""
    return make_password(PASSWORD)


def set_role(person: User, role: Role) -> None:
    """Give a person another role in all of their workspaces."""
    Membership.objects.filter(user=person).update(role=role)


def signed_in(person: User) -> Client:
    """Give a browser in which this person is signed in."""
    client = Client()
    client.force_login(person)
    return client
