"""The preload library: is it there, does it load, do the calls of a program reach it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from ses.doctor.finding import Finding, fault, ok

LINK = "preload library"
NAMES = ("open", "open64", "openat", "openat64", "creat", "fopen", "fopen64", "freopen", "mkstemp", "mknod")
_LIMIT_SECONDS = 20.0

# Prints, for each name on its command line, the file that holds the function a program would call.
_PROBE = """
import ctypes, sys
program = ctypes.CDLL(None)
with open("/proc/self/maps") as maps:
    mapped = [line.split(None, 5) for line in maps]
for name in sys.argv[1:]:
    address = ctypes.cast(getattr(program, name), ctypes.c_void_p).value
    for fields in mapped:
        low, high = (int(part, 16) for part in fields[0].split("-"))
        if low <= address < high:
            print(name, fields[5].strip() if len(fields) > 5 else "?")
"""
_CHECKOUT = Path(__file__).resolve().parents[4]
_OWN = f"{os.uname().machine}-linux-gnu"
_PLACES = (  # an installed one first: programs of other users load that
    Path("/usr/local/lib/libses-wrapper.so"),
    Path(f"/usr/local/lib/{_OWN}/libses-wrapper.so"),
    Path("/usr/lib/libses-wrapper.so"),
    Path(f"/usr/lib/{_OWN}/libses-wrapper.so"),
    _CHECKOUT / "build/libses/libses-wrapper.so",
)


def find_library() -> Path:
    """Return the library: the one of LD_PRELOAD, else the first of the usual places that exists."""
    for entry in os.environ.get("LD_PRELOAD", "").replace(":", " ").split():
        if Path(entry).name == "libses-wrapper.so":
            return Path(entry)
    return next((place for place in _PLACES if place.exists()), Path("/usr/local/lib/libses-wrapper.so"))


def check_library(library: Path) -> Iterator[Finding]:
    """Run a tiny program under the library and see where its calls lead."""
    if not library.exists():
        yield fault(
            LINK, f"{library} does not exist.", "Build it with make native, or name it with --library."
        )
        return
    yield _readable(library)
    unfit = "Do not preload this library; build it again with make native."
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", _PROBE, *NAMES],
            env={**os.environ, "LD_PRELOAD": str(library.absolute()), "SES_SYNC_MS": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_LIMIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        yield fault(LINK, f"A program under {library} did not end within {_LIMIT_SECONDS:g} s.", unfit)
        return
    if done.returncode != 0:
        yield fault(LINK, f"A program under {library} fails (status {done.returncode}).", unfit)
        return
    yield _intercepted(library, done.stdout, done.stderr)


def _intercepted(library: Path, output: str, words: str) -> Finding:
    if "cannot be preloaded" in words:
        reason = words.strip().splitlines()[0]
        return fault(
            LINK, f"The loader refuses {library}: {reason}", "Build it for this machine: make native."
        )
    where = dict(line.split(" ", 1) for line in output.splitlines())
    missed = [name for name in NAMES if Path(where.get(name, "")).name != library.resolve().name]
    if missed:
        return fault(
            LINK,
            f"{library} loads, but these calls do not reach it: {', '.join(missed)}.",
            "Another library takes them (see LD_PRELOAD and /etc/ld.so.preload), or this is not the library.",
        )
    return ok(LINK, f"{library} loads, and the {len(NAMES)} calls tried reach it")


def _readable(library: Path) -> Finding:
    """Every user must be able to load it, so every directory above must be open to all."""
    for part in (library.resolve(), *library.resolve().parents):
        mode = part.stat().st_mode
        if not mode & (0o001 if part.is_dir() else 0o004):
            return fault(
                LINK,
                f"Other users cannot load {library}: {part} is closed to them (mode {mode & 0o7777:04o}).",
                f"Install it where everybody may read, or open it: chmod o+rX {quote(str(part))}",
            )
    return ok(LINK, "every user may load it")
