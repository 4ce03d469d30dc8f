"""One file, followed through the whole chain."""

from __future__ import annotations

import os
import secrets
import subprocess
import time
from pathlib import Path

from ses_client.client import ServiceClient
from ses_client.errors import SesError
from ses_client.messages.selections import Placement
from ses_client.unions import union_of

from ses.basepath import basepath, same_directory
from ses.doctor.finding import Finding, fault, ok

LINK = "trial file"
_LIMIT_SECONDS = 10.0
_RECORD_SECONDS = 3.0


def try_directory(directory: Path, library: Path, socket: Path, client: ServiceClient) -> Finding:
    """Create a file in ``directory`` under the library, see where it went and why, and remove it."""
    path = Path(os.path.realpath(directory)) / f"ses-doctor-{secrets.token_hex(6)}"
    environment = {
        **os.environ,
        "LD_PRELOAD": str(library.absolute()),
        "SES_AGENT_SOCKET": str(socket),
        "SES_SYNC_MS": "1000",
    }
    try:
        done = subprocess.run(
            ["dd", "if=/dev/zero", f"of={path}", "bs=1", "count=1"],
            env=environment,
            timeout=_LIMIT_SECONDS,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            words = done.stderr.strip().splitlines()
            return fault(
                LINK,
                f"dd cannot create a file in {directory}: {words[0] if words else '?'}",
                "Name a directory on the union that you may write to.",
            )
        return _followed(path, client)
    except subprocess.TimeoutExpired:
        return fault(
            LINK, f"dd did not end within {_LIMIT_SECONDS:g} s.", "See whether the file system answers."
        )
    finally:
        path.unlink(missing_ok=True)


def _followed(path: Path, client: ServiceClient) -> Finding:
    where = basepath(path)
    if where is None:
        return fault(LINK, f"{path.parent} is not on a mergerfs union.", "Name a directory on one.")
    try:
        placement = _placement(path, client)
    except SesError as error:
        return fault(LINK, str(error), "Mend the service first.")
    mount = union_of(path.parent)
    if placement is None and mount and not path.is_relative_to(mount):
        return fault(
            LINK,
            f"{path.parent} is another mount of the union at {mount}: files are placed below {mount} only.",
            f"Use the paths below {mount}.",
        )
    if placement is None:
        return fault(
            LINK,
            f"The file was created (on {where}), but not placed by the service.",
            "Mend what is said above about library, agent and service.",
        )
    if placement.target is None or not same_directory(where, placement.target):
        return fault(
            LINK,
            f"The service chose {placement.element}, but the file is on {where}.",
            "See whether the union's branches are those the site describes.",
        )
    return ok(LINK, f"a file in {path.parent} went to {placement.element}, as chosen")


def _placement(path: Path, client: ServiceClient) -> Placement | None:
    deadline = time.monotonic() + _RECORD_SECONDS
    while True:
        placements = client.placements(path=str(path), limit=1)
        if placements:
            return placements[0]
        if time.monotonic() >= deadline:
            return None
        time.sleep(0.1)
