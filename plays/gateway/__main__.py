"""Serves the gateway by itself: ``python -m plays.gateway``."""

from __future__ import annotations

import argparse
import os

import uvicorn


def main() -> None:
    """Serve until a signal; calls that are under way are finished first."""
    parser = argparse.ArgumentParser(prog="python -m plays.gateway", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument(
        "--port", type=int, default=int(os.environ.get("DEEPLINE_GATEWAY_PORT", "8001"))
    )
    given = parser.parse_args()
    uvicorn.run(
        "plays.gateway.app:application",
        host=given.host,
        port=given.port,
        access_log=False,
        lifespan="on",
    )


if __name__ == "__main__":
    main()
