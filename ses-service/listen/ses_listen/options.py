"""Options that the commands of service, monitor and portal share."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

_FILE = click.Path(path_type=Path, dir_okay=False)

log_level_option = click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="Least important events to log, as JSON lines on standard error.",
)


class Number(click.FloatRange):
    """A finite number in a range, which click's own lets ``nan`` pass."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is no number.", param, ctx)
        return number


def listen_option(default: str, help_: str) -> Callable[[Command], Command]:
    """Return the option whose value :class:`ses_listen.server.Listener` takes."""
    return click.option(
        "--listen",
        default=default,
        show_default=True,
        callback=_host_and_port,
        metavar="HOST:PORT",
        help=f"Where to serve; port 0: a free one, which the log names.  {help_}",
    )


def _host_and_port(_context: click.Context, _option: click.Parameter, value: str) -> str:
    host, _, port = value.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise click.BadParameter(f"{value!r} is not HOST:PORT, such as 127.0.0.1:8630")
    return value


def address(*begins: str) -> Callable[[click.Context, click.Parameter, str | None], str | None]:
    """Return the callback of an option whose value is an address that begins with one of these."""

    def checked(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
        if value is not None and not any(value.startswith(prefix) and value != prefix for prefix in begins):
            raise click.BadParameter(f"{value!r} is no address: it begins with {' or '.join(begins)}")
        if value is not None and "@" in value.partition("://")[2].partition("/")[0]:
            raise click.BadParameter("a password in an address can be seen by others, as by ps")
        return value

    return checked


def tls_options(command: Command) -> Command:
    """Add the options whose values :func:`ses_listen.tls.files_of` takes."""
    for option in (
        click.option("--tls-ca", type=_FILE, help="Clients must show a certificate of this authority (PEM)."),
        click.option("--tls-key", type=_FILE, help="Its key (PEM), mode 0600."),
        click.option(
            "--tls-cert",
            type=_FILE,
            help="Certificate (PEM), for https; see: ses-service tls init.  A renewed one is shown to "
            "connections made afterwards.",
        ),
    ):
        command = option(command)
    return command
