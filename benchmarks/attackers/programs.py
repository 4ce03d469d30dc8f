"""The programs of honest users and of attackers: text, since those users may read no file of this folder."""

# An honest one, under the library or with the same calls without it: DIRECTORY PAUSE KEEP BRANCH STAGE
WRITER = """
import collections, contextlib, os, random, sys, time
top, every, keep, branch, stage = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), *sys.argv[4:]
open_files = collections.deque()
number = 0
def create(path):
    if not stage:
        return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    for _ in range(2):
        os.stat(top)
    with contextlib.suppress(OSError):
        os.getxattr(top, "system.posix_acl_default")
    name = f"{stage}/{number}"
    staged = os.open(branch + name, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    os.link(os.path.dirname(top) + name, path)
    os.close(staged)
    fd = os.open(path, os.O_WRONLY)
    os.fstat(fd)
    os.unlink(branch + name)
    os.fstat(fd)
    return fd
while not os.path.exists(top + "/../enough"):
    path = f"{top}/{number}"
    at, begun = time.time(), time.perf_counter_ns()
    try:
        fd = create(path)
    except OSError as error:
        print("failed", path, error, flush=True)
        sys.exit(1)
    took = time.perf_counter_ns() - begun
    os.write(fd, b"honest")
    print(path, at, took, flush=True)
    open_files.append((at, fd))
    while open_files and time.time() - open_files[0][0] > keep:
        os.close(open_files.popleft()[1])
    number += 1
    time.sleep(every * random.uniform(0.5, 1.5))
time.sleep(keep)
"""

# Programs under the library: DIRECTORY COUNT PAUSE
CREATES = """
import os, sys, time
top, count, pause = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
number = 0
while True:
    path = f"{top}/{os.getpid()}-{number % count}"
    if number >= count:
        os.unlink(path)
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    os.write(fd, b"x" * 4096)
    os.close(fd)
    number += 1
    time.sleep(pause)
"""
HOLDS = """
import os, resource, signal, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
names = [f"{sys.argv[1]}/held-{os.getpid()}-{number}" for number in range(int(sys.argv[2]))]
files = [os.open(name, os.O_CREAT | os.O_RDWR, 0o600) for name in names]
os.kill(os.getpid(), getattr(signal, sys.argv[3]))
while True:
    for fd in files:
        os.pwrite(fd, b"x", 0)
        time.sleep(0.002)
"""
