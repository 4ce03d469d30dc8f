"""Options that several commands have."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from ses_client.address import DEFAULT_URL
from ses_client.errors import NotFoundError, UsageError

from ses.settings import SERVICE_SOCKET, current_user, service_address

if TYPE_CHECKING:
    from ses_client.client import ServiceClient

    Connect = Callable[[], ServiceClient]


class FileName(click.Path):
    """The name of a file, which may be gone; an empty one is none, and no other name of the directory."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; raises UsageError."""
        if value == "":
            raise UsageError("An empty text is no name of a file.")
        return super().convert(value, param, ctx)


class Existing(click.Path):
    """A path that is there; one that is not exits as every name of what does not exist."""

    def __init__(self, *, file_okay: bool = True, dir_okay: bool = True, writable: bool = False) -> None:
        super().__init__(
            exists=True, file_okay=file_okay, dir_okay=dir_okay, writable=writable, path_type=Path
        )

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; raises NotFoundError."""
        if not Path(value).exists():
            raise NotFoundError(f"There is no {'file' if self.file_okay else 'directory'} {value}.")
        return super().convert(value, param, ctx)


class Number(click.FloatRange):
    """A finite number in a range, which click's own lets ``nan`` pass."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is no number.", param, ctx)
        return number


class Parsed(click.ParamType):  # type: ignore[type-arg]  # click 8.1 of Debian 12 names no type there
    """What ``read`` makes of a text; it raises ValueError with a sentence for what it cannot read."""

    def __init__(self, name: str, read: Callable[[str], Any]) -> None:
        self.name = name
        self._read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return what was read; what is no text was read before."""
        if not isinstance(value, str):
            return value
        try:
            return self._read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

wide_option = click.option(
    "--wide", is_flag=True, help="Show every column, each row on one line, however narrow the terminal."
)

_url_option = click.option(
    "--url",
    help="The selection service: https, unix: and the path of its socket, or http on this machine. "
    f"[SES_SERVICE_URL, else that of ses login, else unix:{SERVICE_SOCKET} if it exists, else {DEFAULT_URL}]",
    metavar="URL",
)
_token_option = click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File (mode 0600) with your token. [SES_TOKEN_FILE, else ~/.config/ses/token]",
)

_ca_option = click.option(
    "--service-ca",
    type=Existing(dir_okay=False),
    help="Authority (PEM) of an https service. [SES_SERVICE_CA, else the system's]",
)


def service_command(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a call: where, with which token, verified by what, and ``--json``.

    It receives ``client, as_json``.
    """

    @functools.wraps(command)
    def with_client(*, connect: Connect, **rest: Any) -> Any:
        return command(client=connect(), **rest)

    return service_options(json_option(with_client))


def service_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say where the service is; it receives ``connect``, which connects."""

    @functools.wraps(command)
    def with_address(
        *, url: str | None, token_file: Path | None, service_ca: Path | None, **rest: Any
    ) -> Any:
        def connect() -> ServiceClient:
            from ses_client.client import ServiceClient  # takes longer to load than all the rest

            return ServiceClient(service_address(url, token_file, service_ca))

        return command(connect=connect, **rest)

    return _url_option(_token_option(_ca_option(with_address)))


def subject_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command ``--user``, ``--application`` and ``--vo``; it receives ``subject``."""

    @functools.wraps(command)
    def with_subject(*, user: str, application: str | None, vo: str | None, **rest: Any) -> Any:
        from ses_client.messages.requirements import Subject

        return command(subject=Subject(user=user, application=application, vo=vo), **rest)

    asking = with_subject
    for option in (
        click.option("--vo", help="Virtual organisation. [the user's home VO]"),
        click.option("--application", help="Short name of the program, like dd."),
        click.option("--user", default=current_user, show_default="you", help="User name on the nodes."),
    ):
        asking = option(asking)
    return asking
