"""Creates that pass the C library by: the supervisor sees them all the same, or says which it cannot."""

import errno
import os
import sys
import tempfile
from pathlib import Path

import pytest
from fake_agent import CREATED
from mergerfs_union import NOBODY, Union
from program_ways import Programs
from ran import ran
from supervisors import wait_for_end

# Each makes a file of the name it is given, which the library does not see.
BY_ITSELF = {
    "ctypes": "ctypes.CDLL('libc.so.6').open(name, flags, 0o644)",
    "dlvsym": "typed(libc.dlvsym(None, b'open', b'GLIBC_2.2.5'))(name, flags, 0o644)",
    "dlmopen": "typed(libc.dlsym(libc.dlmopen(-1, b'libc.so.6', 2), b'open'))(name, flags, 0o644)",
    "vfork": "os.waitpid(os.posix_spawn('/bin/true', ['true'], {}, file_actions=[create]), 0)[1]",
    "syscall": "libc.syscall(257 if os.uname().machine == 'x86_64' else 56, -100, name, flags, 0o644)",
    "openat2": "libc.syscall(437, -100, name, struct.pack('=QQQ', flags, 0o644, 0), 24)",
}
BEFORE = """
import ctypes, os, struct
libc = ctypes.CDLL(None)
for pointer in (libc.dlvsym, libc.dlmopen, libc.dlsym):
    pointer.restype = ctypes.c_void_p
libc.dlsym.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
typed = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_int)
name, flags = b'file', os.O_CREAT | os.O_WRONLY
create = (os.POSIX_SPAWN_OPEN, 1, 'file', flags, 0o644)
assert """


@pytest.mark.parametrize("way", BY_ITSELF)
def test_ways_around_the_library_are_supervised(union: Union, ses_run: Path, way: str) -> None:
    union.agent.choose = lambda _: 2
    script = f"{BEFORE}{BY_ITSELF[way]} >= 0"
    union.run(ses_run, "--supervise", sys.executable, "-I", "-c", script, library=False)
    wait_for_end(union)
    assert union.copies(union.path / "file") == [2]
    assert [report.outcome for report in union.agent.reports] == [CREATED]


def test_flags_that_nobody_knows_are_passed_over_or_refused_as_by_the_kernel(
    union: Union, ses_run: Path
) -> None:
    script = f"""{BEFORE[:-8]}
libc = ctypes.CDLL(None, use_errno=True)
call = 257 if os.uname().machine == 'x86_64' else 56
for bit in range(24, 31):
    fd = libc.syscall(call, -100, b'open-%d' % bit, flags | 1 << bit, 0o644)
    os.write(fd, b'text')
    print(bit, fd > 2 and os.stat(f'open-{{bit}}').st_size)
for flag, mode in ((1 << 30, 0o644), (1 << 25, 0o644), (0, 0o100644), (0, 1 << 40)):
    fd = libc.syscall(437, -100, b'openat2', struct.pack('=QQQ', flags | flag, mode, 0), 24)
    print(flag, mode, fd, ctypes.get_errno(), os.path.exists('openat2'))
"""
    printed = []
    for start in ([], [ses_run, "--supervise"]):
        printed.append(union.run(*start, sys.executable, "-I", "-c", script, library=False).stdout)
        for file in union.path.glob("open*"):
            file.unlink()
    wait_for_end(union)
    assert printed[1] == printed[0]
    assert printed[0].count("-1 22 False") == 4
    assert union.agent.reports


def test_program_that_was_just_made_can_be_run(union: Union, ses_run: Path, programs: Programs) -> None:
    """Nobody but its maker has it open for writing, however late the supervisor gets a processor again."""
    at_idle = ["taskset", "-c", str(min(os.sched_getaffinity(0))), "chrt", "--idle", "0"]
    as_usual = ["chrt", "--other", "0", programs.build("static", "executed.c")]
    done = union.run(*at_idle, ses_run, "--supervise", *as_usual, library=False)
    wait_for_end(union)
    assert done.stdout == "0 0\n", errno.errorcode[errno.ETXTBSY]
    assert len(union.agent.reports) == 50


