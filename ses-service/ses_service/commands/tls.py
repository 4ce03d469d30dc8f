"""``ses-service tls``: a certificate authority of the site's own, for its listeners and their clients."""

import grp
import os
import pwd
from pathlib import Path

import click

_DAYS = 730
_MAX_DAYS = 3650  # the authority's own certificate holds as long
_SERVICE_USER = "qstorman"
_KEYS_GROUP = "qstorman-tls"  # service, monitor and portal, which run as users of their own


@click.group()
def tls() -> None:
    """Certificates for service, monitor and portal."""


@tls.command(
    "init", epilog="\b\nExample:\n  ses-service tls init /etc/qstorman/tls storage1.example.org,10.0.0.5"
)
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.argument("hosts", nargs=-1, metavar="[HOST[,NAME|ADDRESS]...]...")
@click.option(
    "--days",
    type=click.IntRange(1, _MAX_DAYS),
    default=_DAYS,
    show_default=True,
    help="How long they hold.",
)
@click.option(
    "--owner",
    help="User whose the keys are, alone.  [qstorman, and readable by group qstorman-tls, if root calls and "
    "there are these]",
)
def init(directory: Path, hosts: tuple[str, ...], days: int, owner: str | None) -> None:
    """Make a certificate for each HOST, signed by the site's authority.

    The authority is made when there is none yet.  A certificate holds for HOST and the further names and
    addresses after it.  Without HOST: for this machine, by every name and address it has for itself.  Called
    again, it renews.
    """
    from ses_service.security.certificates import key_of, make_certificates

    uid, gid = _uid(owner), _gid(owner)
    try:
        pairs = make_certificates(directory, hosts, days, uid, gid)
    except (OSError, ValueError) as error:
        raise click.ClickException(f"{directory}: {error}") from None
    click.echo(f"authority    {directory / 'ca.pem'}  (copy it to every client; keep ca-key.pem here)")
    for path, names in pairs:
        click.echo(f"certificate  {path}  for {', '.join(names)}")
    example = pairs[0][0]
    click.echo(
        "\nnext, on the machine of that name (the key 0600, of the user who serves):\n"
        f"  ses-service serve --tls-cert {example} --tls-key {key_of(example)} ...\n"
        "and on every client:\n"
        f"  ses-agent --service https://{pairs[0][1][0]}:8630 --service-ca {directory / 'ca.pem'} ...\n"
        f"  export SES_SERVICE_URL=https://{pairs[0][1][0]}:8630 SES_SERVICE_CA={directory / 'ca.pem'}"
    )


def _uid(owner: str | None) -> int:
    """Return the user whose the keys will be; -1 leaves them the caller's."""
    try:
        return pwd.getpwnam(owner or _SERVICE_USER).pw_uid if owner or os.geteuid() == 0 else -1
    except KeyError:
        if owner is not None:
            raise click.UsageError(f"--owner: there is no user {owner}") from None
        return -1


def _gid(owner: str | None) -> int:
    """Return the group that reads the keys; -1: none but their owner."""
    try:
        return grp.getgrnam(_KEYS_GROUP).gr_gid if owner is None and os.geteuid() == 0 else -1
    except KeyError:
        return -1
