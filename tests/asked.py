"""Requests as a connection hands them to an application, and what comes back."""

import asyncio
from collections.abc import Iterable
from typing import Any

from ses_listen.problems import Answer
from ses_listen.request import Application, Ends, Request

CLIENT = ("127.0.0.1", 40000)
SERVER = ("127.0.0.1", 8630)


def request_for(
    path: str,
    *,
    method: str = "GET",
    query: bytes = b"",
    headers: Iterable[tuple[bytes, bytes]] = (),
    body: bytes = b"",
    client: tuple[str, int] = CLIENT,
) -> Request:
    """Return a request that has arrived whole."""
    ends = Ends(client, SERVER, "http")
    return Request(method, path, path.encode(), query, list(headers), ends, body=body)


async def answer_to(app: Application, request: Request) -> Answer | None:
    """Return the answer; ``None`` where the client hung up before."""
    answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    if not app.reads(request):
        request.body = None
    app.answer(request, answered.set_result)
    await asyncio.wait((answered, request.gone()), return_when=asyncio.FIRST_COMPLETED)
    return answered.result() if answered.done() else None


class AsWsgi:
    """An application as WSGI has it, each request in a loop of its own."""

    def __init__(self, app: Application) -> None:
        self._app = app

    def __call__(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        """Answer one request."""
        headers = [
            (name.removeprefix("HTTP_").replace("_", "-").lower().encode(), str(value).encode("latin-1"))
            for name, value in environ.items()
            if name.startswith("HTTP_") or (name in ("CONTENT_TYPE", "CONTENT_LENGTH") and value)
        ]
        asked = request_for(
            environ["PATH_INFO"].encode("latin-1").decode(),
            method=environ["REQUEST_METHOD"],
            query=environ["QUERY_STRING"].encode("latin-1"),
            headers=headers,
            body=environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)),
        )
        answer = asyncio.run(answer_to(self._app, asked))
        assert answer is not None
        named = [(name.decode(), value.decode("latin-1")) for name, value in answer.headers]
        start_response(f"{answer.status} -", named)
        return [answer.body]
