"""The front of the service: what is asked most is answered here, everything else by Flask.

A request for one of :data:`ses_service.api.operations.OPERATIONS` that is right in
every respect is parsed from its bytes, answered on the event loop and rendered to bytes.  Whatever is
doubtful about a request (no JSON, a member too many, a token nobody knows) goes to Flask with the bytes
as they came, so that there is one place that says what was wrong.

Neither way lets requests pile up: beyond what can be answered in time they get a 503.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterator
from typing import TypeAlias

from apiflask import APIFlask
from pydantic import BaseModel, ValidationError
from ses_listen.intake import Intake
from ses_listen.problems import OVERLOADED, TOO_LONG, Answer
from ses_listen.request import Request, Send
from ses_listen.threads import Threads

from ses_service.api import problems, versions
from ses_service.api.authentication import AUTHENTICATOR, Authenticator
from ses_service.api.operations import OPERATIONS, Operation
from ses_service.api.problems import OverloadedProblem, Problem
from ses_service.api.render import Reply
from ses_service.http.admission import Admission
from ses_service.process.runtime import runtime
from ses_service.security.tokens import Principal

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


class Edge:
    """Answers all requests to the service; ``app`` answers what is not answered here."""

    def __init__(self, app: APIFlask) -> None:
        self._runtime = runtime(app)
        self._authenticator: Authenticator = app.extensions[AUTHENTICATOR]
        self.max_body: int = app.config["MAX_CONTENT_LENGTH"]
        self._flask = Threads(app, _THREADS, _WAITING, self.max_body, caller=self._who)
        self._admission = Admission(self._runtime.foreground)
        self._refusal = _answer(problems.reply(OverloadedProblem()))
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
        self._unfinished = deque[tuple[Iterator[Reply | float], Send]]()

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

    def reads(self, request: Request) -> bool:
        """Whether a request is looked at: refusing one must cost much less than answering it."""
        asked = None if request.query else self.operation(request.path, request.method)
        if asked is None or not self._admission.full(asked[0].waiting):
            return True
        who = self._caller(asked[0], request)
        if who is not None and who.is_node and not self._admission.full(asked[0].waiting, node=True):
            return True
        self._count(asked[0], self._refusal, time.perf_counter())
        return False

    def answer(self, request: Request, send: Send) -> None:
        """Have a request answered, here if nothing is doubtful about it."""
        came = time.perf_counter()
        if request.body is None:
            asyncio.get_running_loop().call_later(REFUSED_AFTER, send, self._refusal)
            return
        asked = None if request.query else self.operation(request.path, request.method)
        if asked is not None and self._answers(asked, request, came, send):
            return

        def counted(answer: Answer) -> None:
            if answer is self._refusal or answer is OVERLOADED or answer is TOO_LONG:
                self._runtime.metrics.count("other", "unknown", answer.status, came)
            send(answer)

        if request.path.startswith("/v1/") and not self._flask.has_room(request):
            counted(self._refusal)
        else:
            self._flask.begin(request, counted)

    def _answers(self, asked: Asked, request: Request, came: float, send: Send) -> bool:
        """Answer now or later; ``False``: Flask should say what is wrong."""
        (operation, parts), body = asked, request.body or b""
        who = self._caller(operation, request)
        if (
            who is None
            or who.role not in operation.roles
            or (operation.changes and who.reads_only)
            or len(body) > min(operation.max_body, self.max_body)
        ):
            return False
        read: tuple[BaseModel, ...] = ()
        if operation.model is not None:
            try:
                read = (operation.model.model_validate_json(body),)
            except ValidationError:
                return False
        elif body:
            return False

        def done(answer: Answer) -> None:
            self._count(operation, answer, came)
            send(answer)

        def use() -> None:
            self._begin(operation, who, (*read, *parts), done)

        if not self._admission.submit(operation.waiting, use, _turn_of(who), node=who.is_node):
            asyncio.get_running_loop().call_later(REFUSED_AFTER, done, self._refusal)
        return True

    def _count(self, operation: Operation, answer: Answer, came: float) -> None:
        self._runtime.metrics.count(operation.method, operation.route, answer.status, came)

    def close(self) -> None:
        """End the threads Flask runs in."""
        self._flask.close()

    def _begin(
        self, operation: Operation, who: Principal, arguments: tuple[BaseModel | str, ...], done: Send
    ) -> None:
        """Answer at once, or begin what takes several steps."""
        steps: Iterator[Reply | float] = iter(())
        step: Reply | float
        try:
            if operation.run_in_parts is None:
                step = operation.run(self._runtime, who, *arguments)
            elif len(self._unfinished) >= operation.waiting:
                raise OverloadedProblem
            else:
                steps = operation.run_in_parts(self._runtime, who, *arguments)
                step = next(steps)
        except Exception as error:
            step = problems.reply(problems.problem_of(error))
        if isinstance(step, Reply):
            done(_answer(step))
            return
        self._unfinished.append((steps, done))
        if len(self._unfinished) == 1:
            asyncio.get_running_loop().call_later(step, self._go_on)

    def _go_on(self) -> None:
        """Answer what is finished by now; those that came first are answered first."""
        while self._unfinished:
            steps, done = self._unfinished[0]
            try:
                step = next(steps)
            except Exception as error:
                step = problems.reply(problems.problem_of(error))
            if not isinstance(step, Reply):
                asyncio.get_running_loop().call_later(step, self._go_on)
                return
            self._unfinished.popleft()
            done(_answer(step))

    def _who(self, request: Request) -> str:
        """Return whose turn a request is: that of a user, node or token, else of an address.

        What watches the service has turns of its own, also where somebody else asks from the same address.
        """
        if request.path in _WATCHED:
            return f"{request.address} {request.path}"
        who = self._principal(request, _headers(request))
        return request.address if who is None else _turn_of(who)

    def _caller(self, operation: Operation, request: Request) -> Principal | None:
        headers = _headers(request)
        if headers is None:
            return None
        media_type = (headers["Content-Type"] or "").partition(";")[0].strip().lower()
        if operation.model is not None and media_type != "application/json":
            return None
        return self._principal(request, headers)

    def _principal(self, request: Request, headers: dict[str, str | None] | None) -> Principal | None:
        if headers is None or headers["Host"] is None or not request.ends.client:
            return None
        try:
            return self._authenticator.principal(headers.__getitem__, headers["Host"], request.address)
        except Problem:
            return None


def _answer(reply: Reply) -> Answer:
    return Answer(reply.status, reply.raw_headers(), reply.body)


def _turn_of(who: Principal) -> str:
    """Return whose turn this is: people have one, however many tokens they have."""
    return who.name if who.user is None else f"user {who.user}"


def _headers(request: Request) -> dict[str, str | None] | None:
    """Return the headers that name caller and request; ``None`` where one is there twice."""
    headers: dict[str, str | None] = dict.fromkeys(_READ_ONCE.values())
    for raw_name, value in request.headers:
        name = _READ_ONCE.get(raw_name)
        if name is not None:
            if headers[name] is not None:
                return None
            headers[name] = value.decode("latin-1")
    return headers
