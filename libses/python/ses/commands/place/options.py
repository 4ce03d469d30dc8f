"""Options that the commands of places share."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import click
from ses_client.errors import UsageError

ledger_option = click.option(
    "--ledger",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File of the claims; in a directory with the setgid bit a group shares it. "
    "[places-HOST.sqlite in $XDG_STATE_HOME/ses or ~/.local/state/ses]",
)


def _account(_: click.Context, __: click.Parameter, name: str | None) -> pwd.struct_passwd | None:
    if name is None:
        return None
    if os.geteuid() != 0:
        raise UsageError("--user is for root: others have places of their own only.")
    try:
        return pwd.getpwuid(int(name)) if name.isdecimal() else pwd.getpwnam(name)
    except KeyError:
        raise UsageError(f"This machine knows no user {name!r}.") from None


user_option = click.option("--user", "owner", callback=_account, help="As root: whose place it is. [you]")


def become(owner: pwd.struct_passwd | None) -> None:
    """Go on as this user: the service gives to who asks."""
    if owner is not None:
        os.initgroups(owner.pw_name, owner.pw_gid)
        os.setgid(owner.pw_gid)
        os.setuid(owner.pw_uid)
        os.environ |= {"HOME": owner.pw_dir, "LOGNAME": owner.pw_name}


def shown_path(path: str) -> str:
    """Return a path for a terminal: what would steer it is escaped."""
    from ses_client.visible import on_one_line

    return on_one_line(path)


def service_is_named() -> bool:
    """Whether a machine has a service to ask: else there are claims of the machine alone."""
    from ses.settings import SERVICE_SOCKET, own_directory

    named = os.environ.get("SES_SERVICE_URL") or click.get_current_context().params.get("url")
    of_login = os.path.exists(own_directory() / "service")  # noqa: PTH110  # as in settings
    return bool(named) or of_login or SERVICE_SOCKET.exists()
