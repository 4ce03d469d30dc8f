"""A program of libses-offload on other nodes: built for their processors, copied, checked, removed.

This is the static offloading of ORCA (Zhang et al., section IV-B): compile for each kind of machine, write
the configuration, put both where they are used.  The configuration is PROGRAM.nodes, lines of a node and the
program that serves there, which the library reads.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ses_client.errors import NotFoundError, SesError, UsageError

from ses.near.execution.executors import CONNECT_SECONDS
from ses.whole_file import write_whole


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is deployed where.  ``compilers`` and ``runners`` are commands by the name of a machine."""

    program: Path
    sources: tuple[Path, ...]
    nodes: tuple[str, ...]
    folder: str
    flags: tuple[str, ...]
    machines: Mapping[str, str]
    rsh: tuple[str, ...]
    compilers: Mapping[str, tuple[str, ...]]
    runners: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Check:
    """Whether a storage part starts on a node; ``error``: why not, empty if it does."""

    node: str
    program: str
    error: str


def deploy(wanted: Wanted) -> None:
    """Build, copy and write the configuration.  Raises UsageError, SesError."""
    if not wanted.folder.startswith("/"):
        raise UsageError("--to takes an absolute name: the folder is on the nodes.")
    if set(" \n") & set("".join((*wanted.nodes, wanted.folder, wanted.program.name))):
        raise UsageError("Names of nodes, folder and program have no blanks.")
    own = os.uname().machine
    machines = {
        node: wanted.machines.get(node) or _there(wanted.rsh, node, "uname -m").decode().strip()
        for node in wanted.nodes
    }
    with tempfile.TemporaryDirectory(prefix="ses-offload-") as work:
        built = {own: wanted.program.absolute()}
        for machine in dict.fromkeys((own, *machines.values())):
            output = built.setdefault(machine, Path(work) / machine)
            _compile(wanted, machine, output)
        programs = {node: _copy(wanted, node, machine, built[machine]) for node, machine in machines.items()}
    lines = "".join(f"{node} {program}\n" for node, program in programs.items())
    write_whole(_configuration(wanted.program), lines)


def check(program: Path, rsh: Sequence[str]) -> list[Check]:
    """Start a storage part on each node and end it.  Raises NotFoundError."""
    checks = []
    for node, there in _deployed(program):
        argv = [str(program.absolute()), f"--ses-offload-check={_address(rsh, node)}"]
        argv += [f"--ses-offload-rsh={' '.join(rsh)}"] if rsh else []
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        why = done.stderr.strip().rpartition("\n")[2] or f"it exits with {done.returncode}"
        checks.append(Check(node, there, why if done.returncode else ""))
    return checks


def remove(program: Path, rsh: Sequence[str]) -> None:
    """Remove what was deployed, and the configuration.  Raises NotFoundError, SesError."""
    for node, there in _deployed(program):
        folder = shlex.quote(os.path.dirname(there))  # noqa: PTH120  # of another machine
        files = " ".join(shlex.quote(there + ending) for ending in ("", ".binary"))
        _there(rsh, node, f"rm -f {files} && {{ rmdir {folder} 2>/dev/null || true; }}")
    _configuration(program).unlink()


def _configuration(program: Path) -> Path:
    return Path(f"{program}.nodes")


def _deployed(program: Path) -> list[tuple[str, str]]:
    try:
        lines = _configuration(program).read_text("utf-8").splitlines()
    except FileNotFoundError:
        raise NotFoundError(
            f"{program} is deployed nowhere: there is no {_configuration(program)}."
        ) from None
    return [(node, there) for node, _, there in (line.partition(" ") for line in lines)]


def _compile(wanted: Wanted, machine: str, output: Path) -> None:
    own = machine == os.uname().machine
    compiler = wanted.compilers.get(machine) or (("cc",) if own else (f"{machine}-linux-gnu-gcc",))
    config = ["pkg-config" if own else f"{machine}-linux-gnu-pkg-config", "--cflags", "--libs", "ses-offload"]
    library = [] if machine in wanted.compilers else shlex.split(_done(config).decode())
    sources = [str(source) for source in wanted.sources]
    _done([*compiler, *wanted.flags, *sources, "-o", str(output), *library])


def _copy(wanted: Wanted, node: str, machine: str, built: Path) -> str:
    """Put a program onto a node, and what runs it there; returns what is to be started."""
    path = f"{wanted.folder.rstrip('/')}/{wanted.program.name}"
    data = built.read_bytes()
    runner = wanted.runners.get(machine)
    _put(wanted.rsh, node, path + (".binary" if runner else ""), data)
    if runner:
        text = f'#!/bin/sh\nexec {shlex.join(runner)} {shlex.quote(path)}.binary "$@"\n'
        _put(wanted.rsh, node, path, text.encode())
    return path


def _put(rsh: Sequence[str], node: str, path: str, data: bytes) -> None:
    quoted, part = shlex.quote(path), shlex.quote(f"{path}.part")
    folder = shlex.quote(os.path.dirname(path))  # noqa: PTH120  # of another machine
    command = (
        f"mkdir -p {folder} && cat >{part} && chmod 755 {part} && mv {part} {quoted} && sha256sum {quoted}"
    )
    digest = _there(rsh, node, command, data).split()[0].decode()
    if digest != hashlib.sha256(data).hexdigest():
        raise SesError(f"{node}: {path} is not what was sent.")


def _address(rsh: Sequence[str], node: str) -> str:
    return f"command:{node}" if any("%n" in word for word in rsh) else f"ssh:{node}"


def _there(rsh: Sequence[str], node: str, command: str, data: bytes = b"") -> bytes:
    """Run a command of the shell on a node; returns what it prints.  Raises SesError."""
    if any("%n" in word for word in rsh):
        argv = [*(word.replace("%n", node) for word in rsh), "sh", "-c", command]
    else:
        options = ["-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_SECONDS}", "-T", "--"]
        argv = [*(rsh or ("ssh",)), *options, node, command]
    return _done(argv, data, f"{node}: ")


def _done(argv: Sequence[str], data: bytes = b"", where: str = "") -> bytes:
    try:
        done = subprocess.run(argv, input=data, capture_output=True, check=False)
    except OSError as error:
        raise SesError(f"{where}{argv[0]}: {error.strerror}.") from None
    if done.returncode:
        why = done.stderr.decode("utf-8", "replace").strip()
        raise SesError(f"{where}{why or f'{argv[0]} ended with {done.returncode}'}")
    return done.stdout
