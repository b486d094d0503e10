"""`manage.py serve`, which is `make run`: everything from nothing, until Ctrl-C."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from contextlib import ExitStack
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from deepline_site import embedded
from deepline_site.home import Home, Product
from deepline_site.programs import MANAGE, product_addresses, product_programs
from deepline_site.supervisor import Supervisor
from deepline_site.tether import die_with_parent


class Command(BaseCommand):
    help = "Start servers, web, gateway and workers, and print the address; Ctrl-C stops them all."

    def handle(self, *args: Any, **options: Any) -> None:
        # Until the supervisor takes the signals over, each of them unwinds what was begun.
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.default_int_handler)
        try:
            self._serve(Home.from_environment())
        except KeyboardInterrupt:
            pass
        except embedded.ServicesError as error:
            raise CommandError(str(error)) from None
        self._say("Stopped.")

    def _serve(self, home: Home) -> None:
        with ExitStack() as stack:
            try:
                stack.enter_context(home.lock("serve", wait=False))
            except BlockingIOError:
                raise CommandError(_already_running(home)) from None
            stack.enter_context(embedded.servers(home))
            _set_up_site()
            self._supervise(home, product_addresses(settings.PORT))

    def _supervise(self, home: Home, product: Product) -> None:
        def tell_address() -> None:
            home.write_product(product)
            self._say(f"Deepline runs at {product.web_url} (Ctrl-C stops it)")

        supervisor = Supervisor(
            product_programs(product), self._say, lambda: self._mend_servers(home)
        )
        asyncio.run(supervisor.run(tell_address))

    def _mend_servers(self, home: Home) -> None:
        """Start an embedded server again that was killed; programs and runs wait for it meanwhile."""
        dead = [server.name for server in embedded.status(home) if server.pid is None]
        if not dead:
            return
        self._say(f"{' and '.join(dead)} ended; starting again")
        try:
            embedded.start(home)
        except embedded.ServicesError as error:
            self._say(str(error))

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _set_up_site() -> None:
    """Migrate and load, in a process that reads settings after the servers chose their ports."""
    status = subprocess.run(
        [*MANAGE, "setup_site"], start_new_session=True, preexec_fn=die_with_parent, check=False
    ).returncode
    if status != 0:
        raise CommandError("The site could not be set up; the reason stands above.")


def _already_running(home: Home) -> str:
    product = home.product()
    place = f" at {product.web_url}" if product else ""
    return f"Deepline runs already from this directory{place}; stop that one first."
