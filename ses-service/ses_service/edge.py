"""The front of the service: what is asked most is answered here, everything else by Flask.

An ASGI application.  A request for one of :data:`ses_service.operations.OPERATIONS` that is right in
every respect is parsed from its bytes, answered on the event loop and rendered to bytes.  Whatever is
doubtful about a request (no JSON, a member too many, a token nobody knows) goes to Flask with the bytes
as they came, so that there is one place that says what was wrong.

Neither way lets requests pile up: beyond what can be answered in time they get a 503 at once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from apiflask import APIFlask
from pydantic import BaseModel, ValidationError

from ses_service import problems
from ses_service.admission import Turns
from ses_service.auth import AUTHENTICATOR, Authenticator, Principal
from ses_service.operations import OPERATIONS, STORING, Operation
from ses_service.problems import OverloadedProblem, UnauthenticatedProblem
from ses_service.render import Reply
from ses_service.runtime import runtime
from ses_service.wsgi import FlaskThreads

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_READ_ONCE = frozenset(
    {"authorization", "content-type", "forwarded", "host", "x-forwarded-for", "x-acting-user"}
)


class _LongOnes:
    """How many there are that take several turns, and whose turns they are."""

    def __init__(self) -> None:
        self.count = 0
        self.one = asyncio.Lock()


class Edge:
    """The service as an ASGI application; ``app`` answers what is not answered here."""

    def __init__(self, app: APIFlask) -> None:
        self._runtime = runtime(app)
        self._authenticator: Authenticator = app.extensions[AUTHENTICATOR]
        self._max_body: int = app.config["MAX_CONTENT_LENGTH"]
        self._flask = FlaskThreads(app)
        self._turns = Turns()
        self._long_ones = {one.route: _LongOnes() for one in OPERATIONS}
        self.refusal = problems.reply(OverloadedProblem())
        self._exact = {one.route: one for one in OPERATIONS if "<" not in one.route}
        self._patterned = [one.route.partition("<") for one in OPERATIONS if "<" in one.route]
        self._by_route = {one.route: one for one in OPERATIONS}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise RuntimeError(f"only HTTP is spoken here, not {scope['type']}")
        began = time.perf_counter()
        body = await self._body(receive)
        if body is None:
            return
        found = self._operation(scope)
        reply = None
        if found is not None:
            operation, parts = found
            if self._turns.full(operation.waiting):
                reply = self.refusal
            else:
                reply = await self._quick(scope, body, operation, parts)
            if reply is not None:
                self._runtime.metrics.count("POST", operation.route, reply.status, began)
        if reply is None and self._flask.full and scope["path"].startswith("/v1/"):
            reply = self.refusal
            self._runtime.metrics.count("other", "unknown", reply.status, began)
        if reply is None:
            reply = await self._flask.answer(scope, body)
        await send({"type": "http.response.start", "status": reply.status, "headers": reply.raw_headers()})
        await send({"type": "http.response.body", "body": reply.body})

    def overloaded(self, target: bytes) -> bool:
        """Whether a POST to this target would be refused now, whatever it says; counts it if so."""
        operation = self._exact.get(target.decode("latin-1"))
        if operation is None or not self._turns.full(operation.waiting):
            return False
        self._runtime.metrics.count("POST", operation.route, self.refusal.status, time.perf_counter())
        return True

    def close(self) -> None:
        """End the threads Flask runs in."""
        self._flask.close()

    async def _body(self, receive: Receive) -> bytes | None:
        """Return the body, with one byte more than is allowed if it is larger; ``None``: they hung up."""
        message = await receive()
        body: bytes = message.get("body", b"")
        while message.get("more_body") and len(body) <= self._max_body:
            message = await receive()
            body += message.get("body", b"")
        return None if message["type"] == "http.disconnect" else body[: self._max_body + 1]

    def _operation(self, scope: Scope) -> tuple[Operation, tuple[str, ...]] | None:
        if scope["method"] != "POST" or scope["query_string"]:
            return None
        path: str = scope["path"]
        found = self._exact.get(path)
        if found is not None:
            return found, ()
        for before, _, rest in self._patterned:
            after = rest.partition(">")[2]
            part = path[len(before) : len(path) - len(after)]
            if path == before + part + after and part and "/" not in part:
                return self._by_route[before + "<" + rest], (part,)
        return None

    async def _quick(
        self, scope: Scope, body: bytes, operation: Operation, parts: tuple[str, ...]
    ) -> Reply | None:
        """Answer, or return ``None`` when Flask should say what is wrong."""
        who = self._caller(scope)
        if who is None or who.role not in operation.roles or len(body) > self._max_body:
            return None
        try:
            asked = operation.model.model_validate_json(body)
        except ValidationError:
            return None
        try:
            await self._turns.take(operation.waiting)
            reply = await self._run(operation, who, asked, parts)
            if reply.stored is not None:
                await asyncio.wait([asyncio.wrap_future(reply.stored)], timeout=STORING)
            return reply
        except Exception as error:
            return problems.reply(problems.problem_of(error))

    async def _run(
        self, operation: Operation, who: Principal, asked: BaseModel, parts: tuple[str, ...]
    ) -> Reply:
        """Return the answer; others have their turns between the parts of a long one.

        Of the long ones of an operation, one goes on at a time, so that those that came first are answered
        first.
        """
        if operation.run_in_parts is None:
            return operation.run(self._runtime, who, asked, *parts)
        steps = operation.run_in_parts(self._runtime, who, asked, *parts)
        reply = next(steps)
        if reply is not None:
            return reply
        long_ones = self._long_ones[operation.route]
        if long_ones.count >= operation.waiting:
            raise OverloadedProblem
        long_ones.count += 1
        try:
            async with long_ones.one:
                while reply is None:
                    await self._turns.take_between()
                    reply = next(steps)
                return reply
        finally:
            long_ones.count -= 1

    def _caller(self, scope: Scope) -> Principal | None:
        headers: dict[str, str] = {}
        for raw_name, raw_value in scope["headers"]:
            name = raw_name.decode("latin-1")
            if name in _READ_ONCE:
                if name in headers:
                    return None
                headers[name] = raw_value.decode("latin-1")
        media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        host, client = headers.get("host"), scope.get("client")
        if media_type != "application/json" or host is None or client is None:
            return None
        try:
            return self._authenticator.principal(lambda name: headers.get(name.lower()), host, client[0])
        except UnauthenticatedProblem:
            return None
