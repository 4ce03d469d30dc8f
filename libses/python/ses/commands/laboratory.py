"""Commands of the laboratory, which are distributions of their own: found by their entry points when called.

A distribution names its command in the group ``ses.commands``.  Reading entry points takes longer than the
help of ``ses``; so the names are known beforehand (:mod:`ses.cli`).
"""

from __future__ import annotations

import click
from ses_client.errors import SesError

from ses import ctrl_c_at_start

GROUP = "ses.commands"


def command(name: str, says: str) -> click.Command:
    """Return the command of this name, or one that says what to install."""
    from importlib.metadata import entry_points

    why = ""
    for entry in entry_points(group=GROUP, name=name):
        ctrl_c_at_start.ends_the_process()  # as an exception it may be lost in what an import calls
        try:
            loaded: click.Command = entry.load()
        except ModuleNotFoundError as error:
            why = f" ({error})"
        else:
            return loaded
        finally:
            ctrl_c_at_start.is_an_exception()
    return _not_installed(name, says, why)


def _not_installed(name: str, says: str, why: str) -> click.Command:
    missing = (
        f"ses {name} is not installed beside this command. It is in benchmarks/{name} of a checkout, "
        f"where `make install` installs it into .venv.{why}"
    )

    def refuse() -> None:
        raise SesError(missing)

    anything = {"ignore_unknown_options": True, "allow_extra_args": True}
    return click.Command(name, callback=refuse, help=f"{says}\n\n{missing}", context_settings=anything)
