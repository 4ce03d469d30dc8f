"""``ses doctor``: each link of the chain, and how to mend it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click
from ses_client.client import ServiceClient
from ses_client.errors import EXIT_FAILED

from ses.commands.examples import examples
from ses.commands.options import Existing, service_command
from ses.doctor.examination import examine
from ses.doctor.finding import Finding, State
from ses.doctor.library import find_library
from ses.output import console, line, print_json
from ses.settings import DEFAULT_SOCKET

_MARKS = {
    State.OK: ("ok   ", "green"),
    State.WARNING: ("warn ", "yellow"),
    State.FAULT: ("FAULT", "red"),
    State.SKIPPED: ("-    ", "dim"),
}


@click.command(epilog=examples("ses doctor", "ses doctor --try /srv/union/alice"))
@click.option("--library", type=click.Path(path_type=Path), default=find_library, show_default="found",
              help="The preload library.")  # fmt: skip
@click.option("--socket", type=click.Path(path_type=Path), default=DEFAULT_SOCKET, show_default=True,
              envvar="SES_AGENT_SOCKET", show_envvar=True, help="Where the agent listens.")  # fmt: skip
@click.option("--try", "trial", type=Existing(file_okay=False),
              help="Create one small file in this directory, follow it, and remove it.")  # fmt: skip
@service_command
def doctor(client: ServiceClient, as_json: bool, library: Path, socket: Path, trial: Path | None) -> None:
    """Check each link of the chain on this node: what is wrong, and how to mend it.

    Library, agent, service, monitor, exporters, knowledge base, union mounts, directories.  Changes nothing.
    Exits with 1 when something is wrong; a warning is not.
    """
    findings = examine(client, library, socket, trial)
    healthy = all(finding.state is not State.FAULT for finding in findings)
    if as_json:
        print_json({"ok": healthy, "checks": [asdict(finding) for finding in findings]})
    else:
        _show(findings)
    if not healthy:
        raise SystemExit(EXIT_FAILED)


def _show(findings: Sequence[Finding]) -> None:
    out = console()
    width = max(len(finding.link) for finding in findings)
    for finding in findings:
        mark, style = _MARKS[finding.state]
        line(out, f"{mark}  {finding.link:{width}}  {finding.detail}", style)
        if finding.mend:
            line(out, f"{' ' * (width + 9)}-> {finding.mend}")
    faults, warnings = (
        sum(1 for finding in findings if finding.state is state) for state in (State.FAULT, State.WARNING)
    )
    result = f"{faults} of {len(findings)} checks failed." if faults else "Every link holds."
    line(out, result + (f" Warnings: {warnings}." if warnings else ""))
