"""The product on three machines, started by the very lines of docs/operating.md.

Each process gets the environment of its unit and nothing else: a home of its own, no path to
another's, and addresses instead of embedded servers.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from deepline_site.home import PROJECT
from deepline_site.ports import LOOPBACK, free_port, is_free
from deepline_site.tether import die_with_parent

GUIDE = PROJECT / "docs" / "operating.md"
LEADS = PROJECT / "examples" / "data" / "leads_25.csv"
PLAY = PROJECT / "examples" / "plays" / "email_waterfall.py"
PASSWORD = re.compile(r"password: (\S+)")


def unit(name: str) -> str:
    """Give the text of a systemd unit of the guide."""
    (found,) = re.findall(rf"```\n# /etc/systemd/system/deepline-{name}\b.*?```", text(), re.DOTALL)
    return str(found)


def text() -> str:
    return GUIDE.read_text()


def environment_file() -> dict[str, str]:
    """Give the lines of the guide's environment file, whose values a test replaces."""
    (found,) = re.findall(r"```\n# /etc/deepline\.env.*?\n(.*?)```", text(), re.DOTALL)
    return dict(line.split("=", 1) for line in found.splitlines())


@dataclass
class Machines:
    """Machines that share two servers, a key, and the code."""

    root: Path
    told: Mapping[str, str]
    ports: dict[str, int]
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def environment(self, name: str) -> dict[str, str]:
        home = self.root / name
        kept = {"PATH": os.environ["PATH"]}
        return kept | dict(self.told) | {"DEEPLINE_HOME": str(home)}

    def run(self, name: str, *command: str) -> str:
        """Run a command of the guide to its end on a machine."""
        done = subprocess.run(
            [str(PROJECT / ".venv" / "bin" / "python"), "manage.py", *command],
            cwd=PROJECT,
            env=self.environment(name),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, name: str, service: str) -> None:
        """Start a unit's ``ExecStart`` on a machine, with the guide's ports replaced."""
        (line,) = re.findall(r"^ExecStart=(.*)$", unit(service), re.MULTILINE)
        command = shlex.split(
            line.replace("/opt/deepline", str(PROJECT)).replace("0.0.0.0", LOOPBACK)
        )
        if "--port" in command:
            command[command.index("--port") + 1] = str(self.ports[service])
        elif "manage.py" in command:
            command = [str(PROJECT / part) if part == "manage.py" else part for part in command]
        with (self.root / f"{name}.log").open("wb") as log:
            self.running.append(
                subprocess.Popen(
                    command,
                    cwd=PROJECT,
                    env=self.environment(name),
                    stdout=log,
                    stderr=log,
                    preexec_fn=die_with_parent,
                )
            )

    def end(self) -> None:
        for process in self.running:
            process.terminate()
        for process in self.running:
            process.wait(timeout=30)


@pytest.fixture
def machines(database_url: str, valkey: object, tmp_path: Path) -> Iterator[Machines]:
    ports = {"web": free_port(), "gateway": free_port()}
    told = {
        "DATABASE_URL": database_url,
        "REDIS_URL": os.environ["REDIS_URL"],
        "DEEPLINE_SECRET_KEY": "made up for this test",
        "DEEPLINE_GATEWAY_URL": f"http://{LOOPBACK}:{ports['gateway']}",
        "DEEPLINE_ALLOWED_HOSTS": "deepline.example.com",
    }
    assert set(told) | {"DEEPLINE_HOME"} == set(environment_file())
    with ExitStack() as stack:
        made = Machines(tmp_path, told, ports)
        stack.callback(made.end)
        yield made


def test_web_gateway_and_workers_share_two_servers_and_nothing_else(machines: Machines) -> None:
    from tests.integration.host_runs import until

    machines.run("web", "migrate")
    (password,) = PASSWORD.findall(machines.run("web", "setup_site"))
    machines.start("web", "web")
    machines.start("gateway", "gateway")
    for number in (1, 2):
        machines.start(f"worker-{number}", "worker")
    until(lambda: not any(is_free(port) for port in machines.ports.values()), "the ports")
    with httpx.Client(
        base_url=f"http://{LOOPBACK}:{machines.ports['web']}", follow_redirects=True
    ) as browser:
        sign_in(browser, password)
        run = start_run(browser)
        until(lambda: status(browser, run) not in ("queued", "running"), "the run's end")
        assert status(browser, run) == "completed"
        table = browser.get(f"/api/v1/runs/{run}/download.csv").text
    assert table.count("\n") == 26
    assert "@" in table
    homes = [machines.root / name for name in ("web", "gateway", "worker-1", "worker-2")]
    servers = [home / name for home in homes for name in ("postgres", "valkey")]
    assert all(home.is_dir() for home in homes)
    assert not any(path.exists() for path in servers)


def sign_in(browser: httpx.Client, password: str) -> None:
    told = {"username": "admin", "password": password, **form_token(browser, "/login/")}
    assert browser.post("/login/", data=told).status_code == 200


def start_run(browser: httpx.Client) -> str:
    """Upload the sample leads and start the sample play; give the run's id."""
    plays = browser.get("/").text
    (play,) = set(re.findall(r'href="/plays/(\d+)/"[^>]*>\s*email_waterfall', plays))
    told = form_token(browser, "/uploads/")
    uploaded = browser.post(
        "/uploads/new/", data=told, files={"file": ("leads.csv", LEADS.read_bytes())}
    )
    (upload,) = set(re.findall(r"/uploads/([0-9a-f-]{36})/file/", uploaded.text))
    page = browser.get(f"/plays/{play}/run/", params={"leads": upload}).text
    names = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page)
    started = browser.post(f"/plays/{play}/run/", data=dict(names))
    assert started.status_code == 200, started.text
    return started.url.path.strip("/").split("/")[-1]


def form_token(browser: httpx.Client, page: str) -> dict[str, str]:
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', browser.get(page).text)
    assert found is not None
    return {"csrfmiddlewaretoken": found[1]}


def status(browser: httpx.Client, run: str) -> str:
    return str(browser.get(f"/api/v1/runs/{run}").json()["status"])
