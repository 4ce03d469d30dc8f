"""A real NFS server and mounts of it, within ``user_mode``: the kernel's own nfsd, version 4.2.

Who may mount what is asked by the kernel through files (``/proc/net/rpc``), which rpc.mountd usually answers.
The server is in the first network namespace, the only one in which its grace period can be ended at once.
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Thread

from ses.demo.tools import tool

from ses_experiment import network

_NFSD, _EXPORTS = Path("/run/nfsd"), Path("/run/exports")
_FOREVER = 2**31 - 1
_FLAGS = 0x2 | 0x400 | 0x2000  # any port, no check of subtrees, named by a number: linux/nfsd/export.h
_CROSS = 0x4000  # into what is mounted below
_THREADS = 8


def serve(disks: Mapping[str, Path]) -> None:
    """Export each folder by its name."""
    for folder in (_NFSD, _EXPORTS, Path("/run/recovery")):
        folder.mkdir()
    tool("mount", "-t", "tmpfs", "exports", str(_EXPORTS))
    paths = [str(_EXPORTS)]
    for name, disk in disks.items():
        (_EXPORTS / name).mkdir()
        tool("mount", "--bind", str(disk), str(_EXPORTS / name))
        paths.append(str(_EXPORTS / name))
    tool("mount", "-t", "nfsd", "nfsd", str(_NFSD))
    answers: dict[str, Callable[[list[str]], str]] = {
        "auth.unix.ip": lambda asked: f"{asked[0]} {asked[1]} {_FOREVER} all",
        "auth.unix.gid": lambda asked: f"{asked[0]} {_FOREVER} 0",
        "nfsd.export": lambda asked: f"{asked[0]} {asked[1]} {_FOREVER} {_export(paths, asked[1])}",
        "nfsd.fh": lambda asked: f"{asked[0]} {asked[1]} {asked[2]} {_FOREVER} {_path(paths, asked[2])}",
    }
    for cache, answer in answers.items():
        Thread(target=_answer, args=(Path("/proc/net/rpc") / cache / "channel", answer), daemon=True).start()
    for setting, value in (
        ("versions", "-2 -3 +4 +4.1 +4.2"), ("nfsv4recoverydir", "/run/recovery"), ("portlist", "tcp 2049"),
        ("threads", str(_THREADS)), ("v4_end_grace", "Y"),
    ):  # fmt: skip
        _write(_NFSD / setting, value)


def mount(name: str, number: int, folder: Path) -> None:
    """Mount an export over a link of its own, as a client of its own: to it the server is another one."""
    client, server, own = f"client{number}", f"10.93.{number}.1", f"10.93.{number}.2"
    tool("ip", "netns", "add", client)
    network.link(("", server), (client, own), _link(number))
    folder.mkdir()
    tool(*network.inside(client), "unshare", "--uts", "sh", "-c",
         'hostname "$0" && exec mount -i -t nfs4 "$@"', client,
         "-o", f"vers=4.2,addr={server},clientaddr={own}", f"{server}:/{name}", str(folder))  # fmt: skip


def cut(number: int) -> None:
    """Have the server of a mount be away."""
    tool("ip", "link", "set", _link(number), "down")


def _link(number: int) -> str:
    return f"server{number}"


def _answer(channel: Path, answer: Callable[[list[str]], str]) -> None:
    asked = os.open(channel, os.O_RDWR)
    waiting = select.poll()
    waiting.register(asked, select.POLLIN)
    while True:
        waiting.poll()
        os.write(asked, f"{answer(os.read(asked, 1 << 15).decode('ascii').split())}\n".encode("ascii"))


def _export(paths: list[str], path: str) -> str:
    if path not in paths:
        return ""
    number = paths.index(path)
    return f"{_FLAGS | (0 if number else _CROSS)} 65534 65534 {number}"


def _path(paths: list[str], handle: str) -> str:
    number = int.from_bytes(bytes.fromhex(handle.removeprefix("\\x")), "little")
    return paths[number] if number < len(paths) else ""


def _write(file: Path, text: str) -> None:
    with file.open("w", encoding="ascii") as opened:
        opened.write(f"{text}\n")
