"""The whole diagnosis, link by link, in the order a file's creation passes them."""

from __future__ import annotations

from pathlib import Path

from ses_client.client import ServiceClient

from ses.doctor.agent import SERVICE as AGENT_TO_SERVICE
from ses.doctor.agent import check_answers, check_reaches, check_socket, check_threads
from ses.doctor.directories import check_directories
from ses.doctor.finding import Finding, State, skipped
from ses.doctor.library import check_library
from ses.doctor.mounts import MOUNT, check_mounts
from ses.doctor.munge import check_munge
from ses.doctor.service import (
    DATA,
    check_data,
    check_exclusions,
    check_exporters,
    check_node_names,
    check_rates,
    check_readiness,
    check_sources,
    check_token,
    inventory,
)
from ses.doctor.shared_memory import check_segments
from ses.doctor.trial import try_directory


def examine(client: ServiceClient, library: Path, socket: Path, trial: Path | None = None) -> list[Finding]:
    """Check every link; ``trial`` is a directory to create (and remove) one file in."""
    at_socket = check_socket(socket)
    findings = [*check_library(library), at_socket, *check_segments(), check_token(client)]
    reachable, readiness = check_readiness(client)
    findings += check_munge(client, reachable)
    described, *about_site = inventory(client) if reachable else (None,)
    if at_socket.state is State.OK:
        findings += check_reaches(socket)
        findings += check_threads(socket)
        findings += check_answers(socket, None if described is None else described.elements)
    else:
        findings.append(skipped(AGENT_TO_SERVICE, "there is no agent to ask"))
    findings += readiness + about_site
    if described is None:
        findings += [skipped(DATA, "the service does not say"), skipped(MOUNT, "the service does not say")]
    else:
        elements = described.elements
        findings += (*check_sources(described), *check_data(described), *check_exporters(elements))
        findings += (*check_rates(elements), *check_exclusions(elements), *check_node_names(client))
        findings += (*check_mounts(elements), *check_directories(elements))
    if trial is not None:
        findings.append(try_directory(trial, library, socket, client))
    return findings
