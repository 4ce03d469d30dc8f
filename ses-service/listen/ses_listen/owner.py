"""Whose the files are that root makes in a folder of a service."""

from __future__ import annotations

import os
from pathlib import Path

import click


def become_owner_of(folder: Path) -> None:
    """Let root make no file that the service could not write afterwards.

    Raises OSError, and ClickException when the folder's owner cannot run this program.
    """
    status = folder.stat()
    if os.geteuid() != 0 or status.st_uid == 0:
        return
    os.setgroups([])
    os.setgid(status.st_gid)
    os.setuid(status.st_uid)
    for program in (os.__file__, __file__):
        if not os.access(program, os.R_OK):
            raise click.ClickException(
                f"{folder} belongs to uid {status.st_uid}, who cannot read {program}, which this program "
                "needs. Install it, and its Python, where that user can read."
            )


def give_to_owner_of(folder: Path, made: Path) -> None:
    """Let what root made below a folder belong to who the folder belongs to.  Raises OSError."""
    status = folder.stat()
    if os.geteuid() == 0 and status.st_uid != 0:
        # By descriptors: the owner may exchange a directory for a link meanwhile.
        for _, folders, files, here in os.fwalk(made, follow_symlinks=False):
            for name in (*folders, *files):
                os.chown(name, status.st_uid, status.st_gid, dir_fd=here, follow_symlinks=False)
        os.chown(made, status.st_uid, status.st_gid, follow_symlinks=False)
