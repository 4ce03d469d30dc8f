"""A program's profile from a Darshan log, by darshan-util: its darshan-parser, else its Python package.

Darshan (ANL) counts each file's calls inside the program; the text of darshan-parser has one counter a line.
What it does not say: processor time, and what moved when within a file's first and last access.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import defaultdict
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from ses_client.errors import NotFoundError, SesError, UsageError

from ses.profiling.phases import BOTH, READS, WAITS, WRITES
from ses.profiling.result import RANDOM, SEQUENTIAL, UNKNOWN, FileUse, Phase, ProgramProfile

_SECONDS = 120
_MODULES = ("POSIX", "STDIO")
_METADATA = {
    "opens": ("OPENS",),
    "stats": ("STATS",),
    "syncs": ("FSYNCS", "FDSYNCS"),
    "names made or removed": ("RENAME_SOURCES",),
}

Counters = dict[str, float]


class Log(NamedTuple):
    """What a log holds: its job, and counters of each file by path, without the name of their module."""

    command: str
    seconds: float
    ranks: int
    files: dict[str, Counters]


def read_log(log: Path) -> ProgramProfile:
    """Return the profile of a log, or of the text made from one; raises SesError."""
    try:
        content = log.read_bytes()
    except FileNotFoundError:
        raise NotFoundError(f"There is no file {log}.") from None
    except OSError as error:
        raise SesError(f"{log} cannot be read: {error.strerror}.") from None
    if content.startswith(b"# darshan log version"):
        return of_text(content.decode("utf-8", "replace"), str(log))
    parser = shutil.which("darshan-parser")
    return _parsed(parser, log) if parser is not None else _profile(_of_package(log), str(log))


def _parsed(parser: str, log: Path) -> ProgramProfile:
    try:
        done = subprocess.run([parser, log], capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise SesError(f"darshan-parser did not end within {_SECONDS} s on {log}.") from None
    if done.returncode:
        raise SesError(f"darshan-parser does not understand {log}: {done.stderr.strip()[-300:]}.")
    return of_text(done.stdout, str(log))


def _of_package(log: Path) -> Log:
    """Return what darshan-util reads of a log through its Python package, which brings the library along."""
    try:
        util = import_module("darshan.backend.cffi_backend")  # takes a second or more
    except ImportError:
        raise SesError(
            f"{log} is no text of darshan-parser, and neither that program nor the Python package darshan is "
            f"installed here. Where darshan-parser is: darshan-parser {log.name} > {log.name}.txt, and give "
            "that file."
        ) from None
    opened = util.log_open(str(log))
    if not opened["handle"]:
        raise SesError(f"darshan-util does not understand {log}.")
    try:
        job, paths = util.log_get_job(opened), util.log_get_name_records(opened)
        files: dict[str, Counters] = defaultdict(lambda: defaultdict(float))
        for module in set(_MODULES) & util.log_get_modules(opened).keys():
            while (record := util.log_get_record(opened, module, dtype="dict")) is not None:
                counters = files[paths.get(record["id"], str(record["id"]))]
                for name, value in (*record["counters"].items(), *record["fcounters"].items()):
                    _add(counters, name.removeprefix(f"{module}_"), float(value))
        return Log(util.log_get_exe(opened), float(job["run_time"]), int(job["nprocs"]), files)
    finally:
        util.log_close(opened)


def of_text(text: str, name: str) -> ProgramProfile:
    """Return the profile in what darshan-parser printed; raises UsageError when it is something else."""
    facts: dict[str, str] = {}
    files: dict[str, Counters] = defaultdict(lambda: defaultdict(float))
    for line in text.splitlines():
        if line.startswith("# "):
            key, _, value = line[2:].partition(": ")
            facts[key] = value
            continue
        fields = line.split("\t")
        if len(fields) < 6 or fields[0] not in _MODULES:
            continue
        _add(files[fields[5]], fields[3].removeprefix(f"{fields[0]}_"), float(fields[4]))
    try:
        log = Log(facts.get("exe", ""), float(facts["run time"]), int(facts["nprocs"]), files)
    except (KeyError, ValueError):
        raise UsageError(f"{name} is no text of darshan-parser: it has no run time or nprocs.") from None
    return _profile(log, name)


def _profile(log: Log, name: str) -> ProgramProfile:
    files = log.files
    uses = [
        FileUse(path, int(record["BYTES_READ"]), int(record["BYTES_WRITTEN"]), _pattern(record))
        for path, record in files.items()
        if record["BYTES_READ"] + record["BYTES_WRITTEN"] > 0 and not path.startswith("<STD")
    ]
    uses.sort(key=lambda use: (-use.read_bytes - use.written_bytes, use.path))
    known = [files[use.path] for use in uses]
    read_span, write_span = _span(known, "READ", "BYTES_READ"), _span(known, "WRITE", "BYTES_WRITTEN")
    return ProgramProfile(
        command=tuple(log.command.split()),
        seconds=log.seconds,
        cpu_seconds=0.0,
        read_bytes=sum(use.read_bytes for use in uses),
        written_bytes=sum(use.written_bytes for use in uses),
        read_calls=int(sum(record["READS"] for record in known)),
        write_calls=int(sum(record["WRITES"] for record in known)),
        files=tuple(uses),
        phases=_phases({"READ": read_span, "WRITE": write_span}, uses, log.seconds),
        processes=log.ranks,
        open_files=len(uses),
        read_streams=read_span[2],
        write_streams=write_span[2],
        counters={what: int(sum(record[c] for record in files.values() for c in names))
                  for what, names in _METADATA.items()},
        notes=("processor time, cache misses and instructions: a Darshan log does not have them",),
        source=f"Darshan log {name}",
    )  # fmt: skip


def _add(counters: Counters, name: str, value: float) -> None:
    """Take up one counter of a rank: sums, but the earliest begin and the latest end."""
    if name.endswith("_START_TIMESTAMP"):
        if value > 0:
            counters[name] = min(counters.get(name, value), value)
    elif name.endswith("_END_TIMESTAMP"):
        counters[name] = max(counters.get(name, 0.0), value)
    elif value > 0:  # -1: not counted
        counters[name] += value


def _pattern(record: Counters) -> str:
    calls = record["READS"] + record["WRITES"]
    if not calls:
        return UNKNOWN
    return SEQUENTIAL if record["SEQ_READS"] + record["SEQ_WRITES"] >= 0.9 * calls else RANDOM


def _span(known: list[Counters], way: str, size: str) -> tuple[float, float, float]:
    """Return the first and the last access of a direction, and how many files moved at once on average."""
    times = [
        (record[f"F_{way}_START_TIMESTAMP"], record[f"F_{way}_END_TIMESTAMP"])
        for record in known
        if record[size] > 0
    ]
    if not times:
        return 0.0, 0.0, 1.0
    begin, end = min(first for first, _ in times), max(last for _, last in times)
    together = sum(last - first for first, last in times) / (end - begin) if end > begin else 1.0
    return begin, end, max(1.0, together)


def _phases(
    spans: dict[str, tuple[float, float, float]], uses: list[FileUse], seconds: float
) -> tuple[Phase, ...]:
    """From the first to the last access of each direction; what lies outside is not known."""
    moments = sorted({0.0, seconds, *(moment for span in spans.values() for moment in span[:2])})
    totals = {"READ": sum(use.read_bytes for use in uses), "WRITE": sum(use.written_bytes for use in uses)}
    phases = []
    for begin, end in pairwise(moments):
        parts = {
            way: int(totals[way] * (end - begin) / (last - first)) if first <= begin and end <= last else 0
            for way, (first, last, _) in spans.items()
        }
        kind = {(True, True): BOTH, (True, False): READS, (False, True): WRITES}.get(
            (parts["READ"] > 0, parts["WRITE"] > 0), WAITS
        )
        phases.append(Phase(kind, begin, end - begin, parts["READ"], parts["WRITE"]))
    return tuple(phases)
