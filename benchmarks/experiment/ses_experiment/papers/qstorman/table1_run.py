"""One run of Table 1: background, users at their moments, what they took."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from math import ceil
from random import Random

from ses_experiment import background
from ses_experiment.arms import Arm
from ses_experiment.machine import load
from ses_experiment.papers.qstorman.results import Result
from ses_experiment.papers.qstorman.schedule import ROUND_ROBIN, UNION_BASELINES, Draws, Run, draws
from ses_experiment.papers.qstorman.table1_users import MIB, SEEDS, Form, command
from ses_experiment.site import Shape, Stand
from ses_experiment.writers import Programs

LEAD_SECONDS = 3.0  # the background runs this long before the first user, so that the monitor has seen it
_READY_SECONDS = 0.5  # for the background's process to start
_SLOWEST = 20  # times the ideal time, before a run is given up
_HOMES = "table1"


class Table1Runner:
    """Runs what it is given on a stand; ``undo`` gets what it takes to undo what is made besides."""

    def __init__(
        self, stand: Stand, arm: Arm, form: Form, shape: Shape, requirement: str, seed: int, undo: ExitStack
    ) -> None:
        self._stand = stand
        self._form = form
        self._shape = shape
        self._seed = seed
        self._environment = {**stand.environment(arm), "SES_REQUIRE": requirement}
        self._limit = _SLOWEST * form.ideal_seconds
        self._branches = stand.storage.directories
        background.prepare(self._branches, ceil(max(form.bytes) / MIB))
        self._single = stand.mount_each(shape.union_options, undo)

    def play(self, run: Run) -> Result:
        """Run one run; raises DemoError when a program fails or does not end."""
        stand = self._stand
        stand.wait_idle()
        stand.place_by(UNION_BASELINES.get(run.baseline, "rand"))
        before, at = load(), datetime.now().astimezone().isoformat(timespec="seconds")
        chance = draws(run, self._seed, self._shape.branches, self._form.start_spread)
        places = sorted(range(run.users), key=lambda place: chance.starts[chance.order[place]])
        turns = self._turns(run, chance)
        lead = LEAD_SECONDS if background.LOADS[run.background] else 0.0
        begin = time.monotonic() + _READY_SECONDS
        with Programs(stand.work, stand.interrupts) as programs, self._others(run, chance, begin):
            for place in places:
                user, supported = chance.order[place], place < run.supported
                at_moment = begin + lead + chance.starts[user]
                argv = self._command(run, chance, user, "" if supported else turns)
                stand.interrupts.pause(max(0.0, at_moment - time.monotonic()))
                programs.start(argv, user, self._environment if supported else {}, stand.work)
            took = dict(zip(places, programs.wait(self._limit), strict=True))
        self._clear()
        seconds = [took[place] for place in range(run.users)]
        return Result(
            run, tuple(seconds[: run.supported]), tuple(seconds[run.supported :]), (before, load()), at
        )

    def _command(self, run: Run, chance: Draws, user: int, turns: str) -> Sequence[str]:
        first = str(self._branches[chance.first[user]] / background.FOLDER / background.INPUT)
        home = self._stand.home(_HOMES, user)
        if turns:
            seed = Random(f"{chance.background_seed} {user}").randrange(SEEDS)
            branches, rest = len(self._branches), f"/{home}"
            return command(first, self._single, self._form, rest, turns, branches, run.baseline, seed)
        return command(first, str(self._stand.storage.union / home), self._form)

    def _turns(self, run: Run, chance: Draws) -> str:
        """Write the file that a rule of a manager keeps, open to all users; return its path, or nothing."""
        if not run.baseline or run.baseline in UNION_BASELINES:
            return ""
        file = self._stand.work / "turns"
        kept = str(chance.turn) if run.baseline == ROUND_ROBIN else " ".join("0" for _ in self._branches)
        file.write_text(f"{kept}\n")
        file.chmod(0o666)
        return str(file)

    @contextmanager
    def _others(self, run: Run, chance: Draws, begin: float) -> Iterator[None]:
        """Let the streams of others run; they end with the block."""
        loads = background.LOADS[run.background]
        if not loads:
            yield
            return
        rates = (self._shape.read_rate * 1e6, self._shape.write_rate * 1e6)
        streams = background.schedule(
            loads, rates, self._form.stream_bytes, self._limit, Random(chance.background_seed)
        )
        with background.playing(streams, self._branches, self._stand.work, begin):
            yield

    def _clear(self) -> None:
        """Remove the users' files."""
        for branch in self._branches:
            for file in (branch / _HOMES).glob("*/*"):
                file.unlink()
