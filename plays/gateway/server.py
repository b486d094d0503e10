"""The gateway as an ASGI application: its lifespan and its routes.

Routes: ``POST /api/v2/integrations/<tool id>/execute``, ``GET /healthz``, and the sandbox provider under
``/sandbox/``. Everything that belongs to a loop (pool, clients, tasks) is made when the server starts
and ended when it stops, after the calls that are under way.
"""

from __future__ import annotations

from collections.abc import Callable

from plays.gateway.answering import execute_answer, is_execute
from plays.gateway.composition import Gateway
from plays.gateway.configuration import Configuration
from plays.tools import Catalogue, catalogue
from plays.tools.definitions import Failure, ProviderRequest
from plays.tools.sandbox.tool import PREFIX as SANDBOX_PREFIX
from plays.tools.sandbox.tool import SERVICE as SANDBOX
from plays.tools.wire import Answer, Receive, Scope, Send, answered, json_answer

STATS_PATH = f"{SANDBOX_PREFIX}stats"
STATS_TIMEOUT_SECONDS = 5.0


class Application:
    """The ASGI face of a gateway; ``configure`` is called when the server starts."""

    def __init__(
        self,
        configure: Callable[[], Configuration] = Configuration.from_settings,
        tools: Callable[[], Catalogue] = catalogue,
    ) -> None:
        self._configure = configure
        self._tools = tools
        self._gateway: Gateway | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            assert self._gateway is not None, "the server must support ASGI's lifespan"
            _learn_address(self._gateway, scope)
            await answered(send, await self._answer(self._gateway, scope, receive))

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        self._gateway = Gateway(self._configure(), self._tools())
        await self._gateway.open()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._gateway.close()
        self._gateway = None
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, gateway: Gateway, scope: Scope, receive: Receive) -> Answer:
        path = scope["path"]
        if is_execute(scope):
            return await execute_answer(gateway, scope, receive)
        if path == "/healthz":
            return json_answer(200, {"status": "ok"})
        if path == STATS_PATH and gateway.configuration.sandbox_url:
            return await _foreign_stats(gateway)
        if path.startswith(SANDBOX_PREFIX):
            return await gateway.sandbox.answer(scope, receive)
        return json_answer(404, {"error": {"code": "not_found", "message": "no such address"}})


async def _foreign_stats(gateway: Gateway) -> Answer:
    request = ProviderRequest(STATS_PATH, method="GET")
    reply = await gateway.transport.send(SANDBOX, request, STATS_TIMEOUT_SECONDS)
    if isinstance(reply, Failure):
        return json_answer(502, {"error": {"code": reply.code, "message": reply.message}})
    return Answer(reply.status, reply.body, {"content-type": "application/json"})


def _learn_address(gateway: Gateway, scope: Scope) -> None:
    """Remember where this gateway answers: there the sandbox is, unless the configuration says where."""
    server = scope.get("server")
    is_needed = gateway.own_address is None and gateway.configuration.own_port is None
    if is_needed and server and server[1]:
        gateway.own_address = (server[0], server[1])
