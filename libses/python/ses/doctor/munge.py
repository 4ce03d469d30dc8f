"""MUNGE, where it proves who calls: does munged answer, and does the service accept its credentials."""

from __future__ import annotations

from collections.abc import Iterator

from ses_client.client import ServiceClient
from ses_client.errors import NotAllowedError, SesError

from ses.doctor.finding import Finding, fault, ok, skipped

MUNGED, TAKEN = "munged", "session by MUNGE"


def check_munge(client: ServiceClient, reachable: bool) -> Iterator[Finding]:
    """Ask munged for a credential and the service for a session; nothing where MUNGE is not used."""
    munge = client.address.munge
    if munge is None:
        return
    try:
        munge.credential()
    except NotAllowedError as error:
        yield fault(MUNGED, error.full_message, "Start munged with the site's key: systemctl status munge")
        yield skipped(TAKEN, "there is no credential")
        return
    yield ok(MUNGED, f"gives credentials, for host {munge.host}")
    if not reachable:
        yield skipped(TAKEN, "the service does not answer")
        return
    try:
        client.open_session()
        yield ok(TAKEN, "the service takes them")
    except SesError as error:
        yield fault(TAKEN, error.full_message, "Compare both machines by docs/munge.md.")
