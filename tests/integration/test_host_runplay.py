"""``manage.py runplay``: one play to its end from the command line."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from deepline_site.home import PROJECT
from tests.integration import host_plays

if TYPE_CHECKING:
    from tests.product import StartProduct

EMAIL_PLAY = PROJECT / "examples" / "plays" / "email_waterfall.py"
DATA = PROJECT / "examples" / "data"
PATIENCE_SECONDS = 100.0

RunPlay = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def environment(database_url: str, valkey: object) -> dict[str, str]:
    told = os.environ | {"DATABASE_URL": database_url, "SANDBOX_LATENCY_MS": "40"}
    told.pop("DEEPLINE_GATEWAY_URL", None)
    return told


@pytest.fixture
def runplay(environment: dict[str, str]) -> RunPlay:
    """Run the command to its end, on the test's servers and with a gateway of its own."""

    def run(*args: str | Path, **told: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(*args),
            cwd=PROJECT,
            env=environment | told,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )

    return run


def command(*args: str | Path) -> list[str]:
    return [sys.executable, "manage.py", "runplay", *map(str, args)]


def told(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Give the report: the last line of the output."""
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


def play_file(directory: Path, source: bytes | str) -> Path:
    path = directory / "odd.py"
    path.write_bytes(source if isinstance(source, bytes) else source.encode())
    return path


def test_a_play_runs_to_its_end_and_its_dataset_is_written(
    runplay: RunPlay, tmp_path: Path
) -> None:
    out = tmp_path / "out.csv"
    done = runplay(EMAIL_PLAY, "--csv", DATA / "leads_25.csv", "--output", out, "--json")
    assert done.returncode == 0, done.stderr
    report = told(done)
    assert report["status"] == "completed"
    assert report["counts"] == {"completed": 25}
    assert list(report) == [
        *("run", "status", "rows", "counts", "requests", "members", "credits", "seconds"),
        "peak_rss",
    ]
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 25
    assert list(rows[0])[-2:] == ["email", "verdict"]
    assert {row["verdict"] for row in rows} <= {"valid", "catch_all", "invalid", "no email"}


def test_batches_are_full_and_the_play_process_small(
    runplay: RunPlay, start_product: StartProduct
) -> None:
    # case M1, M2
    from tests.integration.host_runs import provider_stats

    product = start_product(only=("gateway",), SANDBOX_LATENCY_MS="40")
    done = runplay(
        *(EMAIL_PLAY, "--csv", f"leads={DATA / 'leads_10000.csv'}", "--json"),
        DEEPLINE_GATEWAY_URL=product.gateway_url,
    )
    assert done.returncode == 0, done.stderr
    report = told(done)
    assert report["counts"] == {"completed": 10_000}
    assert 0 < report["peak_rss"] < 200_000_000
    tools = provider_stats(product.gateway_url)["tools"]
    sizes = {
        "sandbox_a_email_finder": 100,
        "sandbox_b_email_finder": 50,
        "sandbox_email_verifier": 100,
    }
    full = {
        tool: tools[tool]["members"] / (tools[tool]["requests"] * size)
        for tool, size in sizes.items()
    }
    assert all(share >= 0.95 for share in full.values()), full


def test_the_input_of_a_file_is_the_one_that_the_play_reads(
    runplay: RunPlay, tmp_path: Path
) -> None:
    source = """
from runtime import play

@play("counts")
async def counts(ctx, input):
    return {"count": await (await ctx.csv(input["people"])).count(), "word": input["word"]}
"""
    path = play_file(tmp_path, source)
    done = runplay(path, "--csv", DATA / "leads_25.csv", "--input", '{"word": "ok"}')
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {"count": 25, "word": "ok"}


@pytest.mark.parametrize(
    ("status", "code", "lines"),
    [
        ("failed", 1, ["raise ValueError('no such thing')"]),
        (
            "completed_with_failures",
            2,
            ["rows = [{'n': n} for n in range(4)]", "return await fill(ctx, rows, 2)"],
        ),
        ("failed", 1, ["rows = [{'n': n} for n in range(4)]", "return await fill(ctx, rows, 0)"]),
    ],
)
def test_the_exit_status_says_how_it_ended(
    runplay: RunPlay, tmp_path: Path, status: str, code: int, lines: list[str]
) -> None:
    fill = """

async def fill(ctx, rows, most):
    def check(row):
        if row["n"] >= most:
            raise ValueError("too many")
        return True
    return await ctx.map("numbers", rows, key="n").step("ok", check).run()
"""
    path = play_file(tmp_path, host_plays.odd_play(*lines).decode() + fill)
    done = runplay(path, "--json")
    assert done.returncode == code, done.stderr
    assert told(done)["status"] == status


def test_a_play_that_cannot_be_published_is_told_by_line(runplay: RunPlay, tmp_path: Path) -> None:
    path = play_file(tmp_path, "from runtime import play\n\nx = = 1\n")
    done = runplay(path)
    assert done.returncode == 1
    assert f"{path}:3: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--csv", "nowhere.csv"], "nowhere.csv"),
        (["--input", "[1]"], "a JSON object is needed"),
        (["--csv", sys.executable], "a program"),
        ([], "leads"),
    ],
)
def test_what_is_wrong_with_the_command_is_one_sentence(
    runplay: RunPlay, args: list[str], sentence: str
) -> None:
    done = runplay(EMAIL_PLAY, *args)
    assert done.returncode != 0
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_ctrl_c_cancels_and_leaves_nothing_running(
    environment: dict[str, str], start_product: StartProduct
) -> None:
    from plays.models import Run
    from tests.integration.host_runs import is_under_way, until

    product = start_product(only=("gateway",), SANDBOX_LATENCY_MS="300")
    running = subprocess.Popen(
        command(EMAIL_PLAY, "--csv", DATA / "leads_1000.csv", "--json"),
        cwd=PROJECT,
        env=environment | {"DEEPLINE_GATEWAY_URL": product.gateway_url},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        run = until(lambda: Run.objects.filter(status="running").first(), "the run")
        until(lambda: is_under_way(run, 50), "the run to be under way")
        began = time.monotonic()
        os.killpg(running.pid, signal.SIGINT)
        out, err = running.communicate(timeout=PATIENCE_SECONDS)
    finally:
        running.kill()
    assert running.returncode == 3, err
    assert json.loads(out.splitlines()[-1])["status"] == "cancelled"
    assert time.monotonic() - began < 10
    run.refresh_from_db()
    assert (run.status, run.stop_reason) == ("cancelled", "person")
    (frame,) = run.frames.all()
    assert frame.row_totals.get("running", 0) == 0
    assert sum(frame.row_totals.values()) == 1_000
