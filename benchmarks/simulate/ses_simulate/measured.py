"""What the rule is worth, by family and by term: writes ``docs/decision-measured.md``.

    python -m ses_simulate.measured [--keep FILE] [--seeds 10] [--jobs 1]
    python -m ses_simulate.measured --check

Runs take about an hour of one processor; what is done is kept in a file named after this code's digest, so
that a stopped one goes on.  ``--check`` runs nothing: it says whether the page was made by this code.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ses_simulate import hard, table1
from ses_simulate.cases.measured import FAMILIES, HALVES, TERMS, Family
from ses_simulate.policies.variants import VARIANTS
from ses_simulate.processes import run_all
from ses_simulate.scenarios import SCENARIOS
from ses_simulate.statistics import Interval, interval

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "decision-measured.md"
DECIDING = (
    *("libses/include/ses/core.h", "libses/core/*.[ch]", "libses/core/python/ses_core/*.py"),
    *("ses-service/ses_service/**/pace.py", "ses-service/ses_service/**/node_order.py"),
    "benchmarks/simulate/ses_simulate/**/*.py",
)
# These decide nothing.
AFTER_THAT = ("plot.py", "hard_study.py", "table1_study.py", "rows.py", "measured.py", "command.py")

OURS, BASELINES, REFERENCE = "ours", ("roundrobin", "least-open", "random"), "clairvoyant"
Simulated = tuple[str, str, int]  # family, rule, seed
Outcome = tuple[float, float]  # what a family is judged by; the part of requirements met, nan without any

HEAD = """# What the rule is worth

