"""The part of the selection service inside the process that keeps runs."""

from collections.abc import Callable
from typing import Any

from ses_client.errors import NotFoundError, RefusedError
from ses_client.messages.runs import NearRun, NearRuns, RunCount, RunCounts, RunServer


class RunsInMemory:
    """``runs`` has those of each person, the latest first; ``servers`` who serves them.

    What the real one refuses is given as ``refuses``.
    """

    _clock: Callable[[], float]
    person: str

    def __init__(self) -> None:
        self.near_runs: dict[str, list[NearRun]] = {}
        self.servers: dict[str, list[RunServer]] = {}
        self.refuses: RefusedError | None = None
        super().__init__()

    def runs(self) -> NearRuns:
        self._called()
        mine = tuple(self.near_runs.get(self.person, ()))
        return NearRuns(user=self.person, runs=mine, servers=tuple(self.servers.get(self.person, ())))

    def run_counts(self) -> RunCounts:
        self._called()
        return RunCounts(
            users=tuple(
                RunCount(user=user, waiting=len(runs), running=0, over=0, served=False)
                for user, runs in self.near_runs.items()
            )
        )

    def start_run(self, run: dict[str, Any]) -> NearRun:
        self._called()
        if self.refuses is not None:
            raise self.refuses
        made = NearRun(**run, state="waiting", asked_at=self._clock())
        mine = self.near_runs.setdefault(self.person, [])
        if all(known.run_id != made.run_id for known in mine):
            mine.insert(0, made)
        return made

    def stop_run(self, run_id: str) -> NearRun:
        self._called()
        for known in self.near_runs.get(self.person, []):
            if known.run_id == run_id:
                known["state"] = "stopped"
                return known
        raise NotFoundError(f"You have no run {run_id}.")

    def set_run(self, user: str, **members: Any) -> None:
        """Let the latest run of a person be as this."""
        self.near_runs[user][0].update(members)
