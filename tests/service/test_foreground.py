"""Threads that can wait give way to the one that answers, and come to their turn all the same."""

import asyncio
import threading

from ses_service.http.admission import Admission
from ses_service.threads.foreground import Foreground


class NotedForeground(Foreground):
    """Keeps what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []

    def begin(self) -> None:
        super().begin()
        self.words.append("begin")

    def end(self) -> None:
        super().end()
        self.words.append("end")


def test_somebody_is_answered_from_the_first_turn_until_nobody_waits() -> None:
    foreground = NotedForeground()

    async def whole() -> None:
        admission = Admission(foreground)
        for _ in range(3):
            admission.submit(9, lambda: foreground.words.append("turn"))
        for _ in range(20):
            await asyncio.sleep(0)

    asyncio.run(whole())
    assert foreground.words == ["begin", "turn", "turn", "turn", "end"]


def test_who_gives_way_goes_on_though_somebody_is_answered_all_the_time() -> None:
    foreground = Foreground()
    foreground.begin()
    foreground.wait_for_idle()


def test_who_gives_way_is_not_held_up_when_nobody_is_answered() -> None:
    foreground = Foreground()
    foreground.begin()
    foreground.end()
    gone_on = threading.Event()
    thread = threading.Thread(target=lambda: [foreground.wait_for_idle(), gone_on.set()])
    thread.start()
    assert gone_on.wait(60)
    thread.join()
