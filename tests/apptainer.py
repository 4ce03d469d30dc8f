"""The Apptainer of Debian's newest packages, and the C library that it needs, in a root below build/.

Debian 12 has none; the packages come from the same mirror and are checked as all others are.
"""

import fcntl
import shutil
from collections.abc import Sequence
from pathlib import Path

from ran import ran

BUILD = Path(__file__).parents[1] / "build"
_PACKAGES = ("apptainer", "libc6", "libseccomp2", "libsqlite3-0")
_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
_FOLDERS = "bin lib lib64 sbin host old proc sys dev tmp root run home var/tmp var/lib/apptainer/mnt/session"

# Runs it in the root, with some directories of this machine at the paths they have, and all under /host.
_PROGRAM = """#!/bin/sh
exec unshare --mount --propagation private sh -euc '
    mount --bind {root} {root}
    cd {root}
    for each in proc sys dev; do mount --rbind /$each $each; done
    mount -t tmpfs tmpfs run
    for each in {seen}; do
        if [ -d "$each" ]; then mkdir -p ".$each"; else mkdir -p ".${{each%/*}}"; : >".$each"; fi
        mount --rbind "$each" ".$each"
    done
    mount --bind /usr host
    pivot_root . old
    exec /bin/busybox chroot . /bin/busybox sh -euc "
        /bin/busybox umount -l /old
        cd /tmp
        exec /usr/bin/apptainer \\"\\$@\\"" sh "$@"' sh "$@"
"""


def apptainer(program: Path, seen: Sequence[Path]) -> None:
    """Write a command ``program`` that is Apptainer; it sees these directories and files."""
    text = _PROGRAM.format(root=_root(), seen=" ".join(map(str, seen)))
    program.write_text(text)
    program.chmod(0o755)


def _root() -> Path:
    work = BUILD / "apptainer"
    work.mkdir(parents=True, exist_ok=True)
    with (work / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (work / "root").exists():
            _make(work, work / "begun").rename(work / "root")
    return work / "root"


def _make(work: Path, root: Path) -> Path:
    for folder in (root, work / "packages", work / "lists"):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    site = ("apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages")
    mirror = next(part for part in _output(*site).split() if part.startswith("http"))
    (work / "sources.list").write_text(f"deb [signed-by={_KEYS}] {mirror} sid main\n")
    options = {
        "Dir::Etc::sourcelist": work / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": work / "lists",
        "Dir::Cache": work / "packages",
        "APT::Sandbox::User": "root",
    }
    apt = ["apt-get", *(word for name, value in options.items() for word in ("-o", f"{name}={value}"))]
    _output(*apt, "-q", "update")
    _output(*apt, "-q", "download", *_PACKAGES, folder=work / "packages")
    for package in (work / "packages").glob("*.deb"):
        _output("dpkg-deb", "-x", package, root)
    for name in _FOLDERS.split():
        (root / ("usr" if name in ("bin", "lib", "lib64", "sbin") else "") / name).mkdir(
            parents=True, exist_ok=True
        )
        if name in ("bin", "lib", "lib64", "sbin"):
            (root / name).symlink_to(f"usr/{name}")
    for file in ("passwd", "group", "hosts", "resolv.conf", "localtime"):
        shutil.copy(f"/etc/{file}", root / "etc")
    shutil.copy("/bin/busybox", root / "bin")
    return root


def _output(*command: object, folder: Path | None = None) -> str:
    done = ran(list(map(str, command)), cwd=folder)
    return done.stdout