Written by `python -m ses_simulate.measured`; do not change it by hand. [The rule](decision.md) says what the
terms are, `ses simulate hard --help` lists the families. {seeds} seeds; means of the differences, seed by
seed, in percent, with 95 % intervals. Measured is the mean slowdown of a file; of checkpoints, `collision`
and `workflows` the time until the last file; of `room` files of 1,000 that found no room though another
element had it. Where files ask for a rate, the part that got it on average over its time is measured as well.
"""


def digest() -> str:
    """Return a digest of the sources that decide, and simulate."""
    hashed = hashlib.sha256()
    for path in sorted({path for pattern in DECIDING for path in ROOT.glob(pattern)}):
        if path.name not in AFTER_THAT:
            hashed.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return hashed.hexdigest()[:16]


def simulate(run: Simulated) -> Outcome:
    """Return what a family is judged by, and the part of its requirements that were met, in one run."""
    family, rule, seed = run
    if family in HALVES:
        half = HALVES[family]
        made = table1.Run(half.scenario, half.users, OURS, rule, half.users // 2, seed)
        times = table1.simulate(made)
        return times.supported / times.others, math.nan
    judged = FAMILIES[family]
    if judged.users:
        site = replace(table1.PAPER, duplex=judged.duplex)
        made = table1.Run(
            judged.scenario, judged.users, rule, "random", judged.users, seed, site=site, nodes=judged.nodes
        )
        return table1.simulate(made).supported / table1.LONE_SECONDS, math.nan
    outcome = hard.simulate(hard.Run(judged.scenario, rule, seed, judged.files))
    return outcome.judged(_judged(judged)), outcome.attained.met


def _asks(name: str) -> bool:
    """Whether the files of a family ask for a rate."""
    judged = FAMILIES[name]
    return not judged.users and bool(SCENARIOS[judged.scenario].needs)


def _judged(family: Family) -> str:
    return "mean" if family.users else SCENARIOS[family.scenario].judged


def needed(seeds: int) -> list[Simulated]:
    """Return all runs of the page."""
    rules = [(family, rule) for family in HALVES for rule in ("random", "roundrobin")]
    rules += [(family, rule) for family in FAMILIES for rule in (OURS, *BASELINES, REFERENCE)]
    rules += [(family, variant) for variant, families in TERMS.items() for family in families]
    return [(family, rule, seed) for family, rule in rules for seed in range(seeds)]


def measure(seeds: int, jobs: int, keep: Path) -> dict[Simulated, Outcome]:
    """Run what is not yet in the file ``keep``, and return everything."""
    done: dict[Simulated, Outcome] = {}
    if keep.exists():
        text = keep.read_text("utf-8")
        whole = text[: text.rfind("\n") + 1]
        if whole != text:  # it was stopped in the middle of a line
            keep.write_text(whole, "utf-8")
        for line in whole.splitlines():
            family, rule, seed, *values = json.loads(line)
            done[family, rule, seed] = values[0], values[1]
    wanted = needed(seeds)
    todo = [run for run in wanted if run not in done]
    with keep.open("a", encoding="utf-8") as kept:
        for start in range(0, len(todo), 4 * jobs):
            part = run_all(simulate, todo[start : start + 4 * jobs], jobs, lambda _done, _of: None)
            done |= part
            kept.writelines(json.dumps([*run, *values]) + "\n" for run, values in part.items())
            kept.flush()
            print(f"\r{start + len(part)} of {len(todo)} runs", end="", file=sys.stderr)
    return {run: done[run] for run in wanted}


def page(outcomes: dict[Simulated, Outcome], seeds: int) -> str:
    """Return the page."""

    def values(family: str, rule: str) -> list[float]:
        return [outcomes[family, rule, seed][0] for seed in range(seeds)]

    def met(family: str, rule: str) -> list[float]:
        return [100 * outcomes[family, rule, seed][1] for seed in range(seeds)]

    def fewer(family: str, rule: str) -> str:
        """Return by how much fewer requirements are met with a term changed, where the family has any."""
        if not _asks(family):
            return ""
        lost = [entry - other for entry, other in zip(met(family, OURS), met(family, rule), strict=True)]
        return f", {_text(interval(lost))} points fewer met"

    def more(family: str, rule: str, than: str) -> Interval:
        return interval([
            100 * (entry / other - 1)
            for entry, other in zip(values(family, rule), values(family, than), strict=True)
        ])  # fmt: skip

    lines = [HEAD.format(seeds=seeds), f"Digest of what decides: `{digest()}`.", "", "## By family", ""]
    lines += list(_families(values, more))
    lines += ["", "## Requirements met", "", "Percent of the files that asked for a rate.", ""]
    lines += ["| family | the rule | round robin | least-open | at random |", "|---|---|---|---|---|"]
    for name in filter(_asks, FAMILIES):
        parts = (interval(met(name, rule)) for rule in (OURS, *BASELINES))
        lines.append(f"| `{name}` | " + " | ".join(_text(entry, sign="") for entry in parts) + " |")
    lines += ["", "## Half supported", ""]
    lines += ["Table 1: how much less time supported users take than the others of the same run.", ""]
    lines += ["| background, users | others at random, % | others in turn, % |", "|---|---|---|"]
    for name in HALVES:
        saved = (
            interval([100 * (1 - part) for part in values(name, other)]) for other in ("random", "roundrobin")
        )
        lines.append(f"| `{name}` | " + " | ".join(map(_text, saved)) + " |")
    lines += ["", "## What each term is worth", ""]
    lines += [
        "Time that is lost (less: gained) without it; what takes the place of a part was tried and left out."
    ]
    lines += ["", "| part of the rule, or what takes its place | family: more time, % |", "|---|---|"]
    for variant, families in TERMS.items():
        texts = (
            f"{_mean(values(family, variant)):.1f} of 1,000 files"
            if _judged(FAMILIES[family]) == "room"
            else _text(more(family, variant, OURS)) + fewer(family, variant)
            for family in families
        )
        named = "; ".join(f"`{family}` {entry}" for family, entry in zip(families, texts, strict=True))
        part = "without" if variant.startswith("no-") else "instead"
        lines.append(f"| {part}: {VARIANTS[variant][1]} (`{variant}`) | {named} |")
    return "\n".join(lines) + "\n"


def _families(values: object, more: object) -> Iterator[str]:
    assert callable(values)
    assert callable(more)
    yield (
        "| family | the rule | more than round robin, % | more than least-open, % | more than at random, % "
        "| clairvoyant |"
    )
    yield "|---|---|---|---|---|---|"
    rooms = [name for name, family in FAMILIES.items() if _judged(family) == "room"]
    for name in FAMILIES:
        ours, best = (_mean(values(name, rule)) for rule in (OURS, REFERENCE))
        if name in rooms:
            against = " | ".join(f"{_mean(values(name, rule)):.1f}" for rule in BASELINES)
            yield f"| `{name}` (of 1,000 files) | {ours:.1f} | {against} | {best:.1f} |"
        else:
            against = " | ".join(_text(more(name, OURS, rule)) for rule in BASELINES)
            yield f"| `{name}` | {ours:.3f} | {against} | {best:.3f} |"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _text(value: Interval, sign: str = "+") -> str:
    return f"{value.mean:{sign}.1f} ({value.low:{sign}.1f} to {value.high:{sign}.1f})"


def is_current() -> bool:
    """Whether the page was made by this code."""
    return PAGE.exists() and f"`{digest()}`" in PAGE.read_text("utf-8")


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure, or check."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only say whether the page is of this code")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="file in which runs are kept")
    given = parser.parse_args(None if arguments is None else list(arguments))
    if given.seeds < 2 or given.jobs < 1:
        parser.error("An interval takes two seeds, and a run a process.")
    if given.check:
        current = is_current()
        print(f"{PAGE.name} is {'of this code' if current else 'stale: other code made it'}")
        return 0 if current else 1
    keep = given.keep or Path(f"ses-measured-{digest()}.jsonl")
    PAGE.write_text(page(measure(given.seeds, given.jobs, keep), given.seeds), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
