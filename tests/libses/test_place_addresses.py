"""Paths at odd addresses: what the original call can read is read, and nothing that it cannot."""

import sys

from mergerfs_union import Union

SCRIPT = """if True:
    import ctypes, errno, mmap, os, sys, threading
    c = ctypes.CDLL(None, use_errno=True)
    c.mmap.restype = ctypes.c_void_p
    c.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t) + (ctypes.c_int,) * 3 + (ctypes.c_long,)
    c.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    page = mmap.PAGESIZE

    def create(address):
        ctypes.set_errno(0)
        fd = c.open(ctypes.c_void_p(address), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        print(fd >= 0, errno.errorcode.get(ctypes.get_errno()))
        if fd >= 0:
            os.close(fd)

    def everywhere(name):
        start = c.mmap(None, 3 * page, 3, 0x22, -1, 0)
        c.mprotect(start + 2 * page, page, 0)
        path = name.encode() + b"\\0"
        for end in (page + 5, 2 * page):  # over the edge of a page, and up to what cannot be read
            ctypes.memmove(start + end - len(path), path, len(path))
            create(start + end - len(path))
            os.path.exists(name) and os.unlink(name)
        ctypes.memset(start + page, ord("x"), page)
        create(start + 2 * page - 40)  # has no end
        create(start + 2 * page)  # not even a beginning

    everywhere(sys.argv[1])
    threading.Thread(target=everywhere, args=(sys.argv[1],)).start()
"""


def test_paths_at_the_edge_of_memory_are_read_as_the_plain_call_reads_them(union: Union) -> None:
    path = str(union.path / ("long-name-" * 4))
    printed = [
        union.run(sys.executable, "-I", "-S", "-c", SCRIPT, path, library=library).stdout.splitlines()
        for library in (False, True)
    ]
    assert printed[1] == printed[0]
    assert printed[1] == ["True None", "True None", "False EFAULT", "False EFAULT"] * 2
    assert len(union.agent.reports) == 4
