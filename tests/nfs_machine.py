"""A machine of its own that mounts real NFS exports: the kernel of this one may know no NFS.

The NFS client of its kernel talks to a server of this host (nfs-ganesha).
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from patience import listens, wait_until
from ports import free_port
from virtual_machine import ADDRESS, HOST, Machine
from virtual_machine import PROGRAMS as PROGRAMS_OF_MACHINE

SERVER = HOST
PROGRAMS = (*PROGRAMS_OF_MACHINE, "ganesha.nfsd")
_GANESHA = """
NFS_CORE_PARAM {{ Protocols = 4; NFS_Port = {port}; Bind_addr = 127.0.0.1; Enable_NLM = false;
  Enable_RQUOTA = false; }}
NFSV4 {{ Graceless = true; Lease_Lifetime = 60; RecoveryRoot = "{folder}"; }}
EXPORT_DEFAULTS {{ SecType = sys; Squash = none; Access_Type = RW; }}
"""
_EXPORT = 'EXPORT {{ Export_Id = {number}; Path = "{path}"; Pseudo = "{name}"; FSAL {{ Name = VFS; }} }}\n'
_BEFORE = """options=vers=4.2,addr={server},clientaddr={address},port={port},proto=tcp,sec=sys
for name in {names}; do mkdir -p /mnt/$name; mount -t nfs4 -o $options {server}:/$name /mnt/$name; done"""
_AFTER = "for name in {names}; do mkdir mnt/$name; mount --move /mnt/$name mnt/$name; done"


@contextmanager
def nfs_machine(folder: Path, *exports: str) -> Iterator[Machine]:
    """Serve exports of these names, and have a machine that mounts them; skip where that cannot be."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"a machine that mounts NFS takes root and {', '.join(PROGRAMS)}")
    port = free_port()
    text = _GANESHA.format(port=port, folder=folder)
    for number, (path, name) in enumerate([(folder / export, export) for export in exports], 1):
        Path(path).mkdir(exist_ok=True)
        text += _EXPORT.format(number=number, path=path, name=f"/{name}")
    (folder / "ganesha.conf").write_text(text)
    log, pid = folder / "ganesha.log", folder / "ganesha.pid"
    command = ["ganesha.nfsd", "-F", "-f", folder / "ganesha.conf", "-L", log, "-p", pid]
    with subprocess.Popen(command) as server:
        try:
            wait_until(lambda: listens(port) or server.poll() is not None, "the server of NFS listens")
            assert server.poll() is None, log.read_text()
            names = " ".join(exports)
            before = _BEFORE.format(server=SERVER, address=ADDRESS, port=port, names=names)
            yield Machine(folder, ["nfsv4"], before=before, after=_AFTER.format(names=names))
        finally:
            server.kill()
