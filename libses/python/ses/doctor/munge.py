"""MUNGE, where it is to prove who calls: does munged answer, and does the service take what it says."""

from __future__ import annotations

from ses.doctor.finding import Finding, fault, ok, skipped
from ses.errors import NotAllowedError, SesError
from ses.service import ServiceClient

MUNGED, TAKEN = "munged", "session by MUNGE"


def check_munge(client: ServiceClient, reachable: bool) -> list[Finding]:
    """Ask munged for a credential and the service for a session; nothing where MUNGE is not used."""
    if client.munge is None:
        return []
    try:
        client.munge.credential()
    except NotAllowedError as error:
        return [
            fault(MUNGED, str(error), "Start munged with the site's key: systemctl status munge"),
            skipped(TAKEN, "there is no credential"),
        ]
    answers = ok(MUNGED, f"gives credentials, for host {client.munge.host}")
    if not reachable:
        return [answers, skipped(TAKEN, "the service does not answer")]
    try:
        client.open_session()
    except SesError as error:
        return [answers, fault(TAKEN, str(error), "Compare both machines by docs/munge.md.")]
    return [answers, ok(TAKEN, "the service takes them")]
