"""Finished runs in a file of JSON lines: each is kept the moment it is done, and none is run twice.

A line of ``settings`` names what the runs after it have in common; a run names them by a hash.  Runs
under other settings, or of another build, stay in the file and count for nothing.  A last line that was
cut off is taken away, so that the next one begins on a line of its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from ses_client.errors import SesError, UsageError

from ses_experiment.papers.qstorman.schedule import Run


@dataclass(frozen=True, slots=True)
class Result:
    """What a run gave: ``seconds`` of each supported user, and of each other one; load before and after."""

    run: Run
    supported: tuple[float, ...]
    others: tuple[float, ...]
    load: tuple[float, float]
    time: str

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> Result:
        """Return what a line holds.  Raises TypeError, ValueError and KeyError."""
        low, high = data["load"]
        return cls(
            Run(**data["run"]), tuple(data["supported"]), tuple(data["others"]), (low, high), data["time"]
        )


class Finished(Protocol):
    """What a finished run gave: a dataclass, whose members a line holds."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def run(self) -> Hashable:
        """Which run it was."""


Kind = TypeVar("Kind", bound=Finished)


class Results(Generic[Kind]):
    """The results under some settings, in a file.  Raises UsageError and SesError."""

    def __init__(
        self,
        file: Path,
        settings: dict[str, Any],
        machine: dict[str, Any],
        of_json: Callable[[dict[str, Any]], Kind],
    ) -> None:
        self._of_json = of_json
        self.file = file
        self.settings = settings
        self._name = fingerprint(settings)
        self._machine = machine
        self._results: dict[Hashable, Kind] = {}
        self.others = 0
        self._introduced = False
        if not file.absolute().parent.is_dir():
            raise UsageError(f"There is no directory {file.absolute().parent} for the results.")
        if file.exists():
            self._read()

    def __contains__(self, run: Hashable) -> bool:
        return run in self._results

    def among(self, runs: Iterable[Hashable]) -> list[Kind]:
        """Return the results there are of these runs."""
        return [self._results[run] for run in runs if run in self._results]

    def add(self, result: Kind) -> None:
        """Keep a result, in the file, too."""
        self._results[result.run] = result
        lines: list[dict[str, Any]] = []
        if not self._introduced:
            lines.append({"settings": self.settings, "hash": self._name, "machine": self._machine})
            self._introduced = True
        lines.append({**asdict(result), "hash": self._name})
        try:
            with self.file.open("a", encoding="utf-8") as out:
                out.writelines(json.dumps(record) + "\n" for record in lines)
        except OSError as error:
            raise SesError(f"The results cannot be written to {self.file}: {error.strerror}.") from error

    def _read(self) -> None:
        try:
            text = self.file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{self.file} cannot be read: {error}.") from error
        whole = text[: text.rfind("\n") + 1]
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                self._take(json.loads(line))
            except (ValueError, TypeError, KeyError) as error:
                raise UsageError(f"{self.file}, line {number} is no result: {error}.") from error
        if whole != text:
            self.file.write_text(whole, "utf-8")

    def _take(self, data: dict[str, Any]) -> None:
        if "run" not in data:
            data["settings"]
            return
        if data["hash"] != self._name:
            self.others += 1
            return
        result = self._of_json(data)
        self._results[result.run] = result


def fingerprint(settings: dict[str, Any]) -> str:
    """Return a short hash of settings."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]
