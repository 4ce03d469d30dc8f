"""Runs within ``ses_experiment.user_mode``: ``ses place`` between a disk and two NFS mounts."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from ses.place.claims import holder
from ses.place.placing import NothingFitsError, as_json, place, release, request_of
from ses_client.errors import UsageError
from ses_experiment import nfs, user_mode
from ses_experiment.places_inside import WORK, directories

LEDGER = WORK / "ledger"
MEBIBYTES = 7  # so that each is busy for more than a second


def asked(among: list[str], away: str = "") -> dict[str, object]:
    """Choose for this process; return what --json would say, and the seconds it took.

    It is asked again where the emulated machine was too slow for what is not ``away``.
    """
    for _ in range(30):
        began = time.monotonic()
        with suppress(NothingFitsError):
            said = as_json(place(request_of(among, holder(f"pid:{os.getpid()}", time.time())), LEDGER))
            said["seconds"] = time.monotonic() - began
            if all(row["reason"] is None for row in said["why"] if row["directory"] != away):
                return said
            release(str(said["id"]), LEDGER)
    raise SystemExit("The machine is too slow.")


def write(folder: str) -> None:
    """Write, and wait until it is on the server's disk."""
    with (Path(folder) / f"written{time.monotonic()}").open("wb") as file:
        for _ in range(MEBIBYTES):
            file.write(bytes(1 << 20))
        file.flush()
        os.fsync(file.fileno())


def main() -> None:
    """Use each directory once, look again, take one server away, look again."""
    disk, *mounts = directories([6, 3, 2], 6000, 2)
    among = [disk, *mounts]
    first = [asked(among) for _ in among]
    shared = ""
    try:
        place(request_of(among, holder("1s", time.time())), Path(mounts[0]) / "ledger")
    except UsageError as error:
        shared = str(error)
    with ThreadPoolExecutor() as pool:
        list(pool.map(write, among))
    learned = asked(among)
    nfs.cut(1)
    without = asked(among, away=mounts[0])
    user_mode.answer(
        {"among": among, "first": first, "shared": shared, "learned": learned, "without": without}
    )


if __name__ == "__main__":
    main()
