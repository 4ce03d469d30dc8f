"""Hints for ROMIO, the MPI-IO of MPICH and most other MPIs: that a job writes as the claim of its place says.

A claim stands for one stream, so one process collects what all write; on Lustre as many as a file has
stripes.  Stripes are left to the directory: who sets stripes is not placed by the preload library.

    python3 -m ses.front_ends.romio "$SES_PLACE" > hints && ROMIO_HINTS=$PWD/hints mpiexec ./simulation
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from ses_client.errors import NotFoundError, SesError
from ses_client.mounts import MOUNTINFO, mount_of, mount_with

from ses.file_layout import layout_of

_BUFFER = 16 << 20  # bytes that ROMIO collects by itself


def hints(directory: Path) -> dict[str, str]:
    """Return the hints for files of a directory.  Raises SesError where there is none."""
    streams, stripe = _stripes(directory)
    chosen = {"romio_cb_write": "enable", "cb_nodes": str(streams), "cb_config_list": f"*:{streams}"}
    if stripe:  # each buffer ends where a stripe does
        chosen["cb_buffer_size"] = str(-(-_BUFFER // stripe) * stripe)
    if _type_of(directory).startswith("nfs"):  # reading before each write needs locks of the server
        chosen["romio_ds_write"] = "disable"
    return chosen


def text(chosen: Mapping[str, str]) -> str:
    """Return a file for ``ROMIO_HINTS``."""
    return "".join(f"{name} {value}\n" for name, value in chosen.items())


def _stripes(directory: Path) -> tuple[int, int]:
    """Return how many stripes new files have, and bytes of each; 1 and 0 where there are none."""
    try:
        components = layout_of(directory).get("components") or []
    except NotFoundError:
        return 1, 0
    last = components[-1] if components else {}
    return last.get("stripe_count") or 1, last.get("stripe_size_bytes") or 0


def _type_of(directory: Path) -> str:
    here = os.open(directory, os.O_PATH)
    try:
        mount = mount_with(mount_of(here), MOUNTINFO.read_bytes())
    finally:
        os.close(here)
    return mount.type if mount else ""


def main() -> None:
    """Print the hints for a directory."""
    try:
        if len(sys.argv) != 2:
            raise SesError("Name the directory that files will be written to.")
        directory = Path(sys.argv[1])
        if not directory.is_dir():
            raise NotFoundError(f"There is no directory {directory}.")
        sys.stdout.write(text(hints(directory)))
    except SesError as error:
        sys.exit(error.full_message)


if __name__ == "__main__":
    main()
