"""Chooses among directories and claims the choice, again and again, with what it saw for a second.

A look at directories and devices takes milliseconds (a process of its own; 120 ms where no device was
measured before), so that what it saw is kept for ``FRESH`` seconds.  Claims are those of the moment: those of
others are seen at once.  What ended since the look may have written until then, so its bytes go on counting
until the next look; nothing is refused before there was one.  One thread at a time.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ses.place.claims import Claim, Holder, boot, jobs_running
from ses.place.decision import Candidate, Judged, choose, core
from ses.place.directories import Directory, end_lookers, look_at
from ses.place.ledger import Ledger
from ses.place.request import (
    NothingFitsError,
    Placement,
    Request,
    label_of,
    nothing_fits,
    random_name,
    seen_json,
)
from ses.place.samples import Sample, clock, measure
from ses.quantities import written

FRESH = 1.0  # seconds
_MIN_LETTERS = 4  # in which two names hardly ever agree


@dataclass(slots=True)
class _Counted:
    """A directory, and what claims stand for there: see ``Candidate``."""

    seen: Directory
    sample: Sample | None
    streams: int = 0
    reserved: int = 0
    last: int = 0

    def add(self, claim: Claim, *, lives: bool = True) -> None:
        """Count a claim, where it is on this device or file system."""
        if claim.is_on(self.seen.path, self.seen.device):
            self.streams += claim.streams if lives else 0
            self.last = max(self.last, claim.id)
        if claim.is_on(self.seen.path, self.seen.file_system):
            self.reserved += max(0, claim.bytes - self.seen.held.get(claim.path, 0))

    def remove(self, claim: Claim) -> None:
        """Count its stream no more."""
        self.streams -= claim.streams * claim.is_on(self.seen.path, self.seen.device)

    def candidate(self, rates: Mapping[str, float]) -> Candidate:
        """Return it as the core compares it."""
        load, learned = (self.sample.load, self.sample.learned.rate) if self.sample else (None, None)
        rate = rates.get(self.seen.given, learned)
        return Candidate(self.seen, self.streams, self.reserved, self.last, load, rate)


class Chooser:
    """Chooses from directories with an open ledger.  A request names the same directories each time.

    ``keeps_why``: what was seen of each directory is kept with the claim, for ``ses explain``.
    """

    def __init__(self, ledger: Ledger, among: Sequence[str], *, keeps_why: bool = False) -> None:
        self._ledger = ledger
        self._keeps_why = keeps_why
        self._among = list(dict.fromkeys(among))
        self._until = 0.0  # of the monotonic clock
        self._running: Mapping[str, bool] = {}
        self._counted: list[_Counted] = []
        self._left_out: list[Directory] = []
        self._known: dict[int, Claim] = {}  # which counted since the look
        self._living: dict[int, Claim] = {}
        self._version = -1
        self._held: dict[str, int] = {}
        self._measured = True

    def place(self, request: Request) -> Placement:
        """Choose a directory and claim it, in one step that no other caller comes between.

        Raises NothingFitsError, UsageError, or SesError where the ledger cannot be used.
        """
        if time.monotonic() < self._until:
            with suppress(NothingFitsError):
                return self._place(request)
        self._look()
        try:
            return self._place(request)
        finally:
            end_lookers()

    def release(self, claim: Claim) -> None:
        """End a claim; nothing where it is gone.  The next look shows how much was written."""
        with self._step():
            if claim.own_directory:
                self._ledger.change(replace(claim, holder=Holder(0.0)))
            else:
                self._ledger.remove([claim])
            if self._living.pop(claim.id, None):
                for entry in self._counted:
                    entry.remove(claim)

    def _place(self, request: Request) -> Placement:
        refused: dict[str, Directory] = {}
        while True:
            with self._step():
                self._count()
                if request.after:
                    refused |= self._all_beside(request.after)
                usable = [entry for entry in self._counted if entry.seen.given not in refused]
                candidates = [entry.candidate(request.rates or {}) for entry in usable]
                label = request.mkdir if request.size is None else None
                room = None if label is None else self._ledger.room(request.user, label)
                row, judged = choose(candidates, request.requirements, request.size, room)
                chosen = None if row is None else usable[row].seen
                why = self._why(request, chosen, judged, refused)
                claim = None if chosen is None else self._claim(chosen, request, room, why)
                if claim and request.after:
                    self._leave(request.after)
            if claim is None or chosen is None:
                raise nothing_fits(judged, [*self._left_out, *refused.values()])
            try:
                _make(claim, chosen)
            except OSError as error:
                taken = isinstance(error, FileExistsError) and (request.mkdir or "").endswith(
                    _MIN_LETTERS * "X"
                )
                if not taken:  # by chance: another name is tried
                    why = f"no directory can be made there: {error.strerror}"
                    refused[chosen.given] = replace(chosen, reason=why)
                with self._step():
                    self._ledger.remove([claim])
                self._version = -1
            else:
                return Placement(claim, judged, [*self._left_out, *refused.values()])

    @contextmanager
    def _step(self) -> Iterator[None]:
        """Write what is counted, or count anew."""
        try:
            with self._ledger.transaction():
                yield
        except BaseException:
            self._version = -1
            raise

    def _look(self) -> None:
        claims = self._ledger.claims()

        def meanwhile() -> None:
            core()
            self._running = jobs_running(claim.holder.job for claim in claims if claim.holder.job)

        seen = look_at(self._among, [claim.path for claim in claims if claim.own_directory], meanwhile)
        self._held = {path: held for entry in seen for path, held in entry.held.items()}
        self._measured = False
        self._left_out = [entry for entry in seen if entry.reason]
        usable = [entry for entry in seen if not entry.reason]
        devices = {entry.device for entry in usable}
        since = {**self._known, **{claim.id: claim for claim in claims}}.values()
        samples = measure(devices, self._ledger.samples(boot()), began=_began(since))
        with self._ledger.transaction():
            self._ledger.keep(samples, boot())
        self._counted = [_Counted(entry, samples.get(entry.device)) for entry in usable]
        self._known, self._version = {}, -1
        self._until = time.monotonic() + FRESH

    def _count(self) -> None:
        """Count the claims anew where another wrote since, and forget those that have ended."""
        version = self._ledger.version()
        if version == self._version:
            return
        now = time.time()
        claims = self._ledger.claims()
        ended = [entry for entry in claims if entry.has_ended(now, self._running)]
        if not self._measured:
            learn(self._ledger, ended, self._held)
            self._measured = True
            self._ledger.remove(ended)
        else:  # what was written into others is seen by the next look
            self._ledger.remove(entry for entry in ended if not entry.own_directory)
        self._living = {entry.id: entry for entry in claims}
        for entry in ended:
            del self._living[entry.id]
        self._known |= self._living
        self._counted = [_Counted(entry.seen, entry.sample) for entry in self._counted]
        for counted in self._counted:
            for claim in self._known.values():
                counted.add(claim, lives=claim.id in self._living)
        self._version = version

    def _all_beside(self, claim: Claim) -> dict[str, Directory]:
        """Return the directories of a claim's file system."""
        why = f"it is where claim {claim.id} is"
        there = [
            entry.seen for entry in self._counted if claim.is_on(entry.seen.path, entry.seen.file_system)
        ]
        return {entry.given: replace(entry, reason=why) for entry in there}

    def _leave(self, claim: Claim) -> None:
        """Have a claim stand for what was written, as far as that is known."""
        written = self._held.get(claim.path, claim.bytes) if claim.own_directory else claim.bytes
        self._ledger.change(replace(claim, bytes=written, streams=0))
        self._version = -1

    def _why(
        self,
        request: Request,
        chosen: Directory | None,
        judged: Sequence[Judged],
        refused: Mapping[str, Directory],
    ) -> str:
        if chosen is None or not self._keeps_why:
            return ""
        asked = [written(requirement) for requirement in request.requirements]
        seen = seen_json(judged, [*self._left_out, *refused.values()])
        return json.dumps({"asked": asked, "chosen": chosen.given, "why": seen})

    def _claim(self, chosen: Directory, request: Request, room: int | None, why: str) -> Claim:
        path = chosen.path
        if request.mkdir is not None:
            path = f"{path.rstrip('/')}/{random_name(request.mkdir)}"
        claim = Claim(
            *(0, request.user, path, chosen.path, chosen.file_system, chosen.device, boot()),
            *((request.size or room or 0), time.time(), request.holder, 1, request.size, request.text, why),
        )
        claim = replace(claim, id=self._ledger.add(claim))
        self._known[claim.id] = self._living[claim.id] = claim
        for counted in self._counted:
            counted.add(claim)
        return claim


def _began(claims: Iterable[Claim]) -> dict[str, list[float]]:
    """Return when the claims of each device were made; those that ended since the last look are there."""
    began: dict[str, list[float]] = {}
    for claim in claims:
        if claim.boot == boot():
            began.setdefault(claim.device, []).append(clock() - (time.time() - claim.made))
    return began


def learn(ledger: Ledger, ended: Iterable[Claim], held: Mapping[str, int]) -> None:
    """Note what was written into directories made for claims that have ended."""
    for claim in ended:
        label = label_of(claim)
        if label is not None and (size := held.get(claim.path)) is not None:
            ledger.learn(claim.user, label, size)


def _make(claim: Claim, chosen: Directory) -> None:
    """Make the claim's directory in the one that was looked at, whatever its name leads to by now."""
    if not claim.own_directory:
        return
    here = os.open(chosen.path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found = os.fstat(here)
        if (found.st_dev, found.st_ino) != chosen.identity:
            raise OSError(0, "it was exchanged meanwhile")
        name = Path(claim.path).name
        os.mkdir(name, 0o700, dir_fd=here)
        if claim.user != os.geteuid():
            os.chown(name, claim.user, -1, dir_fd=here, follow_symlinks=False)
    finally:
        os.close(here)
