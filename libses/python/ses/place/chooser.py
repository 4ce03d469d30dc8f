"""Chooses among directories and claims the choice, again and again, with what it saw for a second.

A look at directories, devices, and which claims have ended takes milliseconds (more with a process of its
own, where a mount may hang; 120 ms where no device was measured before), so that what it saw is kept for
``FRESH`` seconds, and nobody else waits for it.  Claims are those of the moment: those that others make and
release are seen at once.  What was released since the look may have written until then, so its bytes go on
counting until the next look; nothing is refused before there was one.  One thread at a time.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ses.place.claims import Claim, boot, clock, living
from ses.place.decision import Candidate, choose, core
from ses.place.directories import Directory, Looks, identity_of
from ses.place.ledger import MAX_CLAIMS, Ledger
from ses.place.request import (
    NothingFitsError,
    Placement,
    Request,
    no_claim_fits,
    nothing_fits,
    random_name,
)
from ses.place.samples import Sample, measure

FRESH = 1.0  # seconds
_MIN_LETTERS = 4  # in which two names hardly ever agree


class Chooser:
    """Chooses from directories with an open ledger.  A request names the same directories each time.

    ``keeps_why``: what was seen of each directory is kept with the claim, for ``ses explain``.
    """

    def __init__(self, ledger: Ledger, among: Sequence[str], *, keeps_why: bool = False) -> None:
        self._ledger = ledger
        self._keeps_why = keeps_why
        self._looks = Looks(among)
        self._until = 0.0  # of the monotonic clock
        self._candidates: list[Candidate] = []
        self._left_out: list[Candidate] = []
        self._known: dict[int, Claim] = {}  # which counted since the look
        self._living: dict[int, Claim] = {}
        self._version = -1
        self._held: dict[str, int] = {}
        self._seen: tuple[dict[str, Sample], list[Claim]] | None = None  # not yet written down

    def place(self, request: Request) -> Placement:
        """Choose a directory and claim it, in one step that no other caller comes between.

        Raises NothingFitsError, UsageError, or SesError where the ledger cannot be used.
        """
        if time.monotonic() < self._until:
            with suppress(NothingFitsError):
                return self._place(request)
        self._look(request.rates)
        return self._place(request)

    def release(self, claim: Claim) -> None:
        """End a claim; nothing where it is gone.  The next look shows how much was written."""
        with self._step():
            if claim.own_directory:
                self._ledger.change(claim, until=0.0, pid=None, job=None)
            else:
                self._ledger.remove(claim)
            if self._living.pop(claim.id, None):
                for candidate in self._candidates:
                    candidate.remove(claim)

    def _place(self, request: Request) -> Placement:
        refused: dict[str, Candidate] = {}
        while True:
            with self._step():
                self._count()
                if len(self._known) >= MAX_CLAIMS:
                    raise no_claim_fits(self._ledger.file)
                if request.after:
                    refused |= self._all_beside(request.after)
                usable = [entry for entry in self._candidates if entry.directory.given not in refused]
                label = request.mkdir if request.size is None else None
                room = None if label is None else self._ledger.room(request.user, label)
                row, judged = choose(usable, request.requirements, request.size, room)
                seen = [*judged, *self._left_out, *refused.values()]
                if row is not None:
                    chosen = usable[row].directory
                    claim = self._claim(chosen, request, room, seen)
                    if request.after:
                        self._leave(request.after)
            self._seen = None
            if row is None:
                raise nothing_fits(seen)
            try:
                _make(claim, chosen)
            except OSError as error:
                taken = isinstance(error, FileExistsError) and (request.mkdir or "").endswith(
                    _MIN_LETTERS * "X"
                )
                if not taken:  # by chance: another name is tried
                    why = f"no directory can be made there: {error.strerror}"
                    refused[chosen.given] = Candidate(directory=chosen, reason=why)
                with self._step():
                    self._ledger.remove(claim)
                self._version = -1
            else:
                return Placement(claim=claim, why=seen)

    @contextmanager
    def _step(self) -> Iterator[None]:
        """Write what is counted, or count anew."""
        try:
            with self._ledger.transaction():
                yield
        except BaseException:
            self._version = -1
            raise

    def _look(self, rates: Mapping[str, float]) -> None:
        claims = self._ledger.claims()
        seen = self._looks.now([claim.path for claim in claims if claim.own_directory], core)
        self._held = {path: held for entry in seen for path, held in entry.held.items()}
        self._left_out = [Candidate(directory=entry, reason=entry.reason) for entry in seen if entry.reason]
        usable = [entry for entry in seen if not entry.reason]
        devices = {entry.device for entry in usable}
        since = {**self._known, **{claim.id: claim for claim in claims}}.values()
        samples = measure(devices, self._ledger.samples(boot()), began=_began(since))
        self._candidates = [_candidate(entry, samples.get(entry.device), rates) for entry in usable]
        lives = {claim.id for claim in living(claims)}
        self._seen = samples, [claim for claim in claims if claim.id not in lives]
        self._known, self._version = {}, -1
        self._until = time.monotonic() + FRESH

    def _count(self) -> None:
        """Write down what was seen, and count the claims anew where another wrote since."""
        if self._seen is not None:
            samples, ended = self._seen
            self._ledger.keep(samples, boot())
            self._ledger.end(ended, self._held)
        version = self._ledger.version()
        if version == self._version:
            return
        self._living = {claim.id: claim for claim in self._ledger.claims() if not claim.is_released}
        self._known |= self._living
        for candidate in self._candidates:
            candidate.update(streams=0, reserved=0, last=0)
            for claim in self._known.values():
                candidate.add(claim, lives=claim.id in self._living)
        self._version = version

    def _all_beside(self, claim: Claim) -> dict[str, Candidate]:
        """Return the directories of a claim's file system."""
        seen = [entry.directory for entry in self._candidates]
        there = [entry for entry in seen if claim.is_on(entry.path, entry.file_system)]
        why = f"it is where claim {claim.id} is"
        return {entry.given: Candidate(directory=entry, reason=why) for entry in there}

    def _leave(self, claim: Claim) -> None:
        """Have a claim stand for what was written, as far as that is known."""
        written = self._held.get(claim.path, claim.bytes) if claim.own_directory else claim.bytes
        self._ledger.change(claim, bytes=written, streams=0)
        self._version = -1

    def _claim(
        self, chosen: Directory, request: Request, room: int | None, seen: Sequence[Candidate]
    ) -> Claim:
        path, why = chosen.path, ""
        if self._keeps_why:
            why = json.dumps({"chosen": chosen.given, "why": [entry.as_json() for entry in seen]})
        if request.mkdir is not None:
            path = f"{path.rstrip('/')}/{random_name(request.mkdir)}"
        stands_for = {
            "id": 0,
            "user": request.user,
            "path": path,
            "base": chosen.path,
            "file_system": chosen.file_system,
            "device": chosen.device,
            "boot": boot(),
            "bytes": request.size or room or 0,
            "made": time.time(),
            "at": clock(),
            "streams": 1,
            "size": request.size,
            "label": request.mkdir,
            "asked": request.asked,
            "why": why,
        }
        claim = self._ledger.add(Claim(**request.holder | stands_for))
        self._known[claim.id] = self._living[claim.id] = claim
        for candidate in self._candidates:
            candidate.add(claim)
        return claim


def _began(claims: Iterable[Claim]) -> dict[str, list[float]]:
    """Return when the claims of each device were made; those that ended since the last look are there."""
    began: dict[str, list[float]] = {}
    for claim in claims:
        if claim.boot == boot():
            began.setdefault(claim.device, []).append(claim.at)
    return began


def _candidate(seen: Directory, sample: Sample | None, rates: Mapping[str, float]) -> Candidate:
    load = None if sample is None or sample.use is None else sample
    return Candidate(directory=seen, load=load, rate=rates.get(seen.given, sample.gives if sample else None))


def _make(claim: Claim, chosen: Directory) -> None:
    """Make the claim's directory in the one that was looked at, whatever its name leads to by now."""
    if not claim.own_directory:
        return
    here = os.open(chosen.path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if identity_of(os.fstat(here)) != chosen.identity:
            raise OSError(0, "it was exchanged meanwhile")
        name = Path(claim.path).name
        os.mkdir(name, 0o700, dir_fd=here)
        if claim.user != os.geteuid():
            os.chown(name, claim.user, -1, dir_fd=here, follow_symlinks=False)
    finally:
        os.close(here)