def test_filters_are_taken_but_those_that_hand_calls_to_a_tracer(union: Union, ses_run: Path) -> None:
    """And so is a tracer's option to be handed them."""
    script = f"""{BEFORE[:-8]}
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
child = os.fork()
if child == 0: signal.pause()
seccomp = 317 if os.uname().machine == 'x86_64' else 277
for action in (0x7ff00000, 0x7fff0000):
    lines = ctypes.create_string_buffer(struct.pack('=HBBIHBBI', 6, 0, 0, 0x7fff0000, 6, 0, 0, action))
    program = struct.pack('@HP', 2, ctypes.addressof(lines))
    print([call() and ctypes.get_errno() for call in (
        lambda: libc.prctl(22, 2, program), lambda: libc.syscall(seccomp, 1, 0, program))])
for request, options in ((0x4206, 0x80), (0x4206, 1), (0x4200, 0x80), (0x4200, 1)):
    print(libc.ptrace(request, child, None, options) and ctypes.get_errno())
    if options == 1 and request == 0x4206: libc.ptrace(0x4207, child, None, None), os.waitpid(child, 0)
os.kill(child, 9)
"""
    script = script.replace("import ctypes", "import signal, ctypes", 1)
    printed = [
        union.run(*start, sys.executable, "-I", "-c", script, library=False).stdout.splitlines()
        for start in ([], [ses_run, "--supervise"])
    ]
    wait_for_end(union)
    assert printed[0] == ["[0, 0]", "[0, 0]", "0", "1", "0", "0"]
    assert printed[1] == ["[22, 22]", "[0, 0]", "22", "0", "22", "0"]


def test_tracer_misses_no_create(union: Union, ses_run: Path) -> None:
    """One that has calls handed to it by a filter would not get those that the supervisor gets; it traces
    without, where it is refused one."""
    command = ["strace", "--follow-forks", "--seccomp-bpf", "--trace=openat,mknodat,prctl"]
    program = ["/bin/busybox", "sh", "-c", "> made"]
    done = union.run(ses_run, "--supervise", *command, *program, library=False)
    wait_for_end(union)
    assert 'openat(AT_FDCWD, "made", O_WRONLY|O_CREAT' in done.stderr
    assert union.agent.reports


@pytest.mark.parametrize("refused", [False, True])
def test_io_uring_is_seen_by_nobody_unless_it_is_refused(
    union: Union, ses_run: Path, programs: Programs, refused: bool
) -> None:
    """A program to which it is refused falls back, as on a kernel without."""
    program = programs.build("static", "ring.c")
    plain = union.run(program, union.path / "plain", library=False)
    if plain.stdout != "ring\n":
        pytest.skip("the kernel offers no io_uring")
    more = ["--no-io-uring"] if refused else []
    done = union.run(ses_run, "--supervise", *more, program, union.path / "file", library=False)
    wait_for_end(union)
    assert (union.path / "file").exists()
    assert done.stdout == (f"open, errno {errno.ENOSYS}\n" if refused else "ring\n")
    assert [report.outcome for report in union.agent.reports] == [CREATED] * refused


def test_io_uring_is_refused_under_a_supervisor_only(ses_run: Path) -> None:
    done = ran([ses_run, "--no-io-uring", "true"], code=125)
    assert "--no-io-uring goes with --supervise" in done.stderr


def test_32_bit_program_passes_untouched(union: Union, ses_run: Path, programs: Programs) -> None:
    """The numbers of its calls mean others."""
    program = programs.build("32-bit", "tiny.c")
    done = union.run(ses_run, "--supervise", program, library=False, check=False)
    wait_for_end(union)
    assert (done.returncode, done.stderr.count("\n")) == (7, 1)
    assert (union.path / "tiny").exists()
    assert union.agent.asks == []


def test_setuid_program_keeps_its_rights_where_root_supervises(
    union: Union, ses_run: Path, programs: Programs
) -> None:
    """And is left to its own calls: no user may have root's supervisor act with rights that mix two."""
    union.path.chmod(0o777)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:  # /tmp may be mounted nosuid
        Path(directory).chmod(0o755)
        program = Path(directory) / "touch"
        program.write_bytes(programs.build("static", "touch.c").read_bytes())
        program.chmod(0o4755)
        as_user = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
        union.run(ses_run, "--supervise", *as_user, program, union.path / "file", library=False)
        wait_for_end(union)
    assert (union.path / "file").stat().st_uid == 0
    assert union.agent.asks == []
