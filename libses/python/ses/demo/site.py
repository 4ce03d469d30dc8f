"""The demonstration's own site: description, monitor configuration, tokens."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ses.demo.branches import Branch
from ses.demo.faults import DemoError

SITE_ROOT = "/srv/qstorman"  # where the example site says its storage is mounted
INTERVAL_SECONDS = 0.5
WINDOW_SECONDS = 2.0
AVERAGE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Tokens:
    """Files (0600): what the service accepts, and the token of each caller."""

    accepted: Path
    node: Path
    portal: Path
    admin: Path


def write_site(example: Path, work: Path) -> Path:
    """Write the example site with its storage moved to ``work``; returns the file."""
    text = example.read_text("utf-8")
    if SITE_ROOT not in text:
        raise DemoError(
            f"{example} does not mention {SITE_ROOT}: it is not the site this demonstration knows."
        )
    written = work / "site.ttl"
    written.write_text(text.replace(SITE_ROOT, str(work)), "utf-8")
    return written


def write_monitor_configuration(
    work: Path, exporter_url: str, branches: Sequence[Branch], systems: Mapping[str, str] | None = None
) -> Path:
    """Write smed.toml: one target, one element per branch; returns the file.

    A branch is of ``union``, or of the union that ``systems`` names.
    """
    lines = [
        f"interval_seconds = {INTERVAL_SECONDS}",
        f"current_window_seconds = {WINDOW_SECONDS}",
        f"average_window_seconds = {AVERAGE_SECONDS}",
        "stale_after_seconds = 5.0",
        "",
        "[[target]]",
        'name = "demo"',
        'collector = "node_exporter"',
        f'url = "{exporter_url}"',
        "timeout_seconds = 2.0",
    ]
    for branch in branches:
        lines += [
            "",
            "[[element]]",
            f'id = "{(systems or {}).get(branch.name, "union")}/{branch.name}"',
            'target = "demo"',
            f'mount_point = "{_mounted_on(branch.directory)}"',
        ]
    written = work / "smed.toml"
    written.write_text("\n".join(lines) + "\n")
    return written


def write_tokens(work: Path) -> Tokens:
    """Make a token for each role and the file by which the service knows them."""
    files, entries = {}, []
    for role in ("node", "portal", "admin"):
        token = secrets.token_urlsafe(32)
        files[role] = _private(work / f"{role}.token", token + "\n")
        digest = hashlib.sha256(token.encode()).hexdigest()
        bound = 'node = "*"\n' if role == "node" else ""  # every agent of a demonstration is its own
        entries.append(f'[[token]]\nname = "demo-{role}"\nrole = "{role}"\n{bound}sha256 = "{digest}"\n')
    return Tokens(_private(work / "tokens.toml", "\n".join(entries)), **files)


def _private(path: Path, content: str) -> Path:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(content)
    return path


def _mounted_on(directory: Path) -> Path:
    """Return the mount point a directory lies on: itself, or for a plain directory one above it."""
    while not directory.is_mount():
        directory = directory.parent
    return directory
