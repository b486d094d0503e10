"""One execute request to its answer: who asks, which tool, under which policy, and how a refusal is told."""

from __future__ import annotations

import logging
import uuid

import psycopg

from plays.gateway import tokens
from plays.gateway.composition import Gateway
from plays.gateway.errors import CODE_TOOL, CODE_TOOL_ADVICE, Refused, Stopped, refusal
from plays.gateway.execute import Order
from plays.gateway.ledger import Caller
from plays.gateway.requests import (
    Body,
    Request,
    batch_answer,
    failure_answer,
    read_body,
    single_answer,
)
from plays.tools import Catalogue
from plays.tools.definitions import Failure, Tool
from plays.tools.policies import Policy, PolicyInvalid
from plays.tools.wire import Answer, Receive, Scope, body_of

log = logging.getLogger(__name__)

PREFIX, SUFFIX = "/api/v2/integrations/", "/execute"
BODY_MAX = 32 * 1024 * 1024

STORE_UNAVAILABLE = Failure(
    "store_unavailable",
    "internal",
    "the gateway's database does not answer",
    retryable=True,
    retry_after=1.0,
    was_sent=False,
)


GATEWAY_FAILED = Failure(
    "gateway_failed", "internal", "the gateway failed; its log says why", was_sent=False
)


def is_execute(scope: Scope) -> bool:
    """Whether an HTTP request is one for a tool."""
    path: str = scope["path"]
    return scope["method"] == "POST" and path.startswith(PREFIX) and path.endswith(SUFFIX)


async def execute_answer(gateway: Gateway, scope: Scope, receive: Receive) -> Answer:
    """Carry out an execute request. Whatever goes wrong is an answer, never an exception."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    wants_metadata = headers.get("x-deepline-include-tool-metadata", "").lower() == "true"
    request = Request(uuid.uuid4().hex, wants_metadata)
    name = scope["path"][len(PREFIX) : -len(SUFFIX)]
    try:
        content = await body_of(receive, BODY_MAX)
        if content is None:
            raise refusal(413, "too_large", f"a request holds at most {BODY_MAX} bytes")
        return await _execute(gateway, name, headers, content, request)
    except Refused as error:
        return failure_answer(error.status, error.failure, request)
    except Stopped as error:
        failure = Failure(error.code, "internal", error.message, was_sent=False)
        return failure_answer(409, failure, request)
    except psycopg.OperationalError:
        return failure_answer(503, STORE_UNAVAILABLE, request)
    except Exception:  # (a caller that hears nothing would repeat the request for ever)
        log.exception("request %s failed", request.id)
        return failure_answer(500, GATEWAY_FAILED, request)


async def _execute(
    gateway: Gateway, name: str, headers: dict[str, str], content: bytes, request: Request
) -> Answer:
    run, epoch = _run_of(headers)
    tool, is_batch = _tool(gateway.tools, name)
    policy = await _policy(gateway, tool)
    body = read_body(content, headers, is_batch=is_batch)
    for member in body.members:
        if problem := tool.problem(member.input):
            raise refusal(422, "invalid_input", problem)
    order = _order(Caller(run, epoch, body.fresh_after), tool, policy, body, is_batch=is_batch)
    outcomes = await gateway.executor.execute(order)
    if is_batch:
        return batch_answer(tool, body, outcomes, request)
    (member,) = body.members
    return single_answer(tool, member, outcomes[member.key], request)


def _order(caller: Caller, tool: Tool, policy: Policy, body: Body, *, is_batch: bool) -> Order:
    members = [member for at, member in enumerate(body.members) if at not in body.repeats]
    unique = {member.key: member for member in reversed(members)}
    return Order(caller, tool, policy, tuple(reversed(unique.values())), is_batch)


def _run_of(headers: dict[str, str]) -> tuple[str, int]:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    known = tokens.read(token.strip()) if scheme.lower() == "bearer" else None
    if known is None:
        message = "the request needs a valid executor token: Authorization: Bearer <token>"
        raise refusal(401, "token_invalid", message, "internal")
    return known


def _tool(tools: Catalogue, name: str) -> tuple[Tool, bool]:
    if name == CODE_TOOL:
        raise refusal(400, "tool_refused", CODE_TOOL_ADVICE)
    if tool := tools.tool(name):
        return tool, False
    if tool := tools.batched(name):
        return tool, True
    raise refusal(404, "unknown_tool", f"there is no tool {name!r}")


async def _policy(gateway: Gateway, tool: Tool) -> Policy:
    try:
        policy = await gateway.policies.policy(tool)
    except PolicyInvalid as error:
        raise refusal(403, "policy_invalid", str(error), "authentication") from error
    if policy.unusable:
        raise refusal(403, "tool_disabled", policy.unusable, "authentication")
    return policy
