"""Whatever a target does, asking it ends in time, within its size, with a reason."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from http_sources import http_source
from patience import wait_until
from smed_monitor.core.errors import DeadlineError, ReplyError, UnreachableError

# A read that is not cut off would last as long as the misbehaving exporter: an hour.
HOUR = 3600


def test_the_whole_body_arrives_and_the_connection_is_kept(exporter: Any, answer_whole: Any) -> None:
    exporter.answer = answer_whole(b"x" * 500_000)
    asked = http_source(exporter.url)
    first, second = asked.read(), asked.read()
    assert len(first.body) == len(second.body) == 500_000
    assert second.at.monotonic > first.at.monotonic
    assert len(exporter.connections) == 1
    asked.close()


def test_a_chunked_body_is_put_together(exporter: Any) -> None:
    exporter.answer = lambda c: c.sendall(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"
    )
    assert http_source(exporter.url).read().body == b"hello world"


def test_a_kept_connection_that_the_target_closed_is_replaced_without_an_error(
    exporter: Any, answer_whole: Any
) -> None:
    def answer_and_close(connection: socket.socket) -> None:
        answer_whole(b"page")(connection)
        connection.shutdown(socket.SHUT_RDWR)

    exporter.answer = answer_and_close
    asked = http_source(exporter.url)
    assert [asked.read().body for _ in range(3)] == [b"page"] * 3


def drip(head: bytes, piece: bytes, pause: float) -> Callable[[socket.socket], None]:
    """Send ``head``, then ``piece`` again and again, as an exporter gone mad would."""

    def answer(connection: socket.socket) -> None:
        connection.sendall(head)
        until = time.monotonic() + HOUR
        while time.monotonic() < until:
            connection.sendall(piece)
            time.sleep(pause)

    return answer


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(drip(b"", b"", 0.01), id="silence"),
        pytest.param(drip(b"HTTP/1.1 200 OK\r\n", b"X", 0.01), id="head-byte-by-byte"),
        pytest.param(drip(b"HTTP/1.1 200 OK\r\n\r\n", b"x\n", 0.01), id="body-byte-by-byte"),
        pytest.param(drip(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", b"", 0.01), id="body-too-short"),
    ],
)
def test_a_target_that_does_not_come_to_an_end_is_cut_off(
    exporter: Any, answer: Callable[[socket.socket], None]
) -> None:
    exporter.answer = answer
    with pytest.raises(DeadlineError, match=r"within 0\.3 s \(timeout_seconds\)"):
        http_source(exporter.url, timeout_seconds=0.3).read()


def test_a_question_beyond_the_deadline_it_shares_with_others_is_not_asked(
    exporter: Any, answer_whole: Any
) -> None:
    exporter.answer = answer_whole(b"page")
    asked = http_source(exporter.url)
    assert asked.read(time.monotonic() + 10).body == b"page"
    with pytest.raises(DeadlineError, match=r"within 10 s \(timeout_seconds\)"):
        asked.read(time.monotonic() - 1)
    assert exporter.requests == 1
    asked.close()


def test_a_body_that_breaks_off_is_not_taken_for_a_page(exporter: Any) -> None:
    def break_off(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
        connection.shutdown(socket.SHUT_RDWR)

    exporter.answer = break_off
    with pytest.raises(UnreachableError, match="cannot be reached"):
        http_source(exporter.url).read()


def test_an_endless_reply_is_cut_off_at_the_size_limit(exporter: Any) -> None:
    exporter.answer = drip(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65536, 0)
    with pytest.raises(ReplyError, match=r"more than 1048576 bytes \(max_reply_bytes\)"):
        http_source(exporter.url).read()


@pytest.mark.parametrize(("chunks", "fits"), [(16, True), (17, False)])
def test_the_size_limit_holds_for_all_chunks_together(exporter: Any, chunks: int, fits: bool) -> None:
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    exporter.answer = lambda connection: connection.sendall(head + chunk * chunks + b"0\r\n\r\n")
    if fits:
        assert len(http_source(exporter.url).read().body) == 1048576
    else:
        with pytest.raises(ReplyError, match=r"more than 1048576 bytes \(max_reply_bytes\)"):
            http_source(exporter.url).read()


def test_after_a_cut_the_next_question_starts_afresh(exporter: Any, answer_whole: Any) -> None:
    exporter.answer = drip(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", b"", 0.01)
    asked = http_source(exporter.url, timeout_seconds=0.3)
    with pytest.raises(DeadlineError):
        asked.read()
    exporter.answer = answer_whole(b"page")
    bodies: list[bytes] = []

    def answered() -> bool:
        with contextlib.suppress(DeadlineError):  # a busy machine may not answer in 0.3 s
            bodies.append(asked.read().body)
        return bool(bodies)

    wait_until(answered, "it is answered")
    assert bodies == [b"page"]


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        ("500 Oops", ""),
        ("404 Not Found", ""),
        ("302 Found", "Location: http://127.0.0.1:1/\r\n"),
        ("204 None", ""),
        ("101 Switching Protocols", "Connection: Upgrade\r\nUpgrade: h2c\r\n"),
    ],
)
def test_another_status_than_200_is_an_error_and_redirects_are_not_followed(
    exporter: Any, answer_whole: Any, status: str, headers: str
) -> None:
    exporter.answer = answer_whole(b"", status, headers)
    with pytest.raises(ReplyError, match=f"HTTP status {status.split()[0]} instead of 200"):
        http_source(exporter.url).read()
    assert exporter.requests == 1


def test_something_that_is_not_http_is_unreachable(exporter: Any) -> None:
    exporter.answer = lambda c: c.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
    with pytest.raises(UnreachableError, match="cannot be reached"):
        http_source(exporter.url).read()


def test_a_refused_connection_says_so(exporter: Any) -> None:
    exporter.close()
    with pytest.raises(UnreachableError, match="cannot be reached: Connection refused"):
        http_source(exporter.url).read()


def test_an_unknown_host_says_so() -> None:
    with pytest.raises(UnreachableError, match="cannot be reached"):
        http_source("http://no-such-host.invalid:9100/metrics", timeout_seconds=30).read()


def test_no_thread_is_left_behind(exporter: Any, answer_whole: Any) -> None:
    exporter.answer = answer_whole(b"page")
    asked = http_source(exporter.url)
    for _ in range(5):
        asked.read()
    wait_until(
        lambda: not [t for t in threading.enumerate() if isinstance(t, threading.Timer)],
        "the timers of finished questions end",
    )
