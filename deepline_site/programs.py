"""The processes that make up the product, as command lines.

`supervisor` keeps them running for a person; tests start the same ones.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from deepline_site.home import PROJECT, Home, Product
from deepline_site.ports import LOOPBACK, next_free_port

MANAGE = (sys.executable, str(PROJECT / "manage.py"))
WORKERS = 2
# Long enough for a page that is being sent, short enough for a person who waits.
GRACE_SECONDS = 3


@dataclass(frozen=True)
class Program:
    """One process: its name in the log, its command, and what it gets beside our environment."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    port: int | None = None


def product_addresses(first_port: int) -> Product:
    """Choose ports: the first free one from `first_port` on, and for the gateway the next."""
    web = next_free_port(first_port)
    gateway = next_free_port(web + 1)
    return Product(web_url=f"http://{LOOPBACK}:{web}", gateway_url=f"http://{LOOPBACK}:{gateway}")


def product_programs(product: Product) -> list[Program]:
    """Return web, gateway and workers, each knowing where the gateway is.

    Their temporary files lie in the home too: Django spools the bodies of requests to a file.
    """
    told = {
        "DEEPLINE_GATEWAY_URL": os.environ.get("DEEPLINE_GATEWAY_URL") or product.gateway_url,
        "TMPDIR": str(Home.from_environment().uploads),
    }
    web = _server("web", "deepline_site.asgi:application", product.web_url, told)
    gateway = _server("gateway", "plays.gateway.app:application", product.gateway_url, told)
    workers = [
        Program(f"worker-{number}", (*MANAGE, "worker"), told) for number in range(1, WORKERS + 1)
    ]
    return [web, gateway, *workers]


def _server(name: str, application: str, url: str, environment: Mapping[str, str]) -> Program:
    port = int(url.rpartition(":")[2])
    command = (
        *(sys.executable, "-m", "uvicorn", application),
        *("--host", LOOPBACK, "--port", str(port)),
        *("--log-level", "warning", "--no-access-log"),
        *("--timeout-graceful-shutdown", str(GRACE_SECONDS)),
        *(("--lifespan", "off") if name == "web" else ()),
    )
    return Program(name, command, environment, port)
