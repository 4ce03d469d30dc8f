"""The ``ses`` command: one group; each command is a file in :mod:`ses.commands`, loaded when it is called."""

from __future__ import annotations

from ses import ctrl_c_at_start  # first: it acts while the others are loaded

# isort: split
import errno
import os
import signal
import sys
from pathlib import Path
from typing import Any

import click

from ses.commands.groups import LoadedWhenCalled

# Each command: its module in ses.commands, and the first sentence of its help.
_COMMANDS = {
    "status": ("status", "Say whether the service is ready, and how fresh its data are."),
    "elements": ("elements.group", "List the storage elements; add, change and remove them."),
    "drain": ("elements.drain", "Let a storage element take no further files, such as before maintenance."),
    "undrain": ("elements.drain", "Let a drained storage element take files again."),
    "quotas": (
        "quotas",
        "List the quotas of file systems, and when each is used up at the pace of the last weeks.",
    ),
    "rank": ("rank", "Show what would be chosen now for a user's application with these needs."),
    "nodes": ("nodes.group", "Show the compute nodes, and find those that suit a task."),
    "explain": (
        "explain",
        "Say which element was chosen for FILE, why, what was refused, and where the bytes are.",
    ),
    "files": ("files", "List your files, the latest first: what was required, predicted and received."),
    "job": ("job", "Sum up the files of JOB: where they are, what was required, promised and received."),
    "report": ("report", "Say how often files received what was required, where not, and what would help."),
    "requirements": ("requirements.group", "What users, applications, VOs and the site need from storage."),
    "kb": (
        "kb.group",
        "Check descriptions of the site and of requirements, and exchange them with the knowledge base.",
    ),
    "doctor": ("doctor", "Check each link of the chain on this node: what is wrong, and how to mend it."),
    "demo": ("demo", "Place files of unmodified programs on eight small file systems, and show why there."),
    "place": ("place.place", "Choose one of several directories, print it, and keep a claim on it."),
    "places": (
        "place.claims",
        "List the claims of ses place: those of this machine, and yours that the service keeps.",
    ),
    "release": (
        "place.claims",
        "End a claim of yours, named by its id or its directory; the directory itself stays.",
    ),
    "layout": ("layout", "Show on which OSTs, pools and components (or which branch of a union) FILE lies."),
    "init": (
        "init",
        "Write the configuration of a site below DIRECTORY, [/etc], with comments to read and change.",
    ),
    "discover": (
        "discover",
        "List the OSTs of a Lustre, the branches of a union, directories, or the classes of Slurm's nodes.",
    ),
    "apply": (
        "apply",
        "Set a Lustre DIRECTORY's default, or steer a mergerfs union, to where files are served best now.",
    ),
    "calibrate": (
        "calibrate.elements",
        "Measure the write and read rate of elements, one after the other, with one stream.",
    ),
    "profile": ("profile", "Run PROGRAM, say what it moved and computed, and what it needs of storage."),
    "advise": (
        "advise.forecast",
        "Predict how long PROGRAM would take on each element, and what limits it there.",
    ),
    "run": ("become", "Run an unmodified program such that the files it creates are placed."),
    "copy": ("become", "Copy files and directories, each file to where it is served best."),
    "migrate": (
        "become",
        "Move the bytes of files to where they are served best now, under the names they have.",
    ),
    "login": ("login", "Keep your personal token, and the service it is for, for this and later commands."),
    "logout": ("login", "Revoke the token of ses login, and forget it and the service's address."),
    "token": ("token", "List, make and revoke your personal tokens."),
    "share": (
        "share.group",
        "Look at values that processes of this node share in memory, get and put them (docs/share.md).",
    ),
    "offload": (
        "offload.group",
        "Build a program of libses-offload for the nodes where its functions run, and put it there "
        "(docs/offload.md).",
    ),
    "run-near": (
        "near.run_near",
        "Run an unmodified program on the node that holds its files, if that is faster.",
    ),
    "map-near": ("near.map_near", "Run an unmodified program on each file, on the node that holds it."),
    "serve-runs": (
        "near.serve_runs",
        "Run here, as you, what you start in the portal: each run as ses map-near, in DIRECTORY.",
    ),
}

