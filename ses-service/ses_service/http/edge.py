"""The front of the service: what is asked most is answered here, everything else by Flask.

An ASGI application.  A request for one of :data:`ses_service.api.operations.OPERATIONS` that is right in
every respect is parsed from its bytes, answered on the event loop and rendered to bytes.  Whatever is
doubtful about a request (no JSON, a member too many, a token nobody knows) goes to Flask with the bytes
as they came, so that there is one place that says what was wrong.

Neither way lets requests pile up: beyond what can be answered in time they get a 503.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from apiflask import APIFlask
from pydantic import BaseModel, ValidationError
from ses_listen.intake import Intake
from ses_listen.problems import OVERLOADED, TOO_LONG, Answer
from ses_listen.threads import TOO_MUCH, Receive, Scope, Send, Threads, address_of, respond

from ses_service.api import problems, versions
from ses_service.api.authentication import AUTHENTICATOR, Authenticator
from ses_service.api.operations import OPERATIONS, Operation
from ses_service.api.problems import OverloadedProblem, Problem
from ses_service.api.render import Reply
from ses_service.http.admission import Admission
from ses_service.process.runtime import runtime
from ses_service.security.tokens import Principal

Headers: TypeAlias = Iterable[tuple[bytes, bytes]]
Asked: TypeAlias = tuple[Operation, tuple[str, ...]]

# Seconds to a refusal: a client that asks again as soon as it is refused would take the time of decisions.
REFUSED_AFTER = 0.2
_THREADS = 4
_WAITING = 64
_WATCHED = ("/healthz", "/readyz", "/metrics")

# By how they arrive, the headers that name caller and request, under the names they are asked for by.
_READ_ONCE = {
    name.lower().encode(): name
    for name in (
        *("Authorization", "Content-Type", "Forwarded", "Host", "X-Forwarded-For", "X-Acting-User"),
        versions.HEADER,
    )
}


class _LongOnes:
    """How many requests there are that take several steps; one at a time goes on."""

    def __init__(self) -> None:
        self.count = 0
        self.one = asyncio.Lock()


class Edge:
    """The service as an ASGI application; ``app`` answers what is not answered here."""

    def __init__(self, app: APIFlask) -> None:
        self._runtime = runtime(app)
        self._authenticator: Authenticator = app.extensions[AUTHENTICATOR]
        self.max_body: int = app.config["MAX_CONTENT_LENGTH"]
        self._flask = Threads(app, _THREADS, _WAITING, self.max_body, caller=self._who)
        self._admission = Admission(self._runtime.foreground)
        self._long_ones = {operation.route: _LongOnes() for operation in OPERATIONS}
        self.refusal = problems.reply(OverloadedProblem())
        self._exact: dict[tuple[str, str], Asked] = {
            (operation.method, operation.route): (operation, ())
            for operation in OPERATIONS
            if "<" not in operation.route
        }
        self._patterned = [
            (
                operation.method,
                operation.route.partition("<")[0],
                operation.route.partition(">")[2],
                operation,
            )
            for operation in OPERATIONS
            if "<" in operation.route
        ]
        self._unfinished: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise RuntimeError(f"only HTTP is served here, not {scope['type']}")
        began = time.perf_counter()
        body = await self._flask.body(receive)
        if body is None:
            return
        reply = self.refusal if body is TOO_MUCH else None
        asked = None
        if reply is None and not scope["query_string"]:
            asked = self.operation(scope["path"], scope["method"])
        if asked is not None:
            answered: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()

            def take(answer: Reply) -> None:
                if not answered.done():
                    answered.set_result(answer)

            if self.answer(asked, scope["headers"], scope.get("client"), body, began, take):
                reply = await answered
        if reply is None and scope["path"].startswith("/v1/") and not self._flask.has_room(scope):
            reply = self.refusal
            self._runtime.metrics.count("other", "unknown", reply.status, began)
        if reply is None:
            answer = await self._flask.answer(scope, body, receive)
            if answer is OVERLOADED or answer is TOO_LONG:
                self._runtime.metrics.count("other", "unknown", answer.status, began)
        else:
            answer = Answer(reply.status, reply.raw_headers(), reply.body)
        if answer is not None:
            await respond(send, answer)

    @property
    def intake(self) -> Intake:
        """What unanswered requests hold in memory."""
        return self._flask.intake

    def operation(self, path: str, method: str = "POST") -> Asked | None:
        """Return what a request to this path asks for, if it is answered here."""
        exact = self._exact.get((method, path))
        if exact is not None:
            return exact
        for its_method, before, after, operation in self._patterned:
            part = path[len(before) : len(path) - len(after)]
            if method == its_method and path == before + part + after and part and "/" not in part:
                return operation, (part,)
        return None

    def overloaded(self, asked: Asked, headers: Headers, client: tuple[str, int] | None) -> bool:
        """Whether this would be refused now, whatever it says; counts it if so."""
        operation, _ = asked
        if not self._admission.full(operation.waiting):
            return False
        who = self._caller(operation, headers, client)
        if who is not None and who.is_node and not self._admission.full(operation.waiting, node=True):
            return False
        self._runtime.metrics.count(
            operation.method, operation.route, self.refusal.status, time.perf_counter()
        )
        return True

    def answer(
        self,
        asked: Asked,
        headers: Headers,
        client: tuple[str, int] | None,
        body: bytes,
        began: float,
        send: Callable[[Reply], None],
    ) -> bool:
        """Call ``send`` with the answer, now or later; ``False``: Flask should say what is wrong.

        ``began`` is the time of ``time.perf_counter`` the request came at.
        """
        operation, parts = asked

        def done(reply: Reply) -> None:
            self._runtime.metrics.count(operation.method, operation.route, reply.status, began)
            send(reply)

        who = self._caller(operation, headers, client)
        if (
            who is None
            or who.role not in operation.roles
            or (operation.changes and who.reads_only)
            or len(body) > min(operation.max_body, self.max_body)
        ):
            return False
        request: tuple[BaseModel, ...] = ()
        if operation.model is not None:
            try:
                request = (operation.model.model_validate_json(body),)
            except ValidationError:
                return False
        elif body:
            return False

        def use() -> bool:
            self._begin(operation, who, (*request, *parts), done)
            return True

        if not self._admission.submit(operation.waiting, use, _turn_of(who), node=who.is_node):
            asyncio.get_running_loop().call_later(REFUSED_AFTER, done, self.refusal)
        return True

    def close(self) -> None:
        """End the threads Flask runs in."""
        self._flask.close()

    def _begin(
        self,
        operation: Operation,
        who: Principal,
        arguments: tuple[BaseModel | str, ...],
        done: Callable[[Reply], None],
    ) -> None:
        """Answer at once, or do the first of several steps."""
        reply: Reply | None
        steps = None
        try:
            if operation.run_in_parts is None:
                reply = operation.run(self._runtime, who, *arguments)
            else:
                steps = operation.run_in_parts(self._runtime, who, *arguments)
                first = next(steps)
                reply = first if isinstance(first, Reply) else None
        except Exception as error:
            reply = problems.reply(problems.problem_of(error))
        if reply is not None:
            done(reply)
        if reply is not None or steps is None:
            return
        task = asyncio.get_running_loop().create_task(self._finish(operation, steps, done))
        self._unfinished.add(task)
        task.add_done_callback(self._unfinished.discard)

    async def _finish(
        self,
        operation: Operation,
        steps: Iterator[Reply | float | None],
        done: Callable[[Reply], None],
    ) -> None:
        try:
            reply = await self._others_between(operation, steps)
        except Exception as error:
            reply = problems.reply(problems.problem_of(error))
        done(reply)

    async def _others_between(self, operation: Operation, steps: Iterator[Reply | float | None]) -> Reply:
        """Return the answer; others are answered between the steps of a long one.

        Of the long ones of an operation, one goes on at a time, so that those that came first are answered
        first.
        """
        long_ones = self._long_ones[operation.route]
        if long_ones.count >= operation.waiting:
            raise OverloadedProblem
        long_ones.count += 1
        try:
            async with long_ones.one:
                step: Reply | float | None = None
                while not isinstance(step, Reply):
                    if step is not None:
                        await asyncio.sleep(step)
                    await self._admission.wait_for_step()
                    step = next(steps)
                return step
        finally:
            long_ones.count -= 1

    def _who(self, scope: Scope) -> str:
        """Return whose turn a request is: that of a user, node or token, else of an address.

        What watches the service has turns of its own, also where somebody else asks from the same address.
        """
        if scope["path"] in _WATCHED:
            return f"{address_of(scope)} {scope['path']}"
        headers, client = _headers(scope["headers"]), scope.get("client")
        if headers is None or headers["Host"] is None or client is None:
            return address_of(scope)
        try:
            who = self._authenticator.principal(headers.__getitem__, headers["Host"], client[0])
        except Problem:
            return address_of(scope)
        return _turn_of(who)

    def _caller(self, operation: Operation, raw: Headers, client: tuple[str, int] | None) -> Principal | None:
        headers = _headers(raw)
        if headers is None:
            return None
        media_type = (headers["Content-Type"] or "").partition(";")[0].strip().lower()
        host = headers["Host"]
        is_right = operation.model is None or media_type == "application/json"
        if not is_right or host is None or client is None:
            return None
        try:
            return self._authenticator.principal(headers.__getitem__, host, client[0])
        except Problem:
            return None


def _turn_of(who: Principal) -> str:
    """Return whose turn this is: people have one, however many tokens they have."""
    return who.name if who.user is None else f"user {who.user}"


def _headers(raw: Headers) -> dict[str, str | None] | None:
    """Return the headers that name caller and request; ``None`` where one is there twice."""
    headers: dict[str, str | None] = dict.fromkeys(_READ_ONCE.values())
    for raw_name, value in raw:
        name = _READ_ONCE.get(raw_name)
        if name is not None:
            if headers[name] is not None:
                return None
            headers[name] = value.decode("latin-1")
    return headers
