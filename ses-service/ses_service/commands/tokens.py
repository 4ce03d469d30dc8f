"""``ses-service token``: make, list and revoke tokens.  A running service follows the file."""

import json
from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path

import click

from ses_service.security.tokens import (
    Principal,
    Role,
    TokenFileError,
    add_token,
    add_tokens,
    revoke_token,
    tokens_of,
)
from ses_service.security.whole_file import write_whole

_tokens = click.option(
    "--tokens",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="Token file; made with mode 0600 when missing.",
)


class _Group(click.Group):
    """Shows what is wrong with a token file as one line."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except TokenFileError as error:
            raise click.ClickException(str(error)) from None


@click.group(cls=_Group)
def token() -> None:
    """Tokens of programs and people who call the service."""


@token.command(
    "new", epilog="\b\nExample:\n  ses-service token new --tokens tokens.toml --role node --node 'gpu*'"
)
@_tokens
@click.option(
    "--role", type=click.Choice([role.value for role in Role]), required=True, help="What it may do."
)
@click.option("--name", help="What the token is for.  [role node: agent-NODE]")
@click.option("--user", help="Whose token it is; needed for role user, and only there.")
@click.option(
    "--node",
    help="The node whose agent may use it, or a pattern of names such as 'gpu*'; needed for role node, "
    "and only there.",
)
def new_token(tokens: Path, role: str, name: str | None, user: str | None, node: str | None) -> None:
    """Make a token, print it once, add its digest to the file.

    A node may have two tokens: make the second, give it to the agent, then revoke the first.
    """
    if (role == Role.USER) != (user is not None):
        raise click.UsageError("--user names the person of a token with --role user, and only there")
    if (role == Role.NODE) != (node is not None):
        raise click.UsageError("--node names the node of a token with --role node, and only there")
    if name is None and node is None:
        raise click.UsageError("--name says what the token is for")
    name = name or _free_names(tokens, [node or ""])[0]
    click.echo(add_token(tokens, Role(role), name, user, node))


@token.command(
    "nodes", epilog="\b\nExample:\n  ses-service token nodes --tokens tokens.toml --directory agents n1 n2"
)
@_tokens
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Where to write NODE.token, mode 0600, for each node; made when missing.",
)
@click.argument("nodes", nargs=-1, required=True, metavar="NODE...")
def new_tokens(tokens: Path, directory: Path, nodes: tuple[str, ...]) -> None:
    """Make a token for each node.

    Each is in a file of its own, to copy there as the agent's --token-file.
    """
    wrong = [node for node in nodes if "/" in node or node.startswith(".") or set(node) & set("*?[")]
    if wrong:
        raise click.UsageError(f"{wrong[0]!r} is no name of a node")
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        names = _free_names(tokens, nodes)
        whose = [Principal(name, Role.NODE, node=node) for name, node in zip(names, nodes, strict=True)]
        for node, secret in zip(nodes, add_tokens(tokens, whose), strict=True):
            write_whole(directory / f"{node}.token", f"{secret}\n".encode())
    except OSError as error:
        raise click.ClickException(f"{directory}: {error.strerror}") from None
    click.echo(f"{len(nodes)} written to {directory}")


@token.command("list", epilog="\b\nExample:\n  ses-service token list --tokens /etc/qstorman/tokens.toml")
@_tokens
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_tokens(tokens: Path, as_json: bool) -> None:
    """List name, role, and user or node of each token."""
    if as_json:
        rows = [
            {"name": token.name, "role": token.role, "user": token.user, "node": token.node}
            for token in tokens_of(tokens)
        ]
        click.echo(json.dumps(rows))
        return
    for token in tokens_of(tokens):
        whose = token.user or token.node or ("bound to no node" if token.role is Role.NODE else "")
        click.echo(f"{token.name}\t{token.role}\t{whose}".rstrip())


@token.command("revoke", epilog="\b\nExample:\n  ses-service token revoke --tokens tokens.toml agent-n1")
@_tokens
@click.argument("name")
def revoke(tokens: Path, name: str) -> None:
    """Take a token out of the file.

    Who has it is refused from then on.
    """
    revoke_token(tokens, name)


def _free_names(tokens: Path, nodes: Sequence[str]) -> list[str]:
    taken, free = {token.name for token in tokens_of(tokens)} if tokens.exists() else set(), []
    for node in nodes:
        first = f"agent-{node}"
        names = chain([first], (f"{first}-{n}" for n in count(2)))
        free.append(next(name for name in names if name not in taken))
        taken.add(free[-1])
    return free
