"""Tells other services what begins and ends here, so that several active ones see each other's files.

One thread for each of them, which says what changed every 0.2 s, and that we live every 2 s.  After any
failure, and whenever the other side asks, everything is said again.  Nobody needs a peer: each service
decides alone from what it knows.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import structlog
import urllib3

from ses_service.ledger.counts import elements_of
from ses_service.ledger.placement import Placement, PlacementState
from ses_service.security.trust import Trust
from ses_service.state.ledger_access import LedgerAccess
from ses_service.threads.loop import Loop

PATH = "/v1/ledger/changes"
PACE = 0.2
SIGN_OF_LIFE = 2.0
_LARGEST = 400_000  # bytes of one message; a service takes 1 MiB
_MOST = 5000
_AT_ONCE = 1000
_CONNECT, _ANSWER = 1.0, 3.0
_RETRY = (0.5, 1.0, 2.0, 5.0)

_log = structlog.get_logger("ses_service")


class PeerError(Exception):
    """The peer did not take what it was told."""


@dataclass(frozen=True, slots=True)
class PeerStatus:
    """How the service stands with one peer.  ``told_at`` is monotonic time of its last good answer."""

    url: str
    up: bool
    detail: str
    told_at: float | None


class Peer:
    """One other service.  ``origin`` names this start of ours."""

    def __init__(
        self,
        url: str,
        token: str | None,
        origin: str,
        ledger: LedgerAccess,
        clock: Callable[[], float] = time.monotonic,
        trust: Trust | None = None,
    ) -> None:
        self.status = PeerStatus(url, up=False, detail="not told anything yet", told_at=None)
        self._url = url.rstrip("/") + PATH
        self._headers = {"Content-Type": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._origin = origin
        self._ledger = ledger
        self._clock = clock
        self._changed = ledger.follow()
        self._http = (trust or Trust()).pool()
        self._sequence = 0
        self._whole = True
        self._tries = 0
        self._loop = Loop(f"peer {url}", self.step)

    def start(self) -> None:
        """Begin to tell."""
        self._loop.start()

    def stop(self) -> None:
        """End."""
        self._loop.stop()
        self._http.clear()

    def step(self) -> float:
        """Tell what changed, if anything did; return the seconds to wait before the next time."""
        changed = self._ledger.drain(self._changed)
        told_at = self.status.told_at
        if not (self._whole or changed) and told_at and self._clock() - told_at < SIGN_OF_LIFE:
            return PACE
        try:
            if self._whole:
                self._tell(self._ledger.active_ids(), full=True)
                self._whole = False
            else:
                self._tell(changed, full=False)
        except PeerError as error:
            self._whole = True
            self._tries += 1
            if self._tries == 1:
                _log.warning("peer failed", peer=self.status.url, detail=str(error))
            self.status = PeerStatus(self.status.url, False, str(error), told_at)
            return _RETRY[min(self._tries, len(_RETRY)) - 1] * random.uniform(0.5, 1.0)
        if not self.status.up:
            _log.info("peer answers", peer=self.status.url)
        self._tries = 0
        self.status = PeerStatus(self.status.url, True, "told", self._clock())
        return PACE

    def _tell(self, ids: Iterable[str], *, full: bool) -> None:
        for message in _messages(self._changes(ids, full)):
            self._send(message, full=full)
            full = False

    def _changes(self, ids: Iterable[str], full: bool) -> Iterator[str]:
        rest = iter(ids)
        while part := list(islice(rest, _AT_ONCE)):
            for placement_id, placement in self._ledger.found(part):
                change = _change(placement_id, placement)
                if not full or change["state"] != PlacementState.ENDED:
                    yield json.dumps(change)

    def _send(self, changes: list[str], *, full: bool) -> None:
        self._sequence += 1
        body = (
            f'{{"origin": "{self._origin}", "sequence": {self._sequence}, "full": {json.dumps(full)}, '
            f'"changes": [{", ".join(changes)}]}}'
        )
        timeout = urllib3.Timeout(connect=_CONNECT, read=_ANSWER)
        try:
            answer = self._http.request(
                "POST", self._url, body=body.encode(), headers=self._headers, timeout=timeout, redirect=False
            )
            told: Any = json.loads(answer.data) if answer.status == 200 else None
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise PeerError(f"{type(error).__name__}: {error}") from None
        if not isinstance(told, dict):
            raise PeerError(f"HTTP status {answer.status}")
        if told.get("resync"):
            raise PeerError("it asks for everything again")


def _change(placement_id: str, placement: Placement | None) -> dict[str, Any]:
    """Return a placement as a peer wants it."""
    if placement is None or placement.state is PlacementState.ENDED or placement.idle:
        return {"placement_id": placement_id, "state": PlacementState.ENDED.value, "stripes": []}
    return {
        "placement_id": placement_id,
        "node": placement.subject.node,
        "stripes": elements_of(placement),
        "booked_at": placement.booked_at,
        "expected_bytes": placement.expected_bytes,
        "state": placement.state.value,
    }


def _messages(changes: Iterable[str]) -> Iterator[list[str]]:
    """Yield the changes in messages of a size a service takes; one message if there are none."""
    message: list[str] = []
    size, sent = 0, False
    for change in changes:
        if message and (size + len(change) > _LARGEST or len(message) >= _MOST):
            yield message
            message, size, sent = [], 0, True
        message.append(change)
        size += len(change) + 2
    if message or not sent:
        yield message
