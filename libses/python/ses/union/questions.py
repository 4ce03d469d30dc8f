"""Looks at a union and asks the service about it again and again, so that who steers it waits for neither."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ses_client.client import ServiceClient
from ses_client.errors import NotFoundError, SesError
from ses_client.messages.requirements import Subject
from ses_client.unions import Union, read_union

from ses.union.steering import Loads

_EVERY_SECONDS = 1.0


def ask(client: ServiceClient, directory: Path, subject: Subject) -> Loads:
    """Return what the service knows of the union mounted there now.  Raises SesError."""
    mount = os.path.realpath(directory)
    unions = [element for element in client.elements().elements if element.backend == "mergerfs"]
    elements = [element for element in unions if element.mount_point == mount] or [
        element for element in unions if os.path.realpath(element.mount_point) == mount
    ]
    if not elements:
        raise NotFoundError(f"The site describes no mergerfs union at {directory}.")
    selection = client.select(subject, storage_system=elements[0].storage_system, limit=0)
    return Loads(elements, selection, time.monotonic())


@dataclass(frozen=True, slots=True)
class Answer:
    """The union as it was read, and what the service knows of it."""

    union: Union
    loads: Loads


class Questions:
    """Asks once a second in a thread of its own while the ``with`` block runs.  For one other thread."""

    def __init__(self, client: ServiceClient, directory: Path, subject: Subject) -> None:
        self._about = client, directory, subject
        self._answer: Answer | SesError = SesError("The service was not asked yet.")
        self._answered_at = time.monotonic()
        self._over = threading.Event()
        self._answered = threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()  # it is not waited for, as a service that hangs would be

    def latest(self) -> Answer:
        """Return the latest answer, and wait for the first; raises SesError if the latest was none."""
        self._answered.wait()
        answer = self._answer
        if isinstance(answer, SesError):
            raise answer
        return answer

    def silent_for(self) -> float:
        """Return the seconds since the latest answer, or since it began."""
        return time.monotonic() - self._answered_at

    def _ask(self) -> None:
        while not self._over.is_set():
            try:
                self._answer = Answer(read_union(self._about[1]), ask(*self._about))
                self._answered_at = self._answer.loads.at
            except SesError as error:
                self._answer = error
            self._answered.set()
            self._over.wait(_EVERY_SECONDS)
