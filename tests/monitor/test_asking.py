"""Asking without waiting: the same answers and the same ends as when waited for, and nobody is held up."""

import select
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
from http_sources import http_source
from patience import wait_until
from smed_monitor.collectors.base import Arrival
from smed_monitor.collectors.http import HttpSource
from smed_monitor.config.settings import Target
from smed_monitor.core.errors import DeadlineError, ReplyError, UnreachableError
from smed_monitor.core.model import Outcome
from smed_monitor.scraping.scheduler import MAX_ASKED, Scheduler
from smed_monitor.scraping.scrape import Scraper

PAGE = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage"


def source(url: str, timeout_seconds: float = 30, **limits: int) -> HttpSource:
    """A source that has a connection."""
    opened = http_source(url, timeout_seconds, **limits)
    assert opened.ask() is None, "without a connection only read can ask"
    assert opened.read().body == b"page"
    return opened


def waited(asked: HttpSource, descriptor: int) -> list[Arrival]:
    """What came, each time something did, until there is no more to wait for."""
    arrivals: list[Arrival] = []
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    while not arrivals or arrivals[-1] is Arrival.PARTLY:
        assert poll.poll(30_000), "nothing came"
        arrivals.append(asked.arrived())
    return arrivals


@pytest.fixture
def connected(exporter: Any) -> HttpSource:
    exporter.answer = lambda connection: connection.sendall(PAGE)
    return source(exporter.url)


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        pytest.param(PAGE, b"page", id="length"),
        pytest.param(PAGE.replace(b"Content-Length: 4", b"content-length:4"), b"page", id="written-small"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
            b"hello world",
            id="chunks",
        ),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"", id="nothing"),
    ],
)
def test_an_answer_that_has_come_is_read_without_waiting(
    exporter: Any, connected: HttpSource, answer: bytes, body: bytes
) -> None:
    exporter.answer = lambda connection: connection.sendall(answer)
    for _ in range(3):
        descriptor = connected.ask()
        assert descriptor is not None
        before = time.monotonic()
        assert waited(connected, descriptor)[-1] is Arrival.WHOLE
        come = time.monotonic()
        exporter.answer, kept = None, exporter.answer  # whoever waits now, waits for ever
        reply = connected.read()
        exporter.answer = kept
        assert reply.body == body
        assert before <= reply.at.monotonic <= come, "when it came, not when it was read"
    assert len(exporter.connections) == 1


def test_an_answer_in_parts_is_whole_with_the_last(exporter: Any, connected: HttpSource) -> None:
    go_on = threading.Event()

    def in_parts(connection: socket.socket) -> None:
        for byte in range(len(PAGE)):
            connection.sendall(PAGE[byte : byte + 1])
            if byte == len(PAGE) - 2:
                assert go_on.wait(60)

    exporter.answer = in_parts
    descriptor = connected.ask()
    assert descriptor is not None
    assert connected.arrived() is Arrival.PARTLY, "with or without a part of it, at once"
    go_on.set()
    arrivals = waited(connected, descriptor)
    assert set(arrivals[:-1]) <= {Arrival.PARTLY}
    assert arrivals[-1] is Arrival.WHOLE
    assert connected.read().body == b"page"


def test_a_connection_closed_instead_of_an_answer_is_replaced_by_read(
    exporter: Any, connected: HttpSource
) -> None:
    exporter.answer = lambda connection: connection.shutdown(socket.SHUT_RDWR)
    descriptor = connected.ask()
    assert descriptor is not None
    assert waited(connected, descriptor) == [Arrival.NEVER]
    exporter.answer = lambda connection: connection.sendall(PAGE)
    assert connected.read().body == b"page"
    assert len(exporter.connections) == 2


def test_an_answer_longer_than_allowed_is_not_taken_in(exporter: Any) -> None:
    exporter.answer = lambda connection: connection.sendall(PAGE)
    asked = source(exporter.url, max_reply_bytes=100_000)
    exporter.answer = lambda connection: connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 500_000)
    descriptor = asked.ask()
    assert descriptor is not None
    assert waited(asked, descriptor)[-1] is Arrival.NEVER
    with pytest.raises(ReplyError, match=r"more than 100000 bytes \(max_reply_bytes\)"):
        asked.read()


def test_who_wants_to_speak_another_protocol_ends_no_asking(exporter: Any, connected: HttpSource) -> None:
    answer = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
    exporter.answer = lambda connection: connection.sendall(answer)
    descriptor = connected.ask()
    assert descriptor is not None
    assert waited(connected, descriptor)[-1] is Arrival.NEVER
    with pytest.raises(ReplyError, match="HTTP status 101 instead of 200"):
        connected.read()


