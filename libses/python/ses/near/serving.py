"""``ses serve-runs``: takes the runs that its user starts in the portal, and runs each as ``ses map-near``.

No shell reads a run: its words are those of the command line.  What comes from the service is checked here
again, since it becomes programs that run as this user.  A run whose files are here already is not run again.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

from ses_client.client import ServiceClient
from ses_client.errors import NotAllowedError, NotFoundError, RefusedError, SesError, UnavailableError
from ses_client.messages.runs import OPTION, NearRun

_ASK_SECONDS = 2.0
_REPORT_SECONDS = 1.0
_LEAVE_SECONDS = 15.0
"""After which a run that was to stop is killed; ``ses map-near`` itself waits 3 s for its nodes."""

_MAP_NEAR = (sys.executable, "-P", "-c", "from ses.cli import main; main()", "map-near")
_ID = re.compile("[0-9a-f]{16}")
_OPTION = re.compile(OPTION)
_TAIL_BYTES, _TAIL_LINES = 4000, 20
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


class RefusedRunError(SesError):
    """A run that is not run here."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How runs are run: in ``folder`` of ``node``; ``only`` these programs, if it names any.

    ``options`` of ``ses map-near`` hold for all runs and outweigh those of a run; ``environment`` is that of
    all.
    """

    node: str
    folder: Path
    only: frozenset[str]
    options: tuple[str, ...]
    environment: Mapping[str, str]


def serve(client: ServiceClient, terms: Terms, say: Callable[[str], None]) -> NoReturn:
    """Take runs and run them, one after the other, until a signal ends that (SystemExit).

    A service that is away is asked again.  Raises NotAllowedError when it does not accept the token any more;
    what runs then is ended.
    """
    away = ""
    while True:
        run = None
        try:
            run = client.take_run(terms.node, str(terms.folder))
            away = ""
        except NotAllowedError:
            raise
        except UnavailableError as error:
            if away != (away := str(error)):
                say(f"{error} It is asked again.")
        if run is None:
            time.sleep(_ASK_SECONDS)
            continue
        try:
            _Execution(client, terms, run, say).run()
        except RefusedRunError as error:
            say(f"{run.run_id} is not run: {error}")
            _until_answered(client, run, {"state": "refused", "errors": str(error)})


def words_of(run: NearRun, terms: Terms) -> list[str]:
    """Return the words for ``ses map-near``.

    Raises RefusedRunError where one could be read as something else than it is, and for a program that is not
    allowed.
    """
    if _ID.fullmatch(run.run_id) is None:
        raise RefusedRunError("Its id is none.")
    if not run.files or any(name.startswith("-") for name in run.files):
        raise RefusedRunError(
            "The name of a file that begins with a dash could be an option: write ./ before."
        )
    if not run.command:
        raise RefusedRunError("It has no command.")
    for option in run.options:
        if _OPTION.fullmatch(option) is None:
            raise RefusedRunError(f"A run may not have the option {option}.")
    for program in _programs(run):
        if terms.only and program not in terms.only:
            raise RefusedRunError(f"{terms.node} runs only {', '.join(sorted(terms.only))}, not {program}.")
    return [*run.options, *terms.options, *run.files, "--", *run.command]


def _programs(run: NearRun) -> Iterator[str]:
    yield run.command[0]
    for option in run.options:
        name, _, value = option.partition("=")
        if name == "--reduce":
            try:
                yield from shlex.split(value)[:1]
            except ValueError as error:
                raise RefusedRunError(f"{value}: {error}.") from None


class _Execution:
    """One run, from its start to its end."""

    def __init__(self, client: ServiceClient, terms: Terms, run: NearRun, say: Callable[[str], None]) -> None:
        self._client, self._terms, self._run, self._say = client, terms, run, say
        self._words = words_of(run, terms)
        self._out = terms.folder / f"{run.run_id}.out"
        self._err = terms.folder / f"{run.run_id}.err"

    def run(self) -> None:
        """Run it, and report how it goes.  Raises RefusedRunError where it cannot be begun."""
        self._say(f"{self._run.run_id}: ses map-near {shlex.join(self._words)}")
        with TemporaryDirectory(prefix="ses-serve-runs-") as kept:
            progress = Path(kept) / "progress"
            process = self._begun(progress)
            try:
                was_stopped = self._follow(process, progress)
            except BaseException:
                _end(process)
                known = {"state": "stopped", **self._known(progress)}
                with suppress(SesError):
                    self._client.report_run(self._run.run_id, known)
                raise
            status = process.returncode if process.returncode >= 0 else 128 - process.returncode
            ended = {"state": "stopped" if was_stopped else "ended", "exit_status": status}
            self._say(
                f"{self._run.run_id} {ended['state']} with status {status}; its output is in {self._out}"
            )
            _until_answered(self._client, self._run, {**ended, **self._known(progress)})

    def _begun(self, progress: Path) -> subprocess.Popen[bytes]:
        try:
            with self._out.open("xb") as out, self._err.open("xb") as err:
                return subprocess.Popen(
                    [*_MAP_NEAR, f"--progress={progress}", *self._words],
                    cwd=self._terms.folder,
                    env=self._terms.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,  # Ctrl-C is for this process, which ends it
                    preexec_fn=_end_with_parent,
                )
        except FileExistsError as error:
            raise RefusedRunError(f"{error.filename} is there: it ran before.") from None
        except OSError as error:
            raise RefusedRunError(f"{error.filename}: {error.strerror}.") from None

    def _follow(self, process: subprocess.Popen[bytes], progress: Path) -> bool:
        """Report until it ends; return whether it was stopped.  Raises NotAllowedError."""
        while True:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_REPORT_SECONDS)
                return False
            if self._is_to_stop(progress):
                self._say(f"{self._run.run_id} is stopped")
                _end(process)
                return True

    def _is_to_stop(self, progress: Path) -> bool:
        try:
            known = self._client.report_run(self._run.run_id, {"state": "running", **self._known(progress)})
        except NotAllowedError:
            raise
        except NotFoundError:
            return True
        except (UnavailableError, RefusedError):
            return False
        return bool(known.stop) or known.state != "running"

    def _known(self, progress: Path) -> dict[str, Any]:
        known: dict[str, Any] = {"output": str(self._out), "errors": _tail(self._err)}
        with suppress(OSError):
            known["bytes_returned"] = self._out.stat().st_size
        with suppress(OSError, ValueError, KeyError):
            kept = json.loads(progress.read_text())
            known |= {"tasks": kept["of"], "tasks_done": kept["tasks"], "bytes_read": kept["bytes"]}
        return known


def _end_with_parent() -> None:
    """Let a run end when this process is killed."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a run as Ctrl-C would, and kill it if that takes too long."""
    process.terminate()
    try:
        process.wait(_LEAVE_SECONDS)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _until_answered(client: ServiceClient, run: NearRun, known: dict[str, Any]) -> None:
    """Report how a run ended; a service that is away is asked again.  Raises NotAllowedError."""
    while True:
        try:
            client.report_run(run.run_id, known)
            return
        except NotAllowedError:
            raise
        except UnavailableError:
            time.sleep(_ASK_SECONDS)
        except SesError:
            return


def _tail(path: Path) -> str:
    """Return the last lines of a file."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
            return "\n".join(file.read().decode("utf-8", "replace").splitlines()[-_TAIL_LINES:])
    except OSError:
        return ""
