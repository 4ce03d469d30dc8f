"""Runs within ``ses_experiment.user_mode``: ses-copy between a disk and mounts of an NFS server."""

import os
import subprocess
from pathlib import Path

from ses.demo.tools import tool
from ses_experiment import nfs, user_mode

WORK = Path("/run/work")
MIB = 1 << 20


def disk(name: str, mebibytes: int) -> Path:
    image, folder = WORK / f"{name}.img", WORK / name
    with image.open("xb") as file:
        file.truncate(mebibytes * MIB)
    tool("mkfs.ext4", "-q", "-F", "-m", "0", str(image))
    folder.mkdir()
    tool("mount", "-o", "loop", str(image), str(folder))
    return folder


def copy(*paths: Path) -> tuple[int, str]:
    command = [user_mode.argument()["program"], *map(str, paths)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={"SES_AGENT_SOCKET": "/none"}
    )
    return done.returncode, done.stderr


def main() -> None:
    """Copy to a server without room, and files whose rights are a list or only a mode."""
    user_mode.load_modules("nfs", "nfsv4", "nfsd", "loop", "veth")
    WORK.mkdir()
    tool("mount", "-t", "tmpfs", "-o", "size=90%", "work", str(WORK))
    own, small, large = disk("own", 64), disk("small", 8), disk("large", 64)
    nfs.serve({"small": small, "large": large})
    mounts = {name: WORK / f"of-{name}" for name in ("small", "large")}
    for number, (name, folder) in enumerate(mounts.items(), 1):
        nfs.mount(name, number, folder)
    (own / "data").write_bytes(os.urandom(20 * MIB))
    full = copy(own / "data", mounts["small"])
    lists = {"listed": ("-m", "u:nobody:rw,g::-,m::rw"), "kept out": ("-m", "u:nobody:-,g::-,m::rw")}
    for name, rights in ({"plain": ()} | lists).items():
        (large / name).write_text("bytes")
        (large / name).chmod(0o604)
        if rights:
            tool("setfacl", *rights, str(large / name))
    copied = {name: copy(mounts["large"] / name, own) for name in ("plain", *lists)}
    user_mode.answer({
        "full": full,
        "left": [path.name for path in small.iterdir() if path.is_file()],
        "copied": copied,
        "modes": {name: (own / name).stat().st_mode & 0o777 for name in copied},
    })  # fmt: skip


if __name__ == "__main__":
    main()
