"""A gateway for one command: started when it begins, ended when it ends."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from deepline_site.home import PROJECT
from deepline_site.ports import LOOPBACK, free_port, is_free
from deepline_site.tether import die_with_parent

READY_SECONDS = 30.0
LOOK_SECONDS = 0.05


class GatewayFailed(Exception):
    """The private gateway did not start."""


@contextmanager
def private_gateway() -> Iterator[str]:
    """Have a gateway running inside the block, and give its address. Raises GatewayFailed."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "plays.gateway.app:application"]
    options = ["--host", LOOPBACK, "--port", str(port), "--log-level", "warning", "--no-access-log"]
    process = subprocess.Popen(
        [*command, *options],
        cwd=PROJECT,
        stdin=subprocess.DEVNULL,
        # Ctrl-C is for the command, which ends the gateway when it has no more calls.
        start_new_session=True,
        preexec_fn=die_with_parent,
    )
    try:
        _wait_until_ready(process, port)
        yield f"http://{LOOPBACK}:{port}"
    finally:
        process.terminate()
        process.wait()


def _wait_until_ready(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while is_free(port):
        if process.poll() is not None or time.monotonic() > deadline:
            raise GatewayFailed("the gateway did not start; the reason stands above")
        time.sleep(LOOK_SECONDS)
