"""The ``Library`` port: uploads."""

from __future__ import annotations

import pytest

from runtime.errors import PlayError
from tests.contract.worlds import RECORDS, World


async def test_records_are_read_from_any_offset(world: World) -> None:
    library = (await world.join()).library
    page = await library.upload(world.upload_ref, 10, 5, {})
    assert page == {"columns": ["name", "domain"], "records": RECORDS[10:15], "total": 25}


async def test_the_last_page_is_short_and_then_there_is_nothing(world: World) -> None:
    library = (await world.join()).library
    assert (await library.upload(world.upload_ref, 20, 10, {}))["records"] == RECORDS[20:]
    assert (await library.upload(world.upload_ref, 25, 10, {}))["records"] == []


@pytest.mark.parametrize(
    "ref",
    ["upload:00000000-0000-0000-0000-000000000000", "upload:nonsense", "/etc/passwd", ""],
)
async def test_what_is_no_upload_of_the_workspace_is_refused(world: World, ref: str) -> None:
    library = (await world.join()).library
    with pytest.raises(PlayError):
        await library.upload(ref, 0, 10, {})
