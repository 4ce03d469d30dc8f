"""Runs that people start in the portal, kept for the process of their owner that takes them.

A person's are one file, written when one is started, taken, to be stopped or over; how far it is, and who
asks for runs, is in memory only.  A run is given out once.
"""

import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import structlog
from ses_client.messages.runs import NearRun, RunCount, RunServer

from ses_service.security.whole_file import write_whole

MAX_OPEN = 20
"""Runs of one person that are not over."""

MAX_RUNS = 50
"""Runs of one person that are kept."""

LOST_AFTER = 60.0
SERVED_FOR = 30.0
"""Seconds after which a run, or who serves runs, is taken to be gone."""

_MAX_SERVERS = 20
_WAITING, _RUNNING, _STOPPED, _LOST = "waiting", "running", "stopped", "lost"

_log = structlog.get_logger("ses_service")


class TooManyRunsError(Exception):
    """A person has as many runs that are not over as one may have."""


class UnknownRunError(Exception):
    """The person has no run of this id."""


class Runs:
    """The runs of all people.  All methods may be called from any thread; those that change raise OSError."""

    def __init__(self, folder: Path | None, clock: Callable[[], float]) -> None:
        """Read what is kept; without a folder in memory only."""
        self._folder = folder
        self._clock = clock
        self._lock = threading.Lock()
        self._runs: dict[str, Sequence[NearRun]] = {} if folder is None else dict(_read(folder))
        self._servers: dict[str, dict[tuple[str, str], RunServer]] = {}

    def of(self, user: str) -> list[NearRun]:
        """Return a person's runs, the latest first."""
        with self._lock:
            return [self._as_it_is(run) for run in self._runs.get(user, ())]

    def servers(self, user: str) -> list[RunServer]:
        """Return who asked for a person's runs lately, or runs one."""
        since = self._clock() - SERVED_FOR
        with self._lock:
            return [server for server in self._servers.get(user, {}).values() if server.seen_at >= since]

    def counts(self) -> list[RunCount]:
        """Return how many runs each person has."""
        with self._lock:
            users = sorted(self._runs)
        counts = []
        for user in users:
            states = [run.state for run in self.of(user)]
            waiting, running = states.count(_WAITING), states.count(_RUNNING)
            counts.append(
                RunCount(
                    user=user,
                    waiting=waiting,
                    running=running,
                    over=len(states) - waiting - running,
                    served=bool(self.servers(user)),
                )
            )
        return counts

    def start(self, user: str, run: NearRun) -> NearRun:
        """Keep a run that waits; the same one again changes nothing.  Raises TooManyRunsError."""
        with self._lock:
            kept = self._runs.get(user, ())
            for known in kept:
                if known.run_id == run.run_id:
                    return self._as_it_is(known)
            is_open = [self._as_it_is(known).state in (_WAITING, _RUNNING) for known in kept]
            if sum(is_open) >= MAX_OPEN:
                raise TooManyRunsError(f"You have {MAX_OPEN} runs that wait or run; stop one first")
            over = [known.run_id for known, its in zip(kept, is_open, strict=True) if not its]
            forgotten = over[MAX_RUNS - 1 - sum(is_open) :]
            self._keep(user, [run, *(known for known in kept if known.run_id not in forgotten)])
            return run

    def take(self, user: str, node: str, directory: str) -> NearRun | None:
        """Give the run that has waited longest to who runs it in a directory of a node; ``None``: none."""
        with self._lock:
            now = self._seen(user, node, directory)
            waiting = [run for run in self._runs.get(user, ()) if run.state == _WAITING]
            if not waiting:
                return None
            return self._change(
                user, waiting[-1], state=_RUNNING, node=node, directory=directory, began_at=now,
                reported_at=now,
            )  # fmt: skip

    def report(self, user: str, run_id: str, state: str, known: dict[str, Any]) -> NearRun:
        """Take what is ``known`` of a run; of one that is over nothing.  Raises UnknownRunError."""
        with self._lock:
            run = self._run_of(user, run_id)
            if run.state != _RUNNING:
                return run
            now = self._seen(user, run.node or "", run.directory or "")
            known = {**known, "reported_at": now}
            if state == _RUNNING:
                return self._change(user, run, keep=False, **known)
            return self._change(user, run, **known, state=state, ended_at=now)

    def stop(self, user: str, run_id: str) -> NearRun:
        """Let a run end: who runs it learns it by the next report.  Raises UnknownRunError."""
        with self._lock:
            run = self._run_of(user, run_id)
            if run.state == _WAITING:
                return self._change(user, run, state=_STOPPED, ended_at=self._clock())
            return self._change(user, run, stop=True) if run.state == _RUNNING else run

    def forget(self, user: str) -> None:
        """Forget a person's runs: none is given out any more, and who runs one learns it and ends it."""
        with self._lock:
            if self._runs.get(user):
                self._keep(user, ())

    def _run_of(self, user: str, run_id: str) -> NearRun:
        for run in self._runs.get(user, ()):
            if run.run_id == run_id:
                return run
        raise UnknownRunError(f"You have no run {run_id}")

    def _as_it_is(self, run: NearRun) -> NearRun:
        if run.state == _RUNNING and self._clock() - (run.reported_at or 0.0) > LOST_AFTER:
            return run.but(state=_LOST)
        return run

    def _seen(self, user: str, node: str, directory: str) -> float:
        now = self._clock()
        servers = self._servers.setdefault(user, {})
        servers.pop((node, directory), None)
        servers[node, directory] = RunServer(node=node, directory=directory, seen_at=now)
        if len(servers) > _MAX_SERVERS:
            del servers[next(iter(servers))]
        return now

    def _change(self, user: str, run: NearRun, *, keep: bool = True, **members: Any) -> NearRun:
        changed = run.but(**members)
        runs = [changed if known is run else known for known in self._runs[user]]
        if keep:
            self._keep(user, runs)
        else:
            self._runs[user] = runs
        return changed

    def _keep(self, user: str, runs: Sequence[NearRun]) -> None:
        if self._folder is not None:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            name = hashlib.sha256(user.encode("utf-8", "surrogatepass")).hexdigest()[:32]
            text = json.dumps({"user": user, "runs": runs})
            write_whole(self._folder / f"{name}.json", text.encode())
        self._runs[user] = runs


def _read(folder: Path) -> list[tuple[str, list[NearRun]]]:
    kept = []
    for path in sorted(folder.glob("*.json")):
        try:
            held = json.loads(path.read_text("utf-8"))
            kept.append((str(held["user"]), [NearRun.of(run) for run in held["runs"]]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            _log.warning("runs cannot be read", path=str(path), detail=str(error))
    return kept
