"""The ``smed-monitor`` command.  Exit codes: 0 good, 1 an element is missing, 2 wrong settings or usage."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import click
import structlog

from smed_monitor.collectors.registry import COLLECTORS
from smed_monitor.errors import SettingsError
from smed_monitor.model import State
from smed_monitor.monitor import Monitor
from smed_monitor.report import print_table
from smed_monitor.schemas import observations_out
from smed_monitor.server import serve as serve_forever
from smed_monitor.settings import Settings, load


def _host_and_port(_context: click.Context, _option: click.Parameter, value: str) -> str:
    host, _, port = value.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise click.BadParameter(f"{value!r} is not HOST:PORT, for example 127.0.0.1:8631")
    return value


config_option = click.option(
    "--config",
    "path",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Settings file (TOML): targets to scrape and elements to look for.",
)


@click.group()
def main() -> None:
    """Watch storage elements: rates, load and free space, each with its age."""


@main.command()
@config_option
@click.option(
    "--listen",
    default="127.0.0.1:8631",
    show_default=True,
    callback=_host_and_port,
    help="HOST:PORT; port 0: a free one, told in the first line of the log.",
)
@click.option(
    "--log-level",
    default="info",
    show_default=True,
    type=click.Choice(["debug", "info", "warning", "error"]),
    help="Least important events to log, as JSON lines on standard error.",
)
def serve(path: Path, listen: str, log_level: str) -> None:
    """Scrape and answer until SIGTERM."""
    settings = _settings(path)
    _log_to_stderr(log_level)
    serve_forever(settings, listen)


@main.command()
@config_option
@click.option("--json", "as_json", is_flag=True, help="Print what GET /v1/observations would answer.")
def check(path: Path, as_json: bool) -> None:
    """Check the settings, scrape every target once and say what was found (no rates: those take two)."""
    monitor = Monitor(_settings(path))
    _log_to_stderr("error")
    monitor.scrape_once()
    snapshot = monitor.table.snapshot()
    if as_json:
        click.echo(observations_out(snapshot).model_dump_json(indent=2))
    else:
        print_table(snapshot.observations)
    sys.exit(0 if all(each.state is State.OK for each in snapshot.observations) else 1)


def _settings(path: Path) -> Settings:
    try:
        return load(path, collectors=COLLECTORS)
    except SettingsError as error:
        click.echo(str(error), err=True)
        sys.exit(2)


def _log_to_stderr(level: str) -> None:
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
    )
