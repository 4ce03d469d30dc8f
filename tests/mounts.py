"""Mounting small file systems, unmounting what somebody may be looking at, and ways for other users."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from patience import wait_until


def let_others_in(path: Path) -> None:
    """Let other users get through to a folder: pytest closes those above it."""
    for folder in (path, *path.parents[:-1]):
        if os.geteuid() in (0, folder.stat().st_uid):
            folder.chmod(folder.stat().st_mode | 0o011)


def unmount(path: Path) -> None:
    """Unmount as soon as it is not busy: an agent or a monitor may be looking at it at any moment."""
    unmounting = ["umount", path]
    wait_until(
        lambda: subprocess.run(unmounting, check=False, capture_output=True).returncode == 0,
        f"{path} is busy",
        every=0.02,
    )


@contextmanager
def small_disk(folder: Path, mebibytes: int) -> Iterator[Path]:
    """Make a folder on a file system of its own that holds so much; skip the test where nobody may mount."""
    folder.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root can mount a file system")
    command = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "none", folder]
    if subprocess.run(command, check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@contextmanager
def served(path: Path, *branches: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Mount folders as one, until the end; who serves it, which may be stopped as a server of NFS may be."""
    for made in (path, *branches):
        made.mkdir(exist_ok=True)
    options = "category.create=ff,minfreespace=0,use_ino,allow_other"
    command = ["mergerfs", "-f", "-o", options, ":".join(map(str, branches)), str(path)]
    with subprocess.Popen(command) as server:
        try:
            wait_until(lambda: path.is_mount() or server.poll() is not None, f"{path} is mounted", every=0.02)
            assert server.poll() is None, f"{path} cannot be mounted"
            yield server
        finally:
            server.kill()  # whoever waits for it goes on
            subprocess.run(["umount", "-l", path], check=False, capture_output=True, timeout=60)


@contextmanager
def stopped(server: subprocess.Popen[bytes]) -> Iterator[None]:
    """Have what a process serves hang."""
    server.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.send_signal(signal.SIGCONT)
