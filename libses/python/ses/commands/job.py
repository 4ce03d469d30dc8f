"""``ses job``: what the files of one job of the scheduler asked for, were promised and got."""

from __future__ import annotations

import re
import time

import click
from rich.console import Console
from ses_client.client import ServiceClient
from ses_client.errors import NotFoundError

from ses.commands.examples import examples
from ses.commands.options import Number, service_command
from ses.files import listed
from ses.job import Job, Need, middle
from ses.output import console, line, number, print_json, table
from ses.slurm.comment import JobRecord, name_of, record_of, set_comment

_PAUSE_SECONDS = 0.2


@click.command(epilog=examples("ses job 4711", "ses job 4711 --wait 30 --comment"))
@click.argument("job")
@click.option(
    "--wait", type=Number(0), default=0.0, metavar="SECONDS",
    help="Seconds to wait for files that are open, or not reported yet.",
)  # fmt: skip
@click.option("--comment", is_flag=True, help="Write one line of it into AdminComment of Slurm's job.")
@service_command
def job(client: ServiceClient, as_json: bool, job: str, wait: float, comment: bool) -> None:
    """Sum up the files of JOB: where they are, what was required, promised and received.

    A task of an array of Slurm is 4711_3 while Slurm knows it, else the number that is its SLURM_JOB_ID.
    With --comment only files of the job's user count, as Slurm knows it.
    Promised is what was predicted at the create.  Rates are medians, and in brackets the least.
    """
    record = record_of(job) if comment else None
    if record is not None:
        job = record.name.number
    elif re.fullmatch("[0-9]+_[0-9]+", job):
        job = name_of(job).number
    end = time.monotonic() + wait
    while True:
        summary = _summed(client, job, record)
        if (summary.elements and not summary.total.open) or time.monotonic() >= end:
            break
        time.sleep(_PAUSE_SECONDS)
    if not summary.elements:
        raise NotFoundError(f"No file of job {job} is known.")
    if record is not None:
        set_comment(record, summary.line())
    if as_json:
        print_json(summary.as_json())
    else:
        _show(console(), summary)


def _summed(client: ServiceClient, job: str, record: JobRecord | None) -> Job:
    """Sum up all files that name the job, or those of its user, where Slurm named the user."""
    files = (file for page in listed(client, {"job": job}, None) for file in page["files"])
    return Job.of(job, (file for file in files if record is None or record.is_of(str(file["user"]))))


def _show(out: Console, summary: Job) -> None:
    total = summary.total
    open_ = f", {total.open} of them open" if total.open else ""
    whose = ", ".join(sorted(summary.users))
    line(out, f"Job {summary.name} of {whose}: {total.files} files on {len(summary.nodes)} nodes{open_}")
    if summary.needs:
        headers = ("kind", ">required", ">promised", ">got", "", "verdicts")
        table(out, headers, [_need(need) for need in summary.needs.values()])
    rows = [
        [
            name,
            str(share.files),
            str(share.open),
            number(share.bytes_written / 1e6),
            number(share.bytes_read / 1e6),
        ]
        for name, share in sorted(summary.elements.items())
    ]
    table(out, ("element", ">files", ">open", ">MB written", ">MB read"), rows)


def _need(need: Need) -> list[str]:
    return [
        need.kind,
        number(need.required),
        _spread(need.promised),
        _spread(need.got),
        need.unit,
        need.verdict_counts,
    ]


def _spread(values: list[float]) -> str:
    return f"{middle(values)} ({min(values):.1f})" if values else "-"
