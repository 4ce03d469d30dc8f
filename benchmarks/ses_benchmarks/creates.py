"""The cost of the preload library in a program: calls it passes on, and creates it places."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ses_benchmarks.chain import Chain
from ses_benchmarks.probe import BenchmarkError, Probe, Run, Side
from ses_benchmarks.summary import Measurement, summarise

WITHOUT = "without the library"


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured: pairs of processes, and calls in each of them."""

    pairs: int
    calls: int
    slow_calls: int  # of calls that take most of a millisecond


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
        pairs = probe.pairs(measured, Side(call, directory), effort.calls, effort.pairs)
        yield row(name, pairs, WITHOUT)


def exec_true(probe: Probe, library: Path, directory: Path, effort: Effort) -> Measurement:
    """Starting and ending a program that creates nothing."""
    sides = (Side("exec-true", directory, library), Side("exec-true", directory))
    return row("exec-true", probe.pairs(*sides, effort.slow_calls, effort.pairs), WITHOUT)


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
