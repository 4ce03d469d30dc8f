"""``ses login`` and ``ses logout``: keep a token of one's own, and let go of it."""

from __future__ import annotations

import os
import secrets
import sys
from dataclasses import replace
from pathlib import Path

import click
from ses_client.client import ServiceClient
from ses_client.errors import NotAllowedError, NotFoundError, SesError, UnavailableError, UsageError
from ses_client.messages.access import PersonalTokens

from ses.commands.examples import examples
from ses.commands.options import Existing
from ses.output import day, say
from ses.settings import own_directory, service_address

_MAX_TOKEN_LENGTH = 4096


@click.command(epilog=examples("ses login", "ses login https://ses.example.org:8630"))
@click.argument("url", required=False)
@click.option(
    "--service-ca",
    type=Existing(dir_okay=False),
    help="Authority (PEM) of an https service. [SES_SERVICE_CA, else the system's]",
)
def login(url: str | None, service_ca: Path | None) -> None:
    """Keep your personal token, and the service it is for, for this and later commands.

    Make the token in the portal (your account, Tokens). It is asked for without being shown, or read from
    standard input, tried, and kept in ~/.config/ses/token for you alone; the URL, if you give one, beside it.
    """
    address = service_address(url, None, service_ca)
    token = _asked_for(address.url)
    draft = _draft(own_directory(), token)
    try:
        client = ServiceClient(replace(address, token_file=draft, munge=None))
        answer = _checked(client)
        draft.replace(own_directory() / "token")
    finally:
        draft.unlink(missing_ok=True)
    if url:
        _draft(own_directory(), address.url).replace(own_directory() / "service")
    (mine,) = (token for token in answer.tokens if token.name == answer.shown)
    what = "may read" if mine.scope == "read" else "may do what you may"
    say(f"{address.url} knows you as {answer.user}. The token {mine.name} {what}, until {day(mine.ends)}.")
    if os.environ.get("SES_TOKEN_FILE"):
        say("SES_TOKEN_FILE is set in this shell and goes before it.", err=True)


@click.command(epilog=examples("ses logout"))
def logout() -> None:
    """Revoke the token of ses login, and forget it and the service's address.

    Where the service does not answer the token is forgotten here only; revoke it in the portal then.
    """
    path = own_directory() / "token"
    if not path.exists():
        raise NotFoundError(f"There is no token in {path}: you are not logged in.")
    problem = None
    try:
        client = ServiceClient(replace(service_address(None, path), munge=None))
        shown = client.tokens().shown
        if shown is not None:
            client.revoke_token(shown)
    except NotAllowedError:
        pass  # it had ended, or was revoked
    except SesError as error:
        problem = error
    for name in ("token", "service"):
        (own_directory() / name).unlink(missing_ok=True)
    if problem is not None:
        raise UnavailableError(
            f"The token is forgotten here, and not revoked: {problem}", "Revoke it in the portal."
        )
    say("Logged out.")


def _asked_for(url: str) -> str:
    if sys.stdin.isatty():
        text = click.prompt(f"Token for {url}", hide_input=True)
    else:
        text = sys.stdin.read(_MAX_TOKEN_LENGTH)
    token: str = text.strip()
    if not token or any(not 33 <= ord(character) <= 126 for character in token):
        raise UsageError("That is no token: one word of letters, digits and signs is.", "Paste it whole.")
    return token


def _checked(client: ServiceClient) -> PersonalTokens:
    try:
        answer = client.tokens()
    except NotFoundError:
        raise UsageError("This service keeps no personal tokens: it is older than this command.") from None
    if answer.shown is None:
        raise UsageError(
            "The service knows this token, but it is not a personal one.",
            "Name its file by --token-file or SES_TOKEN_FILE.",
        )
    return answer


def _draft(directory: Path, text: str) -> Path:
    """Write a text to a file of this user's alone, to be renamed when it is good."""
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = directory / f".{secrets.token_hex(8)}"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text + "\n")
    except OSError as error:
        raise SesError(f"{directory} cannot be written: {error.strerror}.") from None
    return path
