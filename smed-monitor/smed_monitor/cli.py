"""The ``smed-monitor`` command.  Exit codes: 0 good, 1 an element is missing, 2 wrong settings or usage.

What a command needs is imported when it runs: help comes at once.
"""

from __future__ import annotations

from ses_listen import ctrl_c  # first: it acts while the others are loaded

# isort: split
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
from ses_listen.options import Number, listen_option, log_level_option, tls_options
from ses_listen.program import Program

if TYPE_CHECKING:
    from smed_monitor.config.settings import ElementSettings, Settings


def _made(_context: click.Context, _option: click.Parameter, value: Path | None) -> Path | None:
    if value is None:
        return None
    try:
        value.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise click.BadParameter(f"{value} cannot be made: {error.strerror}") from None
    if not os.access(value, os.W_OK | os.X_OK):
        raise click.BadParameter(f"{value} is not writable")
    return value


config_option = click.option(
    "--config",
    "path",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Settings file (TOML): targets to scrape and elements to look for.",
)


site_option = click.option(
    "--site",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Description of the site (Turtle): elements to look for, besides those of the settings.",
)


@click.group(cls=Program)
@click.version_option(
    package_name="qstorman-smed-monitor", prog_name="smed-monitor", message="%(prog)s %(version)s"
)
def main() -> None:
    """Watch storage elements: rates, load and free space, each with its age."""


@main.command(epilog="\b\nExample:\n  smed-monitor serve --config smed.toml --site site.ttl")
@config_option
@site_option
@listen_option("127.0.0.1:8631", "Beyond this machine with --tls-cert only.")
@tls_options
@click.option(
    "--state-dir",
    type=click.Path(path_type=Path, file_okay=False),
    callback=_made,
    help="Directory that keeps history and learned rates over a restart, made if missing; without it they "
    "are lost.",
)
@log_level_option
def serve(
    path: Path,
    site: Path | None,
    listen: str,
    tls_cert: Path | None,
    tls_key: Path | None,
    tls_ca: Path | None,
    state_dir: Path | None,
    log_level: str,
) -> None:
    """Scrape and answer until SIGTERM."""
    ctrl_c.ends_the_process()
    from ses_listen.logs import log_to_stderr
    from ses_listen.server import ListenError
    from ses_listen.tls import MEND, TlsError, files_of, is_local

    from smed_monitor.http.server import serve as serve_forever

    settings = _settings(path, site)
    try:
        files = files_of(tls_cert, tls_key, tls_ca)
        if files is None and not is_local(listen):
            raise TlsError(f"it would listen on {listen} for everybody, unverified and in clear text. {MEND}")
        log_to_stderr(log_level)
        serve_forever(settings, listen, state_dir, files)
    except TlsError as error:
        raise click.UsageError(str(error)) from None
    except ListenError as error:
        raise click.ClickException(str(error)) from None


@main.command(epilog="\b\nExample:\n  smed-monitor check --config /etc/qstorman/smed.toml")
@config_option
@site_option
@click.option("--json", "as_json", is_flag=True, help="Print what GET /v1/observations would answer.")
def check(path: Path, site: Path | None, as_json: bool) -> None:
    """Check the settings, scrape every target once, say what is found.

    No rates: those take two scrapes.
    """
    from ses_listen.logs import log_to_stderr

    from smed_monitor.core.model import State
    from smed_monitor.http.answer import observations_json
    from smed_monitor.http.schemas import ObservationsOut
    from smed_monitor.report import print_table
    from smed_monitor.scraping.monitor import Monitor

    monitor = Monitor(_settings(path, site))
    log_to_stderr("error")
    monitor.scrape_once()
    snapshot = monitor.table.snapshot()
    if as_json:
        answer = ObservationsOut.model_validate_json(observations_json(snapshot, monitor.windows))
        click.echo(json.dumps(answer.model_dump(mode="json"), indent=2))
    else:
        print_table(snapshot.observations)
    sys.exit(0 if all(each.state is State.OK for each in snapshot.observations) else 1)


@main.command(epilog="\b\nExample:\n  smed-monitor textfile --output /var/lib/node_exporter/lustre.prom")
@click.option(
    "--output",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write: a .prom in the directory node_exporter reads.",
)
@click.option(
    "--interval",
    default=5.0,
    show_default=True,
    type=Number(0.1, 3600),
    help="Seconds between writes.",
)
@click.option(
    "--root",
    default="/",
    show_default=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Where this server's proc and sys are.",
)
@click.option("--once", is_flag=True, help="Write once and end.")
def textfile(output: Path, interval: float, root: Path, once: bool) -> None:
    """Write this server's OSTs and quotas for node_exporter.

    Until SIGTERM; its textfile collector reads what is written.  Lustre shows quotas on the server of its
    first MDT.
    """
    from smed_monitor.collectors.registry import COLLECTORS
    from smed_monitor.config.settings import Target
    from smed_monitor.core.errors import MonitorError
    from smed_monitor.quotas.names import Names
    from smed_monitor.textfile import Server, write

    target = Target(name="local", collector="lustre_files", root=str(root.absolute()), timeout_seconds=5.0)
    server = Server(target, COLLECTORS[target.collector], Names())
    while True:
        try:
            write(output, server.page())
        except (MonitorError, OSError) as error:
            click.echo(f"{output} is not written: Lustre of this server {error}", err=True)
            if once:
                sys.exit(1)
        if once:
            return
        time.sleep(interval)


def _settings(path: Path, site: Path | None) -> Settings:
    from smed_monitor.collectors.registry import COLLECTORS
    from smed_monitor.config.settings import load
    from smed_monitor.config.site import described
    from smed_monitor.core.errors import SettingsError

    def elements(settings: Settings) -> tuple[ElementSettings, ...]:
        assert site is not None
        return described(site, settings.targets, COLLECTORS, own=[each.id for each in settings.elements])

    try:
        return load(path, collectors=COLLECTORS, described=elements if site else None)
    except SettingsError as error:
        click.echo(str(error), err=True)
        sys.exit(2)


ctrl_c.is_an_exception()  # a program that only imports this keeps what it had
