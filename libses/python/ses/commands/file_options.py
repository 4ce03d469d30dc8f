"""Options that say which files a command is about."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from typing import Any

import click
from ses_client.errors import UsageError

from ses.commands.elements.effects import element_id
from ses.settings import current_user

_UNITS = {"m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}


def file_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command ``--user``, ``--job`` and so on; it receives ``asked``, the query of the service."""

    @functools.wraps(command)
    def asking(
        *,
        user: str,
        everybody: bool,
        application: str | None,
        vo: str | None,
        job: str | None,
        element: str | None,
        last: str | None,
        **rest: Any,
    ) -> Any:
        element = None if element is None else element_id(element)
        asked = {"application": application, "vo": vo, "job": job, "element": element}
        asked["user"] = None if everybody else user
        if last is not None:
            asked["since"] = str(time.time() - _seconds(last))
        return command(asked={name: value for name, value in asked.items() if value is not None}, **rest)

    for option in (
        click.option("--last", metavar="TIME", help="Only what ended within this time: 30m, 12h, 7d or 2w."),
        click.option("--element", help="Only files on this element."),
        click.option("--job", help="Only files of this job."),
        click.option("--vo", help="Only files of this virtual organisation."),
        click.option("--application", help="Only files of this program, like dd."),
        click.option("--everybody", is_flag=True, help="Files of all users, not only one's."),
        click.option("--user", default=current_user, show_default="you", help="Whose files."),
    ):
        asking = option(asking)
    return asking


def _seconds(text: str) -> float:
    unit = _UNITS.get(text[-1:])
    try:
        if unit is not None and 0 < (value := float(text[:-1])) < math.inf:
            return value * unit
    except ValueError:
        pass
    raise UsageError(f"{text!r} is no time, such as 30m, 12h, 7d or 2w.")
