"""The cost of the preload library in a program: calls it passes on, and creates it places."""

from __future__ import annotations

import socket as sockets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ses_benchmarks.chain import Chain
from ses_benchmarks.probe import BenchmarkError, Probe, Run, Side
from ses_benchmarks.summary import Measurement, percentile, summarise

WITHOUT = "without the library"
OTHER = "the library of the other build"
STALL_NS = 15e6  # longer than any create without an agent that hangs takes; the library waits 20 ms


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured: pairs of processes, and calls in each of them."""

    pairs: int
    calls: int
    slow_calls: int  # of calls that take most of a millisecond
    storms: int  # of ten files each, in each process


def row(name: str, pairs: list[tuple[Run, Run]], baseline_is: str, note: str = "") -> Measurement:
    """The measurement of paired runs, in the unit that suits it."""
    samples = [(measured.nanoseconds, baseline.nanoseconds) for measured, baseline in pairs]
    return summarise(name, "ns", samples, baseline_is=baseline_is, note=note)


def passed_on(
    probe: Probe, library: Path, directory: Path, socket: Path, effort: Effort
) -> Iterator[Measurement]:
    """Calls that are none of the library's business, in ``directory``, which no site describes.

    The agent listens at ``socket``; the rows ending in ``-no-agent`` are taken with nobody there.
    """
    with_agent = {"SES_AGENT_SOCKET": str(socket)}
    no_agent = {"SES_AGENT_SOCKET": str(directory / "nobody.sock")}
    for name, call, environment in (
        ("open-existing", "open-existing", with_agent),
        ("create-offpolicy-absolute", "create-absolute", with_agent),
        ("create-offpolicy-relative", "create-relative", with_agent),
        ("create-offpolicy-absolute-no-agent", "create-absolute", no_agent),
        ("create-offpolicy-relative-no-agent", "create-relative", no_agent),
    ):
        measured = Side(call, directory, library, environment=environment)
        pairs = probe.in_turn(measured, f"plain-{call}", effort.calls, effort.pairs)
        yield row(name, pairs, WITHOUT)


def compared(
    probe: Probe, libraries: tuple[Path, Path], directory: Path, socket: Path, effort: Effort
) -> Iterator[Measurement]:
    """What is passed on by one library, in turn with another."""
    environment = {"SES_AGENT_SOCKET": str(socket)}
    for call, count in (
        ("open-existing", effort.calls),
        ("create-absolute", effort.calls),
        ("create-relative", effort.calls),
        ("exec-true", effort.slow_calls),
    ):
        sides = [Side(call, directory, library, environment=environment) for library in libraries]
        yield row(call, probe.pairs(sides[0], sides[1], count, 2 * effort.pairs), OTHER)


def storm(probe: Probe, library: Path, directory: Path, socket: Path, effort: Effort) -> Measurement:
    """Ten files created, looked at, opened and removed, where no site describes anything."""
    measured = Side("storm", directory, library, environment={"SES_AGENT_SOCKET": str(socket)})
    pairs = probe.in_turn(measured, "plain-storm", effort.storms, effort.pairs)
    return row("metadata-storm", pairs, WITHOUT, f"{effort.storms * effort.pairs} times 10 files")


def exec_true(probe: Probe, library: Path, directory: Path, effort: Effort) -> Measurement:
    """Starting and ending a program that creates nothing."""
    side = Side("exec-true", directory, library)
    pairs = probe.in_turn(side, "plain-exec-true", effort.slow_calls, effort.pairs)
    return row("exec-true", pairs, WITHOUT)


def hung(probe: Probe, library: Path, union: Path, scratch: Path, effort: Effort) -> Measurement:
    """The slowest hundredth of creates in the union while the agent takes questions and never answers."""
    path = scratch / "hung.sock"
    with sockets.socket(sockets.AF_UNIX, sockets.SOCK_SEQPACKET) as agent:
        agent.bind(str(path))
        agent.listen(128)
        measured = Side("create-absolute", union, library, environment={"SES_AGENT_SOCKET": str(path)})
        pairs = probe.in_turn(measured, "plain-create-absolute", effort.calls, effort.pairs)
    slowest = [
        ([percentile(run.nanoseconds, 99)], [percentile(plain.nanoseconds, 99)]) for run, plain in pairs
    ]
    long, plainly_long = (
        max(sum(spent > STALL_NS for spent in pair[side].nanoseconds) for pair in pairs) for side in (0, 1)
    )
    note = f"p99 of each process; at most {long} of {effort.calls} took over 15 ms, {plainly_long} without"
    return summarise("create-hung-agent", "ns", slowest, baseline_is=WITHOUT, note=note)


def placed(probe: Probe, library: Path, site: Chain, effort: Effort) -> Iterator[Measurement]:
    """Creates in the union that the agent places on its fast branch, against two other ways to make them.

    By hand: the same file on the same branch, parents existing.  Plain: where mergerfs would put it.
    Raises BenchmarkError when fewer than nine in ten creates were placed there: then something else
    was measured.
    """
    union, branch = site.union, site.fast_branch
    measured = Side("create-absolute", union, library, branch, site.patient)
    by_hand = Side("create-by-hand", union, branch=branch)
    # The first questions of a process that was not there before are answered slowly: not measured.
    probe.run(measured, effort.slow_calls)
    pairs = probe.pairs(measured, by_hand, effort.slow_calls, effort.pairs, site.settle)
    share = sum(run.on_branch for run, _ in pairs) / (effort.slow_calls * effort.pairs)
    if share < 0.9:
        raise BenchmarkError(
            f"create-placed: only {share:.0%} of the creates lay on {branch}; see the agent's log"
        )
    note = f"{share:.1%} placed"
    yield row("create-placed", pairs, "by hand on the same branch", note)
    plain = Side("create-absolute", union)
    pairs = probe.pairs(measured, plain, effort.slow_calls, effort.pairs, site.settle)
    yield row("create-placed-over-plain", pairs, "plain create in the union")
