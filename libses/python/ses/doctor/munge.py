"""MUNGE, where it proves who calls: does munged answer, and does the service accept its credentials."""

from __future__ import annotations

from ses_client.client import ServiceClient
from ses_client.errors import NotAllowedError, SesError

from ses.doctor.finding import Finding, fault, ok, skipped

MUNGED, TAKEN = "munged", "session by MUNGE"


def check_munge(client: ServiceClient, reachable: bool) -> list[Finding]:
    """Ask munged for a credential and the service for a session; nothing where MUNGE is not used."""
    munge = client.address.munge
    if munge is None:
        return []
    try:
        munge.credential()
    except NotAllowedError as error:
        return [
            fault(MUNGED, error.full_message, "Start munged with the site's key: systemctl status munge"),
            skipped(TAKEN, "there is no credential"),
        ]
    answers = ok(MUNGED, f"gives credentials, for host {munge.host}")
    if not reachable:
        return [answers, skipped(TAKEN, "the service does not answer")]
    try:
        client.open_session()
    except SesError as error:
        return [answers, fault(TAKEN, error.full_message, "Compare both machines by docs/munge.md.")]
    return [answers, ok(TAKEN, "the service takes them")]
