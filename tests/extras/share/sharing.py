"""Another process that shares: it does what it is told, a line at a time, and says how it went.

A line is a JSON list: a method's name and its arguments.  The answer is {"result": ...} or
{"error": NAME, "errno": NUMBER}.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import mmap
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from ses.share import Item, Region, Value


def value_of(value: Value | None) -> bytes | None:
    """The bytes alone."""
    return None if value is None else value.data


def refused(number: int) -> pytest.RaisesExc[OSError]:
    """Raises OSError with this number of errno.h."""
    return pytest.raises(OSError, match=rf"\[Errno {number}\]")


def command_of(role: str, name: str, user: int | None = None) -> list[str]:
    """The command that plays this role on a region, as a user (None: this one)."""
    return [sys.executable, __file__, role, name, str(os.geteuid() if user is None else user)]


class Peer:
    """The process, as a test has it; killed at the end of the context."""

    def __init__(self, region: str, user: int | None = None) -> None:
        command, pipe = command_of("perform", region, user), subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        assert self.process.stdin
        assert self.process.stdout
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def begin(self, *line: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """What it said; empty: it died."""
        assert self.process.stdout
        said: dict[str, Any] = json.loads(self.process.stdout.readline() or "{}")
        return said

    def do(self, *line: Any) -> dict[str, Any]:
        self.begin(*line)
        return self.answer()


def allow(page: int, access: int) -> None:
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(page), mmap.PAGESIZE, access) == 0


def memory_of(region: Region) -> Any:
    """The whole region, to be written."""
    from ses.share.library import ffi

    facts = region.facts()
    start = ffi.cast("char **", region._share)[0]
    return ffi.buffer(start, 4096 + facts.items_most * 192 + facts.bytes)


class Performer:
    """What the process can do."""

    def __init__(self, name: str) -> None:
        from ses.share import Region

        self.region = Region.open(name)
        self.held = contextlib.ExitStack()

    def put(self, item: str, *values: str) -> int:
        it = self.region.find(item)
        return [it.put(value.encode()) for value in values][-1]

    def get(self, item: str) -> str | None:
        value = self.region.find(item).get()
        return None if value is None else value.data.decode()

    def lock(self, item: str) -> bool:
        return bool(self.held.enter_context(self.region.find(item).lock()))

    def unlock(self) -> None:
        self.held.close()

    def count(self, item: str, times: int) -> None:
        """Add one, so many times, each under the lock."""
        counter = self.region.find(item)
        for _ in range(times):
            with counter.lock():
                value = counter.get()
                assert value
                counter.put(str(int(value.data) + 1).encode())

    def wait(self, item: str, version: int) -> bool:
        return self.region.find(item).wait(version)

    def free(self, item: str) -> None:
        self.region.find(item).free()

    def die_in_put(self, item: str) -> None:
        """Put a value whose second half this process may not read: it dies in the middle."""
        from ses.share.library import ffi, library

        pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
        pages[: mmap.PAGESIZE] = b"?" * mmap.PAGESIZE
        start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
        allow(start + mmap.PAGESIZE, 0)
        value = ffi.cast("void *", start)
        status = library().ses_share_put(self.region.find(item)._item, value, 2 * mmap.PAGESIZE, ffi.NULL)
        assert status == 0

    def stop_in_put(self, item: str) -> None:
        """The same, but it stops there; continued, it may read the rest and ends the put."""

        def stop(_: int) -> None:
            os.kill(os.getpid(), signal.SIGSTOP)
            maps = Path("/proc/self/maps").read_text().splitlines()
            (hidden,) = (line for line in maps if line.split()[1] == "---s")
            allow(int(hidden.partition("-")[0], 16), mmap.PROT_READ)

        handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(stop)
        ctypes.CDLL(None).signal(signal.SIGSEGV, handler)
        self.die_in_put(item)

    def lock_without_descriptors(self, item: str) -> None:
        """Lock while no file can be opened."""
        most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, most[1]))
        self.lock(item)
        resource.setrlimit(resource.RLIMIT_NOFILE, most)

    def lock_and_fork(self, item: str, without_handlers: bool) -> dict[str, Any]:
        """Fork while the lock is held; say how the child's attempts on it ended, and who holds it then.

        Without handlers it is as with a bare clone(): what is registered with pthread_atfork() is not called.
        This process has one thread: a child of several could wait for what another of them had.
        """
        from ses.share.library import library

        shared = self.region.find(item)
        fork = ctypes.PyDLL(None)._Fork if without_handlers else os.fork
        with shared.lock():
            child = fork()
            if child == 0:
                status = library().ses_share_unlock(shared._item)
                self.region.patience(0.1)
                with contextlib.suppress(TimeoutError):
                    self.lock(item)
                    status = 0
                os._exit(status)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            held = shared.facts().holder == os.getpid()
            shared.put(b"1")
        return {"child": status, "held": held}

    def scribble(self, seed: int) -> None:
        """Overwrite all of the region, but for its page of facts, with chance."""
        import random

        memory = memory_of(self.region)
        memory[4096:] = random.Random(seed).randbytes(len(memory) - 4096)


def use_all(name: str) -> None:
    """Make every call again and again, whatever the region holds; errors are as well."""
    from ses.share import Model, Region

    region = Region.open(name)
    region.patience(0.02)
    items = [region.have(model.name, 500, model, versions=1, age=1e6) for model in Model]
    for item in items:
        item.put(b"x" * 500)
    print("ready", flush=True)
    sys.stdin.readline()
    calls: list[Callable[[Item, int], Any]] = [
        *(lambda item, _: item.get(), lambda item, _: item.put(b"y"), lambda item, count: item.copy(count)),
        *(lambda item, count: item.wait(count), lambda item, _: item.facts()),
        *(lambda item, _: item.lock().__enter__(), lambda item, _: region.find(item.name)),
        *(lambda _, __: region.items(), lambda _, __: region.facts()),
        *(lambda _, count: region.alloc(f"other-{count}", 64), lambda item, _: item.free()),
    ]
    for count in range(60):
        for call in calls:
            for item in items:
                with contextlib.suppress(OSError, ValueError):
                    call(item, count)


def become(user: int) -> None:
    """Be another user from now on, who may not be able to read the interpreter and the library."""
    from ses.share.library import library

    library()
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)


def owner_of(name: str) -> None:
    """Print who owns what is opened under this name, or the number of the error."""
    from ses.share import Region

    try:
        print(Region.open(name).facts().owner)
    except OSError as error:
        print(error.errno)


def make_until_none_is_left(name: str) -> None:
    """Make regions as many as the node may have, use, list and remove them; print what was seen."""
    from ses.share import Region, regions

    most = 10_000
    Path("/proc/sys/kernel/shmmni").write_text(str(most))
    made = []
    try:
        while len(made) <= most:
            with Region.create(f"{name}-{len(made)}", size=1, items=1) as region:
                made.append(region.name)
                region.alloc("item", 8).put(str(len(made)).encode())
    except OSError as error:
        refusal = error.errno
    listed = {known.name for known in regions()}
    values = []
    for each in made:
        with Region.open(each) as region:
            values.append(int(region.find("item").get().data))  # type: ignore[union-attr]
        Region.remove(each)
    whole = listed == set(made) and values == list(range(1, most + 1))
    print(json.dumps({"made": len(made), "whole": whole, "refusal": refusal, "left": len(regions())}))


def make(name: str) -> None:
    """Make a region that everybody may write."""
    from ses.share import Region

    Region.create(name, mode=0o666)


def have(name: str) -> None:
    """Open a region, or make it; print 0, or the number of the error."""
    from ses.share import Region

    try:
        Region.open_or_create(name).close()
        print(0)
    except OSError as error:
        print(error.errno)


def take_keys(name: str) -> None:
    """Take so many keys of another user's region (COUNT:OWNER:NAME), not to be read; print the segments."""
    most, owner, region = name.split(":")
    every, odd = (1 << 64) - 1, 0x9E3779B97F4A7C15
    mixed = 0xCBF29CE484222325
    for byte in region.encode():
        mixed = (mixed ^ byte) * 0x100000001B3 & every
    mixed ^= int(owner) * odd & every ^ 0x52414853
    libc, create_new = ctypes.CDLL(None), 0o3600
    keys = [((mixed ^ number) * odd & every) >> 32 for number in range(int(most))]
    print(json.dumps([libc.shmget(ctypes.c_int32(key), 4096, create_new) for key in keys]))


def perform(name: str) -> None:
    """Do what is asked on standard input, a line at a time."""
    performer = Performer(name)
    for line in sys.stdin:
        method, *arguments = json.loads(line)
        try:
            said = {"result": getattr(performer, method)(*arguments)}
        except OSError as error:
            said = {"error": type(error).__name__, "errno": error.errno}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    role, name, user = sys.argv[1:]
    if int(user) != os.geteuid():
        become(int(user))
    {
        "perform": perform,
        "use-all": use_all,
        "owner-of": owner_of,
        "make": make,
        "make-all": make_until_none_is_left,
        "have": have,
        "take-keys": take_keys,
    }[role](name)
    sys.stdout.flush()
    os._exit(0)
