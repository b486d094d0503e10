"""What a gateway is told at its start: servers, addresses, and how long it waits for what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

from deepline_site import environment

Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds.

    ``hold``: a request waits so long for its slot at a provider. ``wait``: a repeat waits so long for
    the call that is under way. ``look``: it looks into the database so often, should a hint be lost.
    ``margin``: a claim outlives its tool's time-out and its hold by this. ``policy``: policies may be so old.
    ``patience``: a paid answer is offered so long to a database that does not take it; no new claim
    is made meanwhile.
    """

    hold: float = 10.0
    wait: float = 10.0
    look: float = 1.0
    margin: float = 5.0
    policy: float = 1.0
    patience: float = 3600.0


@dataclass(frozen=True)
class Configuration:
    """``database`` are psycopg's connection arguments. ``sandbox_url`` None: the gateway serves it itself.

    ``allowed_networks`` are private networks that an administrator lets providers be in.
    """

    database: Mapping[str, Any]
    redis_url: str
    prefix: str = "deepline"
    sandbox_url: str | None = None
    own_port: int | None = None
    allowed_networks: tuple[Network, ...] = ()
    timing: Timing = field(default_factory=Timing)

    @classmethod
    def from_settings(cls) -> Configuration:
        """Read Django's settings and the environment. Raises ValueError for a network that is none."""
        from django.conf import settings

        return cls(
            database=_connection_arguments(),
            redis_url=settings.REDIS_URL,
            prefix=environment.text("DEEPLINE_PREFIX", "deepline") or "deepline",
            sandbox_url=settings.SANDBOX_URL,
            own_port=environment.whole_number("DEEPLINE_GATEWAY_PORT", 0, minimum=0) or None,
            allowed_networks=tuple(
                ip_network(name) for name in environment.names("DEEPLINE_ALLOWED_NETWORKS")
            ),
        )


def _connection_arguments() -> dict[str, Any]:
    from django.db import connection

    told = connection.settings_dict
    named = {
        "dbname": told["NAME"],
        "user": told["USER"],
        "password": told["PASSWORD"],
        "host": told["HOST"],
        "port": told["PORT"],
    }
    return {**told["OPTIONS"], **{name: value for name, value in named.items() if value}}