def test_a_head_without_end_is_not_looked_through_again_and_again(
    exporter: Any, connected: HttpSource
) -> None:
    exporter.answer = lambda connection: connection.sendall(b"HTTP/1.1 200 OK\r\n" + b"X" * 300_000)
    descriptor = connected.ask()
    assert descriptor is not None
    arrivals = waited(connected, descriptor)
    assert arrivals[-1] is Arrival.NEVER, "given up long before the size limit of a reply"
    with pytest.raises(UnreachableError, match="does not answer by HTTP"):
        connected.read()


def test_the_time_to_answer_begins_with_the_question(exporter: Any) -> None:
    exporter.answer = lambda connection: connection.sendall(PAGE)
    asked = source(exporter.url, timeout_seconds=2)
    go_on = threading.Event()

    def late(connection: socket.socket) -> None:
        connection.sendall(PAGE[:20])
        assert go_on.wait(60)
        connection.sendall(PAGE[20:])

    exporter.answer = late
    assert asked.ask() is not None
    time.sleep(2.1)
    go_on.set()
    with pytest.raises(DeadlineError, match=r"within 2 s \(timeout_seconds\)"):
        asked.read()


class Asked:
    """A scraper that can be asked; answers at once, or never while it ``hangs``."""

    def __init__(self, name: str, *, hangs: bool = False) -> None:
        self.target = Target(name=name, collector="node_exporter", url="http://n/", timeout_seconds=0.5)
        self.hangs = hangs
        self.mine, self.theirs = socket.socketpair()
        self.asked_at = 0.0

    def ask(self) -> int | None:
        self.asked_at = time.monotonic()
        if not self.hangs:
            self.theirs.send(b"x")
        return self.mine.fileno()

    def arrived(self) -> Arrival:
        return Arrival.WHOLE if self.mine.recv(1) else Arrival.NEVER

    def scrape(self) -> Outcome:
        if not self.hangs:
            return Outcome(self.target.name, 0.0)
        time.sleep(max(0.0, self.asked_at + self.target.timeout_seconds - time.monotonic()))
        return Outcome(self.target.name, 0.5, reason=DeadlineError.reason, error="gave no answer")

    def close(self) -> None:
        self.mine.close()
        self.theirs.close()


class Watch:
    """A running scheduler and what it said."""

    def __init__(self, scrapers: list[Asked]) -> None:
        self.outcomes: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.scheduler = Scheduler(
            cast("list[Scraper]", scrapers),
            interval_seconds=0.05,
            concurrent_scrapes=4,
            publish=self._publish,
            skip=lambda _name: None,
        )
        self.scheduler.start()

    def _publish(self, outcome: Outcome) -> None:
        self.outcomes[outcome.target] += 1
        self.failures[outcome.target] += bool(outcome.reason)


@pytest.fixture
def watch() -> Iterator[Callable[[list[Asked]], Watch]]:
    running: list[Watch] = []

    def started(scrapers: list[Asked]) -> Watch:
        running.append(Watch(scrapers))
        return running[-1]

    yield started
    for watcher in running:
        watcher.scheduler.stop()


def test_targets_that_do_not_answer_hold_up_nobody(watch: Any) -> None:
    silent = [Asked(f"silent{number}", hangs=True) for number in range(40)]
    seen = watch([*silent, Asked("a"), Asked("b")])
    wait_until(lambda: min(seen.outcomes["a"], seen.outcomes["b"]) >= 100, "100 scrapes beside them")
    wait_until(lambda: all(seen.failures[asked.target.name] for asked in silent), "each is said to be late")
    assert not seen.failures["a"]


def test_more_silent_targets_than_are_waited_for_leave_half_of_the_pool_to_the_others(watch: Any) -> None:
    silent = [Asked(f"silent{number}", hangs=True) for number in range(MAX_ASKED + 10)]
    seen = watch([*silent, Asked("a"), Asked("b")])
    wait_until(lambda: all(seen.failures[asked.target.name] for asked in silent), "each is said to be late")
    before = seen.outcomes["a"]
    wait_until(lambda: seen.outcomes["a"] >= before + 20, "20 more scrapes beside them")


def test_a_target_that_answers_again_is_taken_up_again(watch: Any) -> None:
    silent = Asked("silent", hangs=True)
    seen = watch([silent, Asked("a")])
    wait_until(lambda: seen.failures["silent"] >= 2, "late, and late again")
    silent.hangs = False
    before = seen.outcomes["silent"]
    wait_until(lambda: seen.outcomes["silent"] >= before + 5, "it is scraped again")