# Commands of distributions of their own, which may not be installed, and the first sentence of their help.
_LABORATORY = {
    "experiment": "Measure on this machine where files go and how long programs take.",
    "simulate": "Show how placement rules would fare, in a model of elements, monitor and programs.",
}

# What a write to standard output can fail with that is nobody's mistake here.
_NOT_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def _speak_utf8(stream: Any) -> None:
    """Let what is piped be UTF-8 wherever it is read; a byte of a name that is none becomes an escape."""
    if hasattr(stream, "reconfigure"):
        encoding = stream.encoding if stream.isatty() else "utf-8"
        stream.reconfigure(encoding=encoding, errors="backslashreplace")


class _Group(LoadedWhenCalled):
    def __call__(self, *args: Any, **options: Any) -> Any:
        """Run as the whole of a process."""
        ctrl_c_at_start.ends_the_process()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, nobody would hear how a child ended
        try:
            return self.main(*args, **options)
        finally:
            ctrl_c_at_start.is_an_exception()  # also where no command ran, as for --help

    def main(self, *args: Any, **options: Any) -> Any:
        """Run, and say in a sentence when standard output takes no more, or the working directory is gone.

        From a standard stream that is closed nothing is read, and nothing is shown on it.
        """
        for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
            if getattr(sys, name) is None:
                file = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115  # as long as the process
                setattr(sys, name, file)
        _speak_utf8(sys.stdout)
        try:
            try:
                return super().main(*args, **options)
            finally:
                sys.stdout.flush()
        except OSError as error:
            if error.filename is not None:
                from ses_client.visible import visible

                click.echo(visible(f"Error: {error.filename}: {error.strerror}."), err=True)
                raise SystemExit(1) from None
            if error.errno not in (*_NOT_WRITTEN, errno.EPIPE, errno.ENOENT):
                raise
            if error.errno == errno.ENOENT:  # os.getcwd() names no file
                click.echo("Error: The working directory does not exist any more.", err=True)
            elif error.errno != errno.EPIPE:  # the reader has seen enough
                click.echo(f"Error: The output cannot be written: {error.strerror}.", err=True)
            os._exit(1)  # what is in the buffer would be tried again at the end

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, loaded."""
        if cmd_name in _LABORATORY:
            from ses.commands import laboratory

            return laboratory.command(cmd_name, _LABORATORY[cmd_name])
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: click.Context) -> Any:
        from ses_client.errors import SesError

        try:
            ctrl_c_at_start.is_an_exception()
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo(err=True)  # behind ^C
            raise SystemExit(128 + signal.SIGINT) from None
        except SesError as error:
            from ses_client.visible import visible

            shown = click.ClickException(visible(error.full_message))
            shown.exit_code = error.exit_code  # type: ignore[misc]  # click reads it from the instance
            raise shown from error


@click.group(
    cls=_Group,
    modules={name: f"ses.commands.{module}" for name, (module, _) in _COMMANDS.items()},
    says={name: sentence for name, (_, sentence) in _COMMANDS.items()} | _LABORATORY,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=(
        "Exit status: 0 done; 1 something is not right, or the service failed; 2 the command line was not "
        "understood; 3 the service is not reachable; 4 the token is not accepted; 5 what was named does not "
        "exist, or nothing is left to choose from; 130 interrupted by Ctrl-C. Those that run a program exit "
        "with its status, 126 when it cannot be run, and 127 when there is none. docs/commands/README.md has "
        "the statuses of all programs."
    ),
)
@click.version_option(package_name="qstorman-ses", prog_name="ses", message="%(prog)s %(version)s")
def main() -> None:
    """Look at storage elements, rank them, see why files are where they are, find faults.

    A token is sent by https or to a service on this machine that is proven (docs/security.md).
    """


ctrl_c_at_start.is_an_exception()  # a program that only imports this keeps its own handling
