"""A Linux of its own, as a process (user-mode-linux): with an NFS server and client, and without root.

It has one processor and the files of this machine, which it cannot write.  A Python program in it finds its
argument in ``FOLDER``, where its answer goes.  Whatever it mounts and starts is gone when it has ended.
"""

from __future__ import annotations

import ctypes
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ses.demo.faults import DemoError
from ses.demo.interrupts import Interrupts
from ses.demo.processes import started
from ses.demo.programs import PATH
from ses.demo.work import work_directory

FOLDER = Path("/run/host")
_ARGUMENT, _ANSWER = "argument.json", "answer.json"
_MODULES = Path("/usr/lib/uml/modules")
_FINIT_MODULE = 313  # the number of the system call on amd64
_BEGIN = f"""#!/bin/sh
export PATH={PATH} HOME=/run TMPDIR=/run LC_ALL=C
mount -t proc proc /proc && mount -t sysfs sys /sys && mount -t tmpfs run /run && mkdir {FOLDER} &&
mount -t hostfs -o {{work}} host {FOLDER} && ip link set lo up && {{program}} >{FOLDER}/errors 2>&1
echo o >/proc/sysrq-trigger
sleep 60
"""


def run(
    program: Sequence[str], argument: Mapping[str, Any], interrupts: Interrupts, limit: float, memory: int = 2
) -> Any:
    """Boot, run a Python program, and return its answer; ``memory`` is GB.

    Raises DemoError when it answers nothing within ``limit`` seconds.
    """
    kernel = shutil.which("linux.uml")
    if kernel is None:
        raise DemoError("linux.uml is not installed. Install the package user-mode-linux.")
    with ExitStack() as undo:
        work = work_directory(undo, "qstorman-linux-")
        (work / _ARGUMENT).write_text(json.dumps(argument), "utf-8")
        (work / "begin").write_text(
            _BEGIN.format(work=work, program=shlex.join([sys.executable, *program])), "utf-8"
        )
        (work / "begin").chmod(0o755)
        words = [
            *(kernel, f"mem={memory}G", "rootfstype=hostfs", "rootflags=/", "ro", f"init={work}/begin"),
            *("con=null", "con0=fd:0,fd:1", "quiet", f"uml_dir={work}/"),
        ]  # fmt: skip
        process = started(
            words, undo, 0.0, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={"PATH": PATH, "TMPDIR": "/dev/shm"},
        )  # fmt: skip
        interrupts.until(lambda: process.poll() is not None, limit, "The Linux in user space does not end")
        if not (work / _ANSWER).exists():
            said = (work / "errors").read_text("utf-8", "replace") if (work / "errors").exists() else ""
            raise DemoError(
                f"The program in {kernel} failed: {(said.splitlines() or ['it is not known why'])[-1]}"
            )
        return json.loads((work / _ANSWER).read_text("utf-8"))


def argument() -> Any:
    """Return what the program was started with; within."""
    return json.loads((FOLDER / _ARGUMENT).read_text("utf-8"))


def answer(value: Any) -> None:
    """Leave what is to be returned; within."""
    (FOLDER / _ANSWER).write_text(json.dumps(value), "utf-8")


def load_modules(*names: str) -> None:
    """Load modules of the kernel with what they need; within.  Raises OSError."""
    folder, library = _MODULES / os.uname().release, ctypes.CDLL(None, use_errno=True)
    lines = (line.partition(":") for line in (folder / "modules.dep").read_text("ascii").splitlines())
    needs = {Path(name).stem: [*reversed(before.split()), name] for name, _, before in lines}
    for name in (need for asked in names for need in needs[asked]):
        with (folder / name).open("rb") as module:
            failed = library.syscall(_FINIT_MODULE, module.fileno(), b"", 0)
        if failed and (error := ctypes.get_errno()) != 17:  # EEXIST: it is loaded
            raise OSError(error, os.strerror(error), name)
