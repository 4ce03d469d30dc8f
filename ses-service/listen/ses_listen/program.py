"""The commands of one program: Ctrl-C ends each with status 130 and without a message."""

from __future__ import annotations

import signal
import sys
from typing import Any

import click

from ses_listen import ctrl_c


class Program(click.Group):
    """A group whose commands undo what they began; one that serves calls ``ctrl_c.ends_the_process``."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Run as the whole of a process."""
        ctrl_c.ends_the_process()
        try:
            return self.main(*args, **options)
        finally:
            ctrl_c.is_an_exception()  # also where no command ran, as for --help

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        ctrl_c.is_an_exception()
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, click.Abort) as error:  # Abort: at a question
            if isinstance(error, click.Abort) and not (sys.stdin and sys.stdin.isatty()):
                raise  # nobody answers there
            click.echo(err=True)  # behind ^C
            raise SystemExit(128 + signal.SIGINT) from None
        finally:
            ctrl_c.is_an_exception()
