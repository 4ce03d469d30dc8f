"""Requests that wait for a thread: callers have turns, and none of them has all threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from ses_listen.threads import Threads
from ses_listen.turns import Turns

PATIENCE = 60.0


def _run(story: Coroutine[Any, Any, None]) -> None:
    """Run it in a thread: a browser of other tests leaves its event loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, story).result()


def test_places_go_round_and_no_caller_has_more_than_its_share() -> None:
    async def story() -> None:
        turns = Turns(3, 2, 100)
        asked = [(who, _taken(turns, who)) for who in "aaaaabbc"]

        def served() -> str:
            return "".join(who for who, turn in asked if turn.done())

        assert served() == "aab"
        for who, now in (("a", "aaab"), ("b", "aaabb"), ("a", "aaabbc")):
            turns.give_back(who)
            assert served() == now
        for who in "abcaa":
            turns.give_back(who)
        assert served() == "aaaaabbc"
        assert turns.count == 0

    _run(story())


def test_of_one_caller_only_so_many_wait_and_who_leaves_makes_room() -> None:
    async def story() -> None:
        turns = Turns(1, 1, 2)
        first, second, third = (_taken(turns, "a") for _ in range(3))
        assert turns.take("a") is None
        other = _taken(turns, "b")
        turns.leave("a", second)
        turns.leave("a", first)
        assert third.done()
        assert not other.done()
        turns.leave("a", third)
        assert other.done()

    _run(story())


def _taken(turns: Turns, who: str) -> asyncio.Future[None]:
    turn = turns.take(who)
    assert turn is not None
    return turn


class Server:
    """Threads in front of an application that waits, at /slow, until it is let go."""

    def __init__(self, threads: int = 4) -> None:
        self.go = threading.Event()
        self.begun: list[str] = []
        self.threads = Threads(self.app, threads, 64, 0)

    def app(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        self.begun.append(environ["REMOTE_ADDR"])
        if environ["PATH_INFO"] == "/slow":
            self.go.wait(PATIENCE)
        start_response("200 OK", [])
        return [b""]

    async def ask(self, path: str, who: str, gone: asyncio.Event | None = None) -> int | None:
        """Return the status; ``None`` where nothing was answered."""
        sent: list[Any] = []
        messages = [{"type": "http.request", "body": b""}]

        async def receive() -> Any:
            if messages:
                return messages.pop()
            await (gone or asyncio.Event()).wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http", "method": "GET", "path": path, "query_string": b"", "headers": [],
            "client": (who, 1),
        }  # fmt: skip
        await self.threads(scope, receive, send)
        return sent[0]["status"] if sent else None


async def _until(condition: Any) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("attacks", [4, 64])
def test_others_are_answered_while_one_callers_requests_take_for_ever(attacks: int) -> None:
    async def story() -> None:
        server = Server()
        asked = [asyncio.create_task(server.ask("/slow", "10.0.0.1")) for _ in range(attacks)]
        await _until(lambda: server.begun.count("10.0.0.1") == 2)
        async with asyncio.timeout(PATIENCE):
            assert await server.ask("/files", "10.0.0.2") == 200
        assert server.begun.count("10.0.0.1") == 2
        server.go.set()
        answers = await asyncio.gather(*asked)
        assert answers.count(200) == min(attacks, 2 + 48)
        assert answers.count(503) == attacks - answers.count(200)
        server.threads.close()

    _run(story())


def test_what_waits_is_dropped_when_the_client_hangs_up() -> None:
    async def story() -> None:
        server, gone = Server(), asyncio.Event()
        first = [asyncio.create_task(server.ask("/slow", "10.0.0.1")) for _ in range(2)]
        await _until(lambda: len(server.begun) == 2)
        dropped = [asyncio.create_task(server.ask("/slow", "10.0.0.1", gone)) for _ in range(20)]
        await asyncio.sleep(0)
        gone.set()
        assert await asyncio.gather(*dropped) == [None] * 20
        server.go.set()
        assert await asyncio.gather(*first) == [200, 200]
        assert len(server.begun) == 2
        server.threads.close()

    _run(story())
