"""Publishing plays: numbers, the live one, and that a wrong text leaves nothing behind."""

from __future__ import annotations

from functools import partial

import pytest

from plays.models import Play, Revision
from plays.services.refusals import Refused
from plays.services.revisions import SOURCE_LIMIT, revision_publish, revision_set_live
from runtime.errors import PlayInvalid
from tests.integration.cast import PLAY, SCHEMA_PLAY, Cast
from tests.integration.together import at_once
from tests.integration.wrong_plays import WRONG


def test_a_first_text_becomes_revision_1_and_is_live(cast: Cast) -> None:
    revision = cast.revision
    assert (revision.number, revision.format, revision.play.name) == (1, "module", "find_emails")
    assert Play.objects.get(pk=revision.play_id).live == revision
    assert bytes(revision.source) == PLAY.encode()
    assert [entry["table"] for entry in revision.pipeline["maps"]] == ["leads"]


def test_publishing_the_same_text_twice_gives_one_revision(cast: Cast) -> None:
    again = revision_publish(cast.workspace, cast.bob, "renamed.py", PLAY.encode())
    assert again == cast.revision
    assert Revision.objects.count() == 1


def test_a_changed_text_is_the_next_revision_and_live(cast: Cast) -> None:
    changed = PLAY.replace("Find e-mails", "Find them").encode()
    revision = revision_publish(cast.workspace, cast.alice, "find_emails.py", changed, "clearer")
    assert (revision.number, revision.note) == (2, "clearer")
    assert Play.objects.get(pk=revision.play_id).live == revision


def test_an_older_text_that_is_published_again_is_live_again(cast: Cast) -> None:
    changed = PLAY.replace("Find e-mails", "Find them").encode()
    revision_publish(cast.workspace, cast.alice, "find_emails.py", changed)
    again = revision_publish(cast.workspace, cast.alice, "find_emails.py", PLAY.encode())
    assert again == cast.revision
    assert Play.objects.get(pk=again.play_id).live == again
    assert Revision.objects.count() == 2


def test_rolling_back_makes_an_earlier_revision_live(cast: Cast) -> None:
    changed = PLAY.replace("Find e-mails", "Find them").encode()
    revision_publish(cast.workspace, cast.alice, "find_emails.py", changed)
    revision_set_live(cast.revision)
    assert Play.objects.get(pk=cast.revision.play_id).live == cast.revision


def test_a_play_of_the_same_name_in_another_workspace_is_another_play(cast: Cast) -> None:
    elsewhere = cast.charlie.membership_set.get().workspace
    theirs = revision_publish(elsewhere, cast.charlie, "find_emails.py", PLAY.encode())
    assert theirs.play != cast.revision.play
    assert theirs.number == 1


def test_the_order_of_a_schemas_properties_is_kept(cast: Cast) -> None:
    revision = revision_publish(cast.workspace, cast.alice, "segment.py", SCHEMA_PLAY.encode())
    revision.refresh_from_db()
    names = ["companies", "minimum", "market", "tags", "strict"]
    assert revision.pipeline["properties"] == names


@pytest.mark.parametrize(("text", "line"), WRONG.values(), ids=WRONG)
def test_a_wrong_text_is_refused_with_its_problems_and_nothing_is_stored(
    cast: Cast, text: str, line: int
) -> None:
    before = (Play.objects.count(), Revision.objects.count())
    with pytest.raises(PlayInvalid) as invalid:
        revision_publish(cast.workspace, cast.alice, "wrong.py", text.encode())
    assert line in {problem.line for problem in invalid.value.problems}
    assert (Play.objects.count(), Revision.objects.count()) == before


def test_a_text_that_is_too_long_is_refused(cast: Cast) -> None:
    with pytest.raises(Refused, match=r"a play may have 5 MB"):
        revision_publish(cast.workspace, cast.alice, "long.py", b"#" * (SOURCE_LIMIT + 1))


def test_two_people_who_publish_at_once_get_consecutive_numbers(committed_cast: Cast) -> None:
    cast = committed_cast
    texts = [PLAY.replace("Find e-mails", f"Find {n}").encode() for n in range(4)]
    publish = partial(revision_publish, cast.workspace, cast.alice, "find_emails.py")
    at_once([partial(publish, text) for text in texts])
    numbers = Revision.objects.order_by("number").values_list("number", flat=True)
    assert list(numbers) == [1, 2, 3, 4, 5]


def test_the_same_new_play_published_at_once_gives_one(committed_cast: Cast) -> None:
    cast = committed_cast
    text = PLAY.replace("find_emails", "find_others").encode()
    publish = partial(revision_publish, cast.workspace, cast.alice, "find_others.py", text)
    at_once([publish] * 4)
    assert Play.objects.filter(name="find_others").count() == 1
    assert Revision.objects.filter(play__name="find_others").count() == 1
