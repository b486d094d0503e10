"""What a hostile play can reach and break: nothing but its own run, and the next run goes well.

Each level is asked for by itself. A level that this machine lacks has to be told as lacking, and the
same is then held for what it gave instead.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from tests.integration import host_plays, hostile_plays
from tests.integration.odd_runs import NO_GATEWAY, Execute, children, claimed, execute

__all__ = ["execute"]  # a fixture

if TYPE_CHECKING:
    from plays.models import Run
    from tests.integration.cast import Cast

LEVELS: dict[str, dict[str, Any]] = {
    "namespaces, Landlock": {"namespaces": True, "landlock": True, "required": []},
    "Landlock": {"namespaces": False, "landlock": True, "required": []},
    "limits only": {"namespaces": False, "landlock": False, "required": []},
}

FAILING = {
    "loops": (hostile_plays.LOOPS, "LoopBlocked", "for 2 s (odd.py:7)"),
    "loops while it loads": (hostile_plays.LOOPS_WHILE_IT_LOADS, "LoopBlocked", "(odd.py:2)"),
    "sums in C": (hostile_plays.SUMS, "LoopBlocked", "the play did not let the event loop run"),
    "prints without end": (hostile_plays.PRINTS, "LoopBlocked", "(odd.py:7)"),
    "allocates at once": (hostile_plays.ALLOCATES_AT_ONCE, "MemoryError", ""),
    "exits": (host_plays.EXITS, "PlayDied", "exit code 7"),
    "exits in a row": (hostile_plays.EXITS_IN_A_ROW, "PlayDied", "exit code 7"),
    "writes rubbish": (host_plays.WRITES_RUBBISH, "BrokenProtocol", "no frame of JSON"),
    "closes its pipe": (host_plays.CLOSES_ITS_PIPE, "PlayDied", "closed its pipe"),
}
IN_ROWS = {
    "loops": hostile_plays.LOOPS_IN_A_ROW,
    "sleeps": hostile_plays.SLEEPS_IN_A_ROW,
    "matches a regular expression": hostile_plays.MATCHES_IN_A_ROW,
}


@pytest.fixture(params=LEVELS)
def level(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A level that runs ask for; everything that is waited for is short."""
    from plays.playhost import host, levels, process, watching

    monkeypatch.setitem(levels.ORDERS, "auto", LEVELS[request.param])
    monkeypatch.setattr(watching, "LOOP_SECONDS", 2.0)
    monkeypatch.setattr(watching, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(process, "LEAVE_SECONDS", 0.3)
    monkeypatch.setattr(host, "LEAVE_SECONDS", 0.3)
    return str(request.param)


def got(run: Run, level: str) -> str:
    """Give the level that a run had; what it lacks of the one asked for must be in its log."""
    given = str(run.participants.get().isolation)
    lines = " ".join(run.log_lines.values_list("text", flat=True))
    assert f"isolation of the play: {given}" in lines
    for part in level.split(", "):
        assert part in given or f"no {part} (" in lines
    return given


def assert_well(execute: Execute) -> None:
    """The worker is as it was: a good run goes well, and nothing of the bad one is left."""
    assert children() == []
    run, _ = execute(hostile_plays.GOOD)
    assert (run.status, run.result) == ("completed", {"value": "well"})


@pytest.mark.parametrize("misdeed", FAILING)
def test_a_hostile_play_fails_its_own_run_with_the_reason(
    execute: Execute, level: str, misdeed: str
) -> None:
    source, kind, told = FAILING[misdeed]
    run, _ = execute(source)
    assert (run.status, run.error["type"]) == ("failed", kind)
    assert told in run.error["message"]
    got(run, level)
    assert_well(execute)


@pytest.mark.parametrize("misdeed", IN_ROWS)
def test_a_step_that_blocks_the_loop_is_named_with_its_row(
    execute: Execute, level: str, misdeed: str
) -> None:
    run, _ = execute(IN_ROWS[misdeed])
    assert run.status == "failed"
    assert run.error == {
        "type": "LoopBlocked",
        "message": "the step 'email' of map 'leads' did not let the event loop run for 2 s"
        " (row 3, odd.py:7)",
    }
    assert_well(execute)


def test_what_blocks_the_loop_in_c_is_told_in_the_log(execute: Execute, level: str) -> None:
    run, _ = execute(hostile_plays.SUMS)
    lines = list(run.log_lines.values_list("text", flat=True))
    assert '  File "odd.py", line 7 in odd' in lines


def test_a_play_that_takes_all_memory_fails_its_run(
    execute: Execute, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plays.playhost.watching.MEMORY_BYTES", 256 * 1024**2)
    run, _ = execute(hostile_plays.ALLOCATES)
    assert run.error == {
        "type": "MemoryExceeded",
        "message": "the play used more than 0.25 GB of memory",
    }
    assert_well(execute)


def test_a_play_that_forks_without_end_fails_its_run(execute: Execute, level: str) -> None:
    run, _ = execute(hostile_plays.FORKS)
    assert run.status == "failed"
    assert run.error["type"] in ("LoopBlocked", "MemoryExceeded")
    assert_well(execute)


def test_a_daemon_of_a_play_ends_with_its_run(execute: Execute, level: str) -> None:
    run, _ = execute(hostile_plays.LEAVES_A_DAEMON)
    assert run.status == "completed"
    assert [one for one in psutil.process_iter() if one.name() == "odd-daemon"] == []
    assert_well(execute)


def test_a_play_that_kills_its_parent_harms_only_itself(execute: Execute, level: str) -> None:
    run, _ = execute(hostile_plays.KILLS_ITS_PARENT)
    assert run.status in ("failed", "completed")
    assert_well(execute)


@pytest.mark.parametrize("source", [hostile_plays.SWALLOWS, hostile_plays.BLOCKS_A_THREAD])
def test_a_play_that_swallows_everything_is_ended_when_a_person_cancels(
    execute: Execute,
    committed_cast: Cast,
    level: str,
    monkeypatch: pytest.MonkeyPatch,
    source: bytes,
) -> None:
    from plays.compose import run_execute
    from plays.jobs import settle
    from runtime.events import Request

    monkeypatch.setattr("plays.playhost.host.GRACE_SECONDS", {Request.CANCEL: 0.2})
    run, participant = claimed(committed_cast, source)
    run.request("cancel")
    execution = asyncio.run(run_execute(participant, gateway_url=NO_GATEWAY))
    assert settle(execution) == "cancelled"
    assert_well(execute)


@pytest.fixture
def surroundings(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """What a play could be after, outside of its process."""
    from django.conf import settings

    file, abstract = tmp_path / "others", f"odd-{os.getpid()}"
    file.write_text("not yours")
    tmp_path.chmod(0o777)
    file.chmod(0o666)
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(tmp_path / "s"))
        (tmp_path / "s").chmod(0o777)
        unix.listen()
        with socket.socket(socket.AF_UNIX) as hidden:
            hidden.bind(f"\0{abstract}")
            hidden.listen()
            yield {
                "secret": str(settings.DEEPLINE_HOME / "secret_key"),
                "file": str(file),
                "worker": os.getpid(),
                "port": tcp.getsockname()[1],
                "socket": str(tmp_path / "s"),
                "abstract": abstract,
            }


def test_what_a_play_can_reach_is_what_its_level_says(
    execute: Execute, level: str, surroundings: dict[str, Any]
) -> None:
    run, _ = execute(hostile_plays.PROBES, surroundings)
    given = got(run, level)
    assert run.status == "completed", run.error
    seen = run.result["value"]
    closed = reached_nothing(given)
    assert {what: seen[what] for what in closed if seen[what] == "done"} == {}
    assert (seen["core"], seen["rights"]) == (0, 1)
    assert seen["user"] != 0
    if "namespaces" in given:
        assert seen["scratch"] == "done"
        assert seen["much scratch"] == "OSError"
        assert seen["processes"] in (0, 2)
    assert_well(execute)


def reached_nothing(given: str) -> set[str]:
    """What is out of reach at a level."""
    from plays.playhost.isolation import landlock

    closed: set[str] = set()
    if os.geteuid() == 0:
        closed |= {"environment", "memory", "signal", "ptrace"}
    if "Landlock" in given:
        closed |= {"secret", "file", "environment", "memory", "write beside", "write library"}
        closed |= {"ptrace"}
        closed |= {"tcp"} if landlock.version() >= landlock.NETWORK_VERSION else set()
        closed |= {"abstract", "signal"} if landlock.version() >= landlock.SCOPE_VERSION else set()
    if "namespaces" in given:
        closed |= {"secret", "file", "environment", "memory", "write beside", "write library"}
        closed |= {"tcp", "udp", "unix", "abstract", "signal", "ptrace"}
    return closed


def test_where_namespaces_are_required_and_lacking_the_run_waits_for_them(
    execute: Execute, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from plays.playhost import levels

    settings.PLAY_ISOLATION = "strict"
    run, _ = execute(hostile_plays.GOOD)
    if "namespaces" in run.participants.get().isolation:
        assert run.status == "completed"
        # Of a system without any namespace nobody may make one.
        monkeypatch.setitem(
            levels.ORDERS, "strict", {**LEVELS["limits only"], "required": ["namespaces"]}
        )
        run, _ = execute(hostile_plays.GOOD)
    assert (run.status, run.stop_reason) == ("paused", "isolation")
    assert run.stop_message.startswith("PLAY_ISOLATION is strict, and this machine gives a play no")
