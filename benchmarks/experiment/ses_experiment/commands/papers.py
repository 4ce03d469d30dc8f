"""``ses experiment papers``: every experiment of the five papers that can be repeated here, in turn."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

import click
from ses.commands.examples import examples
from ses.commands.options import json_option
from ses.demo.interrupts import Interrupts, stoppable
from ses.demo.processes import started
from ses.output import console, line, print_json, table
from ses.whole_file import write_whole
from ses_client.errors import SesError

PICTURE = "{picture}"  # in arguments: a file for what the experiment draws,
KEPT = "{kept}"  # and one by which an experiment that was stopped goes on
_END_SECONDS = 300.0  # an experiment undoes what it made


@dataclass(frozen=True, slots=True)
class Repeated:
    """An experiment: what it repeats, its arguments in the short and the long form, and minutes of both."""

    name: str
    repeats: str
    short: Sequence[str]
    long: Sequence[str]
    minutes: tuple[int, int]


EXPERIMENTS = (
    Repeated(
        "read2", "READ2, Figures 3 and 4",
        ("--filter", "--allowed", "100,800", "--rounds", "2", "--plot", PICTURE),
        ("--filter", "--plot", PICTURE), (1, 2),
    ),
    Repeated("sort", "READ2, section 6: an external two-pass sort", ("--size", "32"), (), (1, 1)),
    Repeated(
        "dedicated", "RDMA-Sync, section 4.4", ("--short", "--plot", PICTURE),
        ("--sizes", "8,16,1024", "--periods", "4,16", "--servers", "1,16,32", "--seconds", "1",
         "--plot", PICTURE), (1, 10),
    ),
    Repeated(
        "share", "dedicated core, Figures 5 and 6", ("--short", "--plot", PICTURE),
        ("--rounds", "2", "--plot", PICTURE), (2, 8),
    ),
    Repeated("disc", "DiSC, section 3", ("--short",), ("--cost", "desktop=600,endpoint=80"), (3, 12)),
    Repeated(
        "orca", "ORCA, Figures 3 to 10",
        ("--short", "--kind", "alike,unlike", "--clients", "1,4", "--plot", PICTURE),
        ("--size", "64,256", "--repeat", "1", "--kind", "alike,unlike", "--clients", "1,4", "--service",
         "--plot", PICTURE), (5, 22),
    ),
    Repeated(
        "needs", "QStorMan, section 5: users who need different things",
        ("--alike", "--baseline", "rand", "--rounds", "1"),
        ("--alike", "--baseline", "rand", "--rounds", "4"), (3, 11),
    ),
    Repeated("nodes", "QStorMan, section 4: nodes for tasks", ("--rounds", "2"), ("--rounds", "8"), (2, 7)),
    Repeated("programs", "QStorMan, section 6: programs", ("--rounds", "2"), ("--rounds", "8"), (2, 6)),
    Repeated("smed", "QStorMan, section 5: what SMED costs", ("--slices", "10"), (), (1, 3)),
    Repeated(
        "table1", "QStorMan, Table 1 and Figure 4",
        ("--paper", "--repeat", "3", "--resume", KEPT, "--plot", PICTURE),
        ("--paper", "--resume", KEPT, "--plot", PICTURE), (4, 21),
    ),
)  # fmt: skip


@click.command(epilog=examples("ses experiment papers --short --directory results"))
@click.option("--short", is_flag=True, help="Each in its short form: half an hour; else two hours.")
@click.option(
    "--directory", type=click.Path(path_type=Path, file_okay=False), default=Path("papers"),
    show_default=True, metavar="DIRECTORY", help="Where results are kept; what is there is not run again.",
)  # fmt: skip
@json_option
def papers(short: bool, directory: Path, as_json: bool) -> None:
    """Run every experiment of the five papers that can be repeated here, and keep what each prints.

    Each result is a file of JSON in the directory, beside the picture where there is one. Started again, it
    goes on with those that are missing. What came out, claim by claim: docs/papers.md.
    """
    folder = directory / ("short" if short else "long")
    folder.mkdir(parents=True, exist_ok=True)
    results: dict[str, object] = {}
    failed: list[str] = []
    with stoppable(console(sys.stderr)) as (interrupts, _):
        for number, experiment in enumerate(EXPERIMENTS, 1):
            file = folder / f"{experiment.name}.json"
            about = f"{number} of {len(EXPERIMENTS)}, {experiment.name} ({experiment.repeats})"
            if not file.exists():
                minutes = experiment.minutes[0 if short else 1]
                line(console(sys.stderr), f"{about}: about {minutes} minutes")
                if not _run(experiment, short, folder, file, interrupts):
                    failed.append(experiment.name)
                    continue
            results[experiment.name] = json.loads(file.read_text("utf-8"))
    if as_json:
        print_json(results)
    else:
        rows = [
            [
                entry.name,
                entry.repeats,
                "failed" if entry.name in failed else str(folder / f"{entry.name}.json"),
            ]
            for entry in EXPERIMENTS
        ]
        table(console(), ("experiment", "repeats", "result"), rows)
    if failed:
        raise SesError(f"These ended without a result: {', '.join(failed)}. Start again to repeat only them.")


def _run(experiment: Repeated, short: bool, folder: Path, file: Path, interrupts: Interrupts) -> bool:
    """Run one; false: it ended without a result, and said why.  Who stops this waits for its end."""
    files = {PICTURE: folder / f"{experiment.name}.svg", KEPT: folder / f"{experiment.name}.jsonl"}
    arguments = [str(files.get(word, word)) for word in (experiment.short if short else experiment.long)]
    command = [sys.argv[0], "experiment", experiment.name, *arguments, "--json"]
    with ExitStack() as undo:
        output = undo.enter_context(TemporaryFile("w+"))
        process = started(command, undo, _END_SECONDS, stdout=output)
        while process.poll() is None:
            interrupts.pause()
        output.seek(0)
        printed = output.read()
    try:
        json.loads(printed)
    except ValueError:
        return False
    write_whole(file, printed, 0o644)
    return True
