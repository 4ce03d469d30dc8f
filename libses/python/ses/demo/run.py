"""The demonstration, in order."""

from __future__ import annotations

import os
import pwd
import shutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from ses.basepath import basepath
from ses.demo.busy import BUSY, start_load, wait_until_seen
from ses.demo.chain import Chain, add_portal_account, start_chain
from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts
from ses.demo.needs import state_needs
from ses.demo.parts import Parts, find_parts
from ses.demo.programs import NOBODY, Program, Run, build_example, prepare_input, programs, run
from ses.demo.report import Report, make_row
from ses.demo.storage import CREATE_POLICY, Storage, set_up
from ses.demo.tools import tool
from ses.demo.verify import verify
from ses.demo.work import need_root, work_directory

ACCOUNT = "root"


@dataclass(frozen=True, slots=True)
class Options:
    """``megabytes``: size of each program's file.  ``build``: where CMake built libses."""

    megabytes: int = 24
    build: Path | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """What a kept demonstration tells, so that people can look around."""

    work: Path
    service_url: str
    portal_url: str
    account: str
    password: str
    token_file: Path
    socket: Path
    preload: Path
    union: Path


def demonstrate(
    options: Options,
    interrupts: Interrupts,
    progress: Callable[[str], None],
    show: Callable[[Report], None],
    keep: Callable[[Standing], None] | None,
) -> Report:
    """Run the demonstration and undo everything it made, however it ends.

    ``show`` gets the report while everything still stands.  With ``keep`` everything is then left
    standing until somebody asks to stop (StoppedError is the usual end).  Raises DemoError.
    """

    def step(text: str) -> None:
        interrupts.check()
        progress(text)

    need_root("The demonstration", "make demo")
    parts = find_parts(options.build)
    with ExitStack() as undo:
        try:
            work = work_directory(undo, "qstorman-demo-")
            storage = set_up(work, undo, step)
            step("starting the services")
            chain = start_chain(work, parts, storage, undo, interrupts)
            report = _compare(options, parts, work, storage, chain, interrupts, step)
            show(report)
            if keep is not None:
                step("making a portal account")
                password = add_portal_account(parts, chain, ACCOUNT)
                of = chain.services
                keep(Standing(work, of.service_url, chain.portal_url, ACCOUNT, password,
                              of.tokens.admin, chain.socket, of.preload, storage.union))  # fmt: skip
                while True:
                    chain.processes.check()
                    interrupts.pause(1.0)
        finally:
            interrupts.hold()
            progress("stopping and removing everything")
    return report


def _compare(
    options: Options,
    parts: Parts,
    work: Path,
    storage: Storage,
    chain: Chain,
    interrupts: Interrupts,
    begin: Callable[[str], None],
) -> Report:
    def step(text: str) -> None:
        chain.processes.check()
        begin(text)

    step("preparing the programs")
    inputs = work / "input"
    prepare_input(inputs, options.megabytes)
    figure3 = build_example(parts.example, parts.headers, parts.api, work)
    placed_here, plain_here = storage.union / "placed", storage.union / "plain"
    for directory in (work / "rehearsal", placed_here, plain_here):
        _make_homes(directory)
    _check_reach(placed_here / NOBODY)
    client = chain.client()
    state_needs(client)
    # once outside the union, so that neither side pays for reading the programs from disk
    _run_all("rehearsing", programs(inputs, figure3, 1), work / "rehearsal", {}, interrupts, step)

    step(f"somebody else starts writing on {' and '.join(BUSY)}")
    start_load(chain, storage)
    wait_until_seen(chain, storage, interrupts)
    todo = programs(inputs, figure3, options.megabytes)
    plain = _run_all("without the library", todo, plain_here, {"SES_DISABLE": "1"}, interrupts, step)
    plain_on = [_branch_of(storage, one.path) for one in plain]
    shutil.rmtree(plain_here)

    step("waiting until the monitor sees the branches idle again")
    wait_until_seen(chain, storage, interrupts)
    placed = _run_all("under the library", todo, placed_here, chain.preloaded(), interrupts, step)
    step("looking where the bytes are")
    rows = []
    for mine, theirs, branch in zip(placed, plain, plain_on, strict=True):
        verdict = verify(mine, client, interrupts)
        where = None if verdict.branch is None else storage.branch_of(verdict.branch)
        rows.append(make_row(mine, verdict, where, theirs, branch))
    hints = () if all(row.as_chosen for row in rows) else (chain.processes.tail("ses-agent"),)
    return Report(storage.notes, storage.throttled, BUSY, CREATE_POLICY, tuple(rows), hints)


def _run_all(
    how: str,
    todo: tuple[Program, ...],
    homes: Path,
    environment: Mapping[str, str],
    interrupts: Interrupts,
    step: Callable[[str], None],
) -> list[Run]:
    runs = []
    for number, program in enumerate(todo, 1):
        step(f"{how}: {program.title} as {program.user} ({number} of {len(todo)})")
        runs.append(run(program, homes / program.user, environment, interrupts))
    return runs


def _branch_of(storage: Storage, path: Path) -> str | None:
    """Return the short name of the branch a file lies on."""
    where = basepath(path)
    return None if where is None else storage.branch_of(where)


def _make_homes(directory: Path) -> None:
    account = pwd.getpwnam(NOBODY)
    for home in (directory / "root", directory / NOBODY):
        home.mkdir(parents=True)
    os.chown(directory / NOBODY, account.pw_uid, account.pw_gid)


def _check_reach(directory: Path) -> None:
    try:
        tool("setpriv", f"--reuid={NOBODY}", "--regid=65534", "--clear-groups", "--",
             "test", "-w", str(directory))  # fmt: skip
    except DemoError as error:
        raise DemoError(
            f"The user {NOBODY} cannot reach {directory}. Set TMPDIR to a directory open to everybody."
        ) from error
