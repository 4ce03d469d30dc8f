"""The demonstration, in order."""

from __future__ import annotations

import os
import pwd
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ses_client.client import ServiceClient

from ses.basepath import basepath
from ses.demo.busy import BUSY, start_load, wait_until_seen
from ses.demo.chain import Chain, add_portal_account, start_chain
from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts
from ses.demo.needs import state_needs
from ses.demo.parts import Parts, find_parts
from ses.demo.programs import (
    NOBODY,
    USERS,
    Program,
    Run,
    build_example,
    prepare_input,
    programs,
    run,
    run_together,
    simultaneous,
)
from ses.demo.report import Report, Row, make_row
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
class Running:
    """Where the parts of a demonstration are that was left running; ``pages`` are those of its files."""

    work: Path
    service_url: str
    portal_url: str
    account: str
    password: str
    token_file: Path
    socket: Path
    preload: Path
    union: Path
    pages: tuple[tuple[str, str], ...]


def demonstrate(
    options: Options,
    interrupts: Interrupts,
    progress: Callable[[str], None],
    show: Callable[[Report], None],
    keep: Callable[[Running], None] | None,
) -> Report:
    """Run the demonstration and undo everything it made, however it ends.

    ``show`` gets the report while everything still runs.  With ``keep`` everything is then left
    running until somebody asks to stop (StoppedError is the usual end).  Raises DemoError.
    """

    def step(text: str) -> None:
        interrupts.check()
        progress(text)

    need_root("The demonstration", "make demo")
    parts = find_parts(options.build)
    with interrupts.undoing(progress) as undo:
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
            keep(Running(work, of.service_url, chain.portal_url, ACCOUNT, password,
                          of.tokens.admin, chain.socket, of.preload, storage.union,
                          report.pages))  # fmt: skip
            while True:
                chain.processes.check()
                interrupts.pause(1.0)
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
    for directory in (work / "trial", placed_here, plain_here):
        _make_homes(directory)
    _check_reach(placed_here / NOBODY)
    client = chain.client()
    state_needs(client)
    # once outside the union, so that neither side pays for reading the programs from disk
    _run_all("trying", programs(inputs, figure3, 1), work / "trial", {}, interrupts, step)

    step(f"somebody else starts writing on {' and '.join(BUSY)}")
    start_load(chain, storage)
    wait_until_seen(chain, storage, interrupts)
    todo, at_once = programs(inputs, figure3, options.megabytes), simultaneous((options.megabytes + 1) // 2)
    without = {"SES_DISABLE": "1"}
    plain = _run_all("without the library", todo, plain_here, without, interrupts, step)
    plain_on = _branches_of(storage, plain)
    _wait_until_idle(chain, storage, interrupts, step)
    step(f"without the library: {len(at_once)} programs at the same time")
    plain_together = run_together(at_once, plain_here, without, interrupts)
    plain_together_on = _branches_of(storage, plain_together)
    shutil.rmtree(plain_here)

    _wait_until_idle(chain, storage, interrupts, step)
    placed = _run_all("under the library", todo, placed_here, chain.preloaded(), interrupts, step)
    step("looking where the bytes are")
    rows = _rows(storage, client, interrupts, placed, plain, plain_on)
    _wait_until_idle(chain, storage, interrupts, step)
    step(f"under the library: {len(at_once)} programs at the same time")
    together = run_together(at_once, placed_here, chain.preloaded(), interrupts)
    step("looking where the bytes are")
    rows_together = _rows(storage, client, interrupts, together, plain_together, plain_together_on)
    report = Report(storage.notes, storage.throttled, BUSY, CREATE_POLICY, rows, rows_together)
    return replace(report, hints=(chain.processes.tail("ses-agent"),)) if report.misplaced else report


def _wait_until_idle(
    chain: Chain, storage: Storage, interrupts: Interrupts, step: Callable[[str], None]
) -> None:
    step("waiting until the monitor sees the branches idle again")
    wait_until_seen(chain, storage, interrupts)


def _rows(
    storage: Storage,
    client: ServiceClient,
    interrupts: Interrupts,
    placed: Sequence[Run],
    plain: Sequence[Run],
    plain_on: Sequence[str | None],
) -> tuple[Row, ...]:
    rows = []
    for mine, theirs, branch in zip(placed, plain, plain_on, strict=True):
        verdict = verify(mine, client, interrupts)
        where = None if verdict.branch is None else storage.branch_of(verdict.branch)
        rows.append(make_row(mine, verdict, where, theirs, branch))
    return tuple(rows)


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


def _branches_of(storage: Storage, runs: Sequence[Run]) -> list[str | None]:
    """Return the short names of the branches the files of runs lie on."""
    places = [basepath(program_run.path) for program_run in runs]
    return [None if where is None else storage.branch_of(where) for where in places]


def _make_homes(directory: Path) -> None:
    for user in USERS:
        account = pwd.getpwnam(user)
        home = directory / user
        home.mkdir(parents=True)
        os.chown(home, account.pw_uid, account.pw_gid)


def _check_reach(directory: Path) -> None:
    try:
        tool("setpriv", f"--reuid={NOBODY}", "--regid=65534", "--clear-groups", "--",
             "test", "-w", str(directory))  # fmt: skip
    except DemoError as error:
        raise DemoError(
            f"The user {NOBODY} cannot reach {directory}. Set TMPDIR to a directory open to everybody."
        ) from error
