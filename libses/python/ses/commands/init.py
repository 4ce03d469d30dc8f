"""``ses init``: the configuration of a site, written from what is mounted here and a few answers."""

from __future__ import annotations

import re
import socket
import sys
from pathlib import Path

import click
from ses_client.errors import UsageError

from ses.commands.examples import examples
from ses.commands.options import Existing, json_option
from ses.doctor.mounts import check_undescribed
from ses.output import console, line, print_json, say, table
from ses.setup.contents import SERVICE_PORT, Answers
from ses.setup.storage import Storage, set_of, storage_at
from ses.setup.writing import ADMIN, extend, lacking, planned, write

_PLAIN = re.compile(r"[A-Za-z0-9._:@%/+=,?&~\[\]-]+")  # goes into a line of options without quotes
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*")


@click.command(
    epilog=examples(
        "ses init --storage /srv/union --node n1 --node n2",
        "ses init /tmp/site --storage /srv/union --dry-run",
        "ses init --directories /scratch1 --directories /nfs/scratch",
    )
)
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path), default="/etc")
@click.option(
    "--storage", multiple=True, metavar="MOUNT",
    type=Existing(file_okay=False),
    help="Where a mergerfs union or Lustre is mounted; may be repeated.",
)  # fmt: skip
@click.option(
    "--directories", multiple=True, metavar="DIR",
    help="A plain directory in which places are chosen (ses place); may be repeated.",
)  # fmt: skip
@click.option(
    "--exporter", "exporters", multiple=True, metavar="URL",
    help="An exporter that sees the elements; may be repeated.  Of Lustre's servers: Whamcloud's; "
    "of a union's, and of directories: node_exporter.  [without: what this machine sees itself]",
)  # fmt: skip
@click.option(
    "--host", metavar="NAME[,NAME|ADDRESS]...",
    help="This machine, by every name and address that nodes and people call it.  [its host name]",
)  # fmt: skip
@click.option("--node", "nodes", multiple=True, help="A node that runs an agent; may be repeated.")
@click.option(
    "--munge", is_flag=True, help="Nodes prove themselves by the site's MUNGE key and need no tokens."
)
@click.option("--kb-url", metavar="URL", help="A Fuseki to use.  [the embedded knowledge base]")
@click.option("--database-url", metavar="URL", help="A database for the ledger.  [SQLite]")
@click.option("--dry-run", is_flag=True, help="Say what would be written; write nothing.")
@json_option
def init(
    directory: Path,
    storage: tuple[Path, ...],
    directories: tuple[str, ...],
    exporters: tuple[str, ...],
    host: str | None,
    nodes: tuple[str, ...],
    munge: bool,
    kb_url: str | None,
    database_url: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Write the configuration of a site below DIRECTORY, [/etc], with comments to read and change.

    Run it on the machine of the services, as root: description of the storage, settings of the monitor,
    options of each service, a token for each node, certificates.  Nothing is overwritten.  On a terminal it
    asks for what is not given.  What to do next: docs/site.md.

    Run again after a disk was added, it adds that to the description and leaves all else as it is.
    """
    if not (storage or directories) and not as_json and sys.stdin.isatty():
        storage, directories, host, nodes = _ask(host, nodes, munge)
    if not (storage or directories):
        raise UsageError(
            "Give --storage MOUNT: where a mergerfs union or Lustre is mounted on this machine. "
            "Or --directories DIR: a plain directory in which places are chosen."
        )
    systems: list[Storage] = []
    for system in storage:
        systems.append(storage_at(system, exporters, systems))
    if directories:
        systems.append(set_of(directories, exporters))
    answers = Answers(
        directory=directory.absolute(),
        storage=tuple(systems),
        hosts=tuple((host or socket.gethostname()).split(",")),
        nodes=nodes,
        kb_url=kb_url or "",
        database_url=database_url or "",
        munge=munge,
    )
    _check(answers)
    for cause, step in (warning for system in answers.storage for warning in system.warnings):
        say(f"Warning: {cause} {step}", err=True)
    for warning in (
        finding
        for system in answers.storage
        if system.mount_point
        for finding in check_undescribed(system.mount_point)
    ):
        say(f"Warning: {warning.detail} {warning.mend}", err=True)
    files, added = planned(answers), lacking(answers)
    if added:
        files = {answers.here / "site.ttl": "the storage, with what was not described"}
    if not dry_run:
        extend(answers, added) if added else write(answers)
    if as_json:
        print_json({
            "written": not dry_run,
            "files": [{"path": str(path), "what": what} for path, what in files.items()],
            "storage": [
                {"name": system.name, "mount_point": system.mount_point, "elements": system.elements}
                for system in answers.storage
            ],
        })  # fmt: skip
        return
    _show(answers, files, dry_run)
    if not dry_run:
        _show_next(answers, is_first=not added)


def _ask(
    host: str | None, nodes: tuple[str, ...], munge: bool
) -> tuple[tuple[Path, ...], tuple[str, ...], str, tuple[str, ...]]:
    kind = click.Path(file_okay=False, exists=True, path_type=Path)

    def path(text: str) -> Path | None:
        return kind.convert(text, None, None) if text else None

    mounts: list[Path] = []
    question = "Where is the storage mounted (a mergerfs union, or Lustre; Enter: nowhere)"
    while mount := click.prompt(question, default="", show_default=False, value_proc=path):
        mounts.append(mount)
        question = "Another mount point (Enter: no more)"
    question = "Plain directories in which places are chosen, separated by spaces (Enter: none)"
    directories = click.prompt(question, default="", show_default=False).split()
    host = host or click.prompt("Names and addresses of this machine", default=socket.gethostname())
    if not nodes and not munge:
        answer = click.prompt("Nodes that run programs, separated by spaces", default="", show_default=False)
        nodes = tuple(answer.split())
    return tuple(mounts), tuple(directories), host, nodes


def _check(answers: Answers) -> None:
    """Refuse what would not be one word in a line of options, and names used twice."""
    if answers.munge and answers.nodes:
        raise UsageError("With --munge no node needs a token: leave --node out.")
    for name in (*answers.hosts, *answers.nodes):
        if not _NAME.fullmatch(name.replace(":", "0")):
            raise UsageError(f"{name!r} is no name of a machine.")
    if ADMIN in answers.nodes:
        raise UsageError(
            f"The token of a node called {ADMIN} would lie where the administrator's does: leave it out, and "
            f"make its token afterwards (ses-service token new --role node --node {ADMIN})."
        )
    for word in (str(answers.directory), answers.kb_url, answers.database_url):
        if word and not _PLAIN.fullmatch(word):
            raise UsageError(f"{word!r} has characters that cannot stand in a line of options.")
    names = [system.name for system in answers.storage]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise UsageError(f"Two storage systems are called {min(twice)}: name one mount point otherwise.")


def _show(answers: Answers, files: dict[Path, str], dry_run: bool) -> None:
    out = console()
    described = ", ".join(f"{system.called} ({system.elements} elements)" for system in answers.storage)
    line(out, f"{'Would describe' if dry_run else 'Described'} {described}.")
    table(out, ("file", "what it is"), [[str(path), what] for path, what in files.items()])
    if dry_run:
        line(out, "Nothing was written.")


def _show_next(answers: Answers, is_first: bool) -> None:
    out, here, host = console(), answers.here, answers.hosts[0]
    line(out, "next (docs/site.md):")
    if answers.kb_url and is_first:
        line(
            out,
            f"  write the account of {answers.kb_url}, USER:PASSWORD, to {here}/kb-credentials (mode 0600)",
        )
    if not is_first and any(not system.mount_point for system in answers.storage):
        line(out, f"  add the directories to paths of their [[target]] in {here}/smed.toml")
    line(out, f"  ses kb validate {here}/site.ttl")
    line(out, f"  smed-monitor check --config {here}/smed.toml --site {here}/site.ttl")
    if not is_first:
        line(out, "  systemctl restart smed-monitor ses-service  (they read the description when they start)")
        return
    line(out, "  systemctl enable --now smed-monitor ses-service ses-webface")
    line(out, f"  ses doctor; from other machines: ses doctor --url https://{host}:{SERVICE_PORT}")
