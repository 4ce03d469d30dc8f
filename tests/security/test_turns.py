"""Requests that wait for a thread, or run: callers have turns, none has all, and none runs for ever."""

import asyncio
import json
import threading
import time
from collections.abc import Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from asked import answer_to, request_for
from ses_listen import deadline
from ses_listen.problems import Answer
from ses_listen.threads import Threads
from ses_listen.turns import Turns

PATIENCE = 60.0


def _run(story: Coroutine[Any, Any, None]) -> None:
    """Run it in a thread: a browser of other tests leaves its event loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, story).result()


def test_places_go_round_and_no_caller_has_more_than_its_share() -> None:
    async def story() -> None:
        turns = Turns(3, 2, 100, lambda: 0.0)
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


def test_the_next_place_is_for_who_had_one_for_the_shortest_time_lately() -> None:
    async def story() -> None:
        now = [0.0]
        turns = Turns(1, 1, 100, lambda: now[0])

        def ends(who: str, seconds: float) -> None:
            now[0] += seconds
            turns.give_back(who)

        heavy = [_taken(turns, "heavy") for _ in range(4)]
        light = [_taken(turns, "light") for _ in range(2)]
        third = _taken(turns, "third")
        ends("heavy", 5)
        assert light[0].done()
        ends("light", 0.1)
        assert third.done(), "has had none"
        ends("third", 1)
        assert light[1].done(), "though the others have waited for longer"
        ends("light", 0.1)
        assert heavy[1].done()
        now[0] += 365 * 86400
        turns.give_back("heavy")
        assert heavy[2].done()
        _taken(turns, "third")
        ends("heavy", 0.001)
        assert not heavy[3].done(), "what was long ago is forgotten, what was just now is not"

    _run(story())


def test_who_waits_for_most_makes_room_for_others() -> None:
    async def story() -> None:
        turns = Turns(1, 1, 100)
        asked = {who: [_taken(turns, who) for _ in range(5)] for who in "ab"}
        assert turns.count == 10
        assert not turns.make_room("a", 10), "its own make no room for it"
        assert turns.make_room("c", 10)
        assert [turn.cancelled() for turn in asked["b"]] == [False] * 4 + [True]
        others = [_taken(turns, "c")]
        while turns.make_room("c", 10):
            others.append(_taken(turns, "c"))
        assert len(others) == 3, "as many as anybody has"
        assert turns.count == 10
        assert all(not turn.done() for turn in others)
        for _ in range(10):
            who = next(iter(turns._has))
            turns.give_back(who)
        assert turns.count == 0
        assert all(turn.done() for turn in others)

    _run(story())


def test_of_one_caller_only_so_many_wait_and_who_leaves_makes_room() -> None:
    async def story() -> None:
        turns = Turns(1, 1, 2, lambda: 0.0)
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
    """Threads in front of an application that waits, at /slow, until it is let go; /work ends when told.

    At /change it may be told only once it was let go.
    """

    def __init__(self, threads: int = 4, seconds: float = PATIENCE) -> None:
        self.go = threading.Event()
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.threads = Threads(self.app, threads, 64, 0, seconds=seconds)

    def app(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        self.begun.append(environ["REMOTE_ADDR"])
        try:
            self._work(environ["PATH_INFO"])
        finally:
            self.ended.append(environ["REMOTE_ADDR"])
        start_response("200 OK", [])
        return [b""]

    def _work(self, path: str) -> None:
        if path == "/slow":
            self.go.wait(PATIENCE)
        if path == "/change":
            with deadline.of_this_thread(None):
                self.go.wait(PATIENCE)
                deadline.check()
        if path in ("/work", "/change"):
            _look_without_end()

    async def ask(self, path: str, who: str, gone: asyncio.Event | None = None) -> int | None:
        """Return the status; ``None`` where nothing was answered."""
        answer = await self.answer(path, who, gone)
        return None if answer is None else answer.status

    async def answer(self, path: str, who: str, gone: asyncio.Event | None = None) -> Answer | None:
        """Return what is sent."""
        request = request_for(path, client=(who, 1))
        waiting = None if gone is None else asyncio.ensure_future(gone.wait())
        if waiting is not None:
            waiting.add_done_callback(lambda _: request.hang_up())
        return await answer_to(self.threads, request)


def _look_without_end() -> None:
    """For longer than anybody here waits for its end."""
    ends = time.monotonic() + 5 * PATIENCE
    while time.monotonic() < ends:
        with suppress(Exception):  # as libraries do
            deadline.check()
        time.sleep(0.01)


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


def test_two_callers_who_fill_all_places_keep_no_third_out() -> None:
    async def story() -> None:
        server = Server()
        many = [
            asyncio.create_task(server.ask("/slow", f"10.0.0.{number}"))
            for _ in range(60)
            for number in (1, 2)
        ]
        await _until(lambda: len(server.begun) == 4)
        third = asyncio.create_task(server.ask("/files", "10.0.0.3"))
        await asyncio.sleep(0)
        server.go.set()
        assert await third == 200
        answers = await asyncio.gather(*many)
        assert (answers.count(200), answers.count(503)) == (63, 57)
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


@pytest.mark.parametrize("path", ["/slow", "/work", "/change"])
def test_a_request_that_takes_too_long_is_refused_and_holds_the_place_of_its_caller_until_it_ends(
    path: str,
) -> None:
    async def story() -> None:
        server = Server(seconds=1.0)
        asked = [asyncio.create_task(server.answer(path, "10.0.0.1")) for _ in range(2)]
        for answer in await asyncio.gather(*asked):
            assert answer is not None
            assert answer.status == 503
            assert (b"retry-after", b"10") in answer.headers
            assert json.loads(answer.body)["type"] == "urn:qstorman:problem:took-too-long"
            assert "Ask for less at once" in json.loads(answer.body)["detail"]
        if path != "/work":
            third = asyncio.create_task(server.ask("/files", "10.0.0.1"))
            assert await server.ask("/files", "10.0.0.2") == 200
            assert server.begun.count("10.0.0.1") == 2, "it waits for the place of one that has not ended"
            server.go.set()
            assert await third == 200
        await _until(lambda: server.ended.count("10.0.0.1") == (2 if path == "/work" else 3))
        server.threads.close()

    _run(story())


def test_what_runs_stops_when_the_client_hangs_up() -> None:
    async def story() -> None:
        server, gone = Server(), asyncio.Event()
        asked = [asyncio.create_task(server.ask("/work", "10.0.0.1", gone)) for _ in range(2)]
        await _until(lambda: len(server.begun) == 2)
        gone.set()
        assert await asyncio.gather(*asked) == [None] * 2
        await _until(lambda: len(server.ended) == 2)
        server.threads.close()

    _run(story())


def test_a_request_that_is_known_to_take_long_may() -> None:
    async def story() -> None:
        server = Server()
        server.threads = Threads(_long, 4, 64, 0, seconds=1.0)
        assert await server.ask("/", "10.0.0.1") == 200
        server.threads.close()

    _run(story())


def _long(_environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    deadline.extend(PATIENCE)
    time.sleep(1.1)
    deadline.check()
    start_response("200 OK", [])
    return [b""]


def test_no_request_that_has_ended_goes_on_again() -> None:
    limit = deadline.Deadline(PATIENCE)
    limit.end()
    limit.extend(PATIENCE)
    assert limit.left == 0
