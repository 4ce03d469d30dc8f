"""Threads whose calls end with the process: nobody waits for what they still do then.

``concurrent.futures.ThreadPoolExecutor`` joins its threads when the interpreter exits, so that one request
that takes minutes keeps a server from ending for as long.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from queue import SimpleQueue
from typing import Any, TypeVar

Result = TypeVar("Result")


class DaemonThreads(Executor):
    """Runs what is submitted, first come first served, in up to ``count`` daemon threads.

    What is submitted after ``shutdown`` raises RuntimeError.
    """

    def __init__(self, count: int, name: str) -> None:
        self._count = count
        self._name = name
        self._threads: list[threading.Thread] = []
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._ended = self._dropped = False

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Run ``fn`` when a thread is free; the future may be cancelled until then."""
        result: Future[Result] = Future()

        def call() -> None:
            if result.set_running_or_notify_cancel():
                try:
                    result.set_result(fn(*args, **kwargs))
                except BaseException as error:
                    result.set_exception(error)

        with self._lock:
            if self._ended:
                raise RuntimeError("submitted after shutdown")
            self._calls.put(call)
            if len(self._threads) < self._count:
                name = f"{self._name}_{len(self._threads)}"
                self._threads.append(threading.Thread(target=self._run, name=name, daemon=True))
                self._threads[-1].start()
        return result

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the threads end; ``cancel_futures``: what has not begun never does."""
        with self._lock:
            self._ended = True
            self._dropped = cancel_futures
            for _ in self._threads:
                self._calls.put(None)
        for thread in self._threads if wait else ():
            thread.join()

    def _run(self) -> None:
        while (call := self._calls.get()) is not None and not self._dropped:
            call()
            del call  # its request and its answer are not kept until the next
