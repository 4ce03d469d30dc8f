"""Routes of one area: who may call each, what is asked, what is answered, and what the contract says."""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import ParamSpec

from apiflask import APIBlueprint
from flask import Response
from pydantic import BaseModel
from ses_client.messages.message import Message

from ses_service.api import render
from ses_service.api.authentication import allow
from ses_service.api.contract import answers
from ses_service.api.render import Reply
from ses_service.security.tokens import EVERYONE, Role

P = ParamSpec("P")


class Area(APIBlueprint):
    """The routes of an area; ``tag`` is what the contract calls it, where that is not its name."""

    def __init__(self, name: str, tag: str | None = None) -> None:
        super().__init__(name, __name__, tag=tag or name)

    def answers(
        self,
        asked: str,
        message: type[Message],
        *statuses: int,
        roles: Iterable[Role] | None = EVERYONE,
        query: type[BaseModel] | None = None,
        body: type[BaseModel] | None = None,
        changes: bool | None = None,
        operation_id: str | None = None,
    ) -> Callable[[Callable[P, Message | Reply]], Callable[P, Response]]:
        """Let a view answer what is ``asked``, such as ``GET /v1/files``, with a message.

        It may answer with the errors ``statuses`` instead, beside those that every route may.  ``roles`` may
        call it, and ``caller()`` says who does; ``None``: nobody need say who they are.  The view gets the
        query, or the body, as ``asked``.  For ``changes`` see :func:`allow`.
        """
        method, path = asked.split(maxsplit=1)
        invalid = (422,) if query is not None else ()

        def decorator(view: Callable[P, Message | Reply]) -> Callable[P, Response]:
            @wraps(view)
            def answered(*args: P.args, **kwargs: P.kwargs) -> Response:
                answer = view(*args, **kwargs)
                return answer.response() if isinstance(answer, Reply) else render.answer(answer)

            decorated: Callable[P, Response] = answered
            responses = answers(message, *statuses, *invalid, body=body is not None)
            decorated = self.doc(responses=responses, operation_id=operation_id)(decorated)
            if query is not None:
                decorated = self.input(query, location="query", arg_name="asked")(decorated)
            if body is not None:
                decorated = self.input(body, arg_name="asked")(decorated)
            if roles is not None:
                decorated = allow(*roles, changes=changes)(decorated)
            registered: Callable[P, Response] = self.route(path, methods=[method])(decorated)
            return registered

        return decorator
