"""Creates at odd times of a process's life, and beside what else gets between a program and its calls."""

import errno
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from mergerfs_union import NOBODY, Union
from ran import ran

VARIANTS = ["", "-fortified"]

SPAWN = """
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
__asm__(".symver %(call)s, %(call)s@GLIBC_%(version)s");
int main(int count, char **arguments) {
  extern char **environ;
  pid_t child = 0;
  int error = %(call)s(&child, arguments[1], NULL, NULL, arguments + 1, environ);
  if (count == 2 && error == 0)
    waitpid(child, NULL, 0);
  printf("%%d\\n", error);
}
"""


def names(union: Union) -> set[str]:
    return {path.name for path in union.path.iterdir() if path.name not in (".ses", "lost")}


def placed(union: Union) -> int:
    return sum(report.outcome == 1 for report in union.agent.reports)


def test_destructor_that_runs_after_everything_creates(union: Union, probes: Path) -> None:
    union.run(probes / "life", "1", union.path, LATE_FILE=str(union.path / "late"))
    assert names(union) == {"life-0", "late"}
    assert placed(union) == 2


@pytest.mark.parametrize("suffix", VARIANTS)
def test_threads_that_fork_and_their_children_are_all_served(union: Union, probes: Path, suffix: str) -> None:
    union.agent.choose = lambda number: number % 3
    union.run(probes / f"life{suffix}", "storm", union.path)
    assert names(union) == {f"{who}-{i}" for who in ("child", "thread") for i in range(40)}
    assert placed(union) == 80


def test_spawned_program_is_served_and_so_is_the_file_of_its_actions(union: Union, probes: Path) -> None:
    union.run(probes / "life", "spawn", union.path)
    assert names(union) == {"action-0", "life-0", "parent-0"}
    assert placed(union) == 3


@pytest.mark.skipif(platform.machine() != "x86_64", reason="there glibc 2.15 changed posix_spawn()")
@pytest.mark.parametrize("call", ["posix_spawn", "posix_spawnp"])
def test_program_linked_before_2012_spawns_scripts_without_an_interpreter(
    union: Union, tmp_path: Path, call: str
) -> None:
    """What is no program goes to the shell, as it did then; in later ones it is an error."""
    script = tmp_path / "script"
    script.write_text("echo it runs\n")
    script.chmod(0o755)
    printed = {}
    for version in ("2.2.5", "2.15"):
        program = tmp_path / version
        program.with_suffix(".c").write_text(SPAWN % {"call": call, "version": version})
        ran(["gcc", program.with_suffix(".c"), "-o", program])
        outputs = [union.run(program, script, library=library).stdout for library in (False, True)]
        assert outputs[0] == outputs[1]
        printed[version] = outputs[0]
    assert printed == {"2.2.5": "it runs\n0\n", "2.15": f"{errno.ENOEXEC}\n"}


def test_clones_create_and_one_on_foreign_memory_asks_nobody(union: Union, probes: Path) -> None:
    union.run(probes / "life", "clone", union.path)
    assert names(union) == {"sharing-0", "own-0", "parent-0"}
    inodes = {report.inode for report in union.agent.reports}
    assert (union.path / "parent-0").stat().st_ino in inodes
    assert (union.path / "sharing-0").stat().st_ino not in inodes


@pytest.mark.parametrize("suffix", VARIANTS)
def test_handler_on_a_stack_of_8_kib_is_served(union: Union, probes: Path, suffix: str) -> None:
    union.run(probes / f"life{suffix}", "alternate", union.path)
    assert names(union) == {"handler-0"}
    assert placed(union) == 1


def test_cancelled_threads_leave_no_descriptor_and_no_staged_file(union: Union, probes: Path) -> None:
    assert union.run(probes / "life", "cancel", union.path).stdout == "0\n"
    assert union.agent.leftovers() == []
    assert placed(union) >= 16


def test_program_that_closes_all_descriptors_gets_what_it_expects(union: Union, probes: Path) -> None:
    assert union.run(probes / "life", "daemon", union.path).stdout == "0\n"
    assert placed(union) == 20


def test_program_that_changes_its_root_creates_without_the_agent(union: Union, probes: Path) -> None:
    union.run(probes / "life", "chroot", union.path)
    assert names(union) == {"chroot-0"}
    assert union.agent.leftovers() == []


def test_program_without_memory_creates(union: Union, probes: Path) -> None:
    union.run(probes / "life", "memory", union.path)
    assert len(names(union)) == 21
    assert placed(union) == 21


def test_program_without_proc_and_run_creates(union: Union, probes: Path) -> None:
    script = 'umount -l /proc && mount -t tmpfs none /run && exec "$@"'
    union.run(*("unshare", "-m", "sh", "-c", script, "sh"), probes / "life", "3", union.path)
    assert names(union) == {"life-0", "life-1", "life-2"}
    assert placed(union) == 3


def test_libraries_that_come_and_go_change_nothing(union: Union, probes: Path) -> None:
    for library in (probes / "libearly.so", union.wrapper):
        union.run(probes / "life", "library", union.path, library)
        assert names(union) == {"before-0", "during-0", "during-1", "during-2", "after-0"}
        for path in union.path.glob("*-?"):
            path.unlink()
    assert placed(union) == 10


def companion(name: str) -> str:
    """Another library to be preloaded, where Debian has it."""
    if name == "libasan.so":
        command = ["gcc", f"-print-file-name={name}"]
        return ran(command).stdout.strip()
    libraries = sorted(Path("/usr/lib").glob(f"*/{name}"))
    assert libraries, f"{name} missing: packaging/install.sh test"
    return str(libraries[0])


@pytest.mark.parametrize("order", ["first", "last"])
@pytest.mark.parametrize("name", ["libeatmydata.so", "libjemalloc.so.2", "libasan.so"])
def test_library_works_beside_others(union: Union, probes: Path, name: str, order: str) -> None:
    both = [str(union.wrapper), companion(name)]
    union.run(
        *(probes / "life", "storm", union.path),
        library=False,
        LD_PRELOAD=":".join(both if order == "first" else reversed(both)),
        ASAN_OPTIONS="verify_asan_link_order=0:detect_leaks=0",
    )
    assert placed(union) == 80
    assert union.agent.leftovers() == []


@pytest.mark.parametrize("order", ["first", "last"])
def test_library_works_under_fakeroot(union: Union, probes: Path, order: str) -> None:
    both = "$WRAPPER:$LD_PRELOAD" if order == "first" else "$LD_PRELOAD:$WRAPPER"
    script = f'LD_PRELOAD="{both}" exec "$@"'
    command = ("fakeroot", "--", "sh", "-c", script, "sh", probes / "life", "storm", union.path)
    union.run(*command, library=False, WRAPPER=str(union.wrapper))
    assert placed(union) == 80
    assert union.agent.leftovers() == []


def test_second_copy_of_the_library_places_nothing_again(union: Union, probes: Path, tmp_path: Path) -> None:
    """As when a site's module and a user's script each preload it, from two installations."""
    copy = shutil.copy(union.wrapper, tmp_path / "copy.so")
    union.run(*(probes / "life", "storm", union.path), library=False, LD_PRELOAD=f"{union.wrapper}:{copy}")
    assert names(union) == {f"{who}-{i}" for who in ("child", "thread") for i in range(40)}
    assert placed(union) == len(union.agent.reports) == 80
    assert union.agent.leftovers() == []


def test_library_works_under_an_auditor(union: Union, probes: Path, tmp_path: Path) -> None:
    """The loader then binds by other ways, and has a second C library in the process."""
    auditor = tmp_path / "auditor.so"
    source = "unsigned la_version(unsigned newest) { return newest; }"
    source += " unsigned la_objopen(void *map, long space, void **cookie) { return 3; }"
    command = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", auditor]
    subprocess.run(command, input=source, text=True, check=True, timeout=600)
    union.run(probes / "life", "3", union.path, LD_AUDIT=str(auditor))
    assert names(union) == {"life-0", "life-1", "life-2"}
    assert placed(union) == 3


def test_streams_are_as_ever_where_the_real_calls_cannot_be_found(wrapper: Path, tmp_path: Path) -> None:
    """As in a memory allocator that opens a file while they are looked up."""
    program = tmp_path / "streams"
    source = (
        "#include <errno.h>\n#include <fcntl.h>\n#include <stdio.h>\n#include <unistd.h>\n"
        "void *dlsym(void *handle, const char *name) { return 0; }\n"
        "int main(int argc, char **argv) {\n"
        '  for (const char *const *mode = (const char *[]){"w", "a+", "r", "r+", 0}; *mode; mode++) {\n'
        "    FILE *file = fopen(argv[1], *mode);\n"
        '    printf("%s %d\\n", *mode, file ? fcntl(fileno(file), F_GETFL) & O_ACCMODE : -1);\n'
        "    if (file) fclose(file);\n"
        "  }\n"
        '  errno = 0; FILE *none = fopen("/proc/none/file", "r"); printf("%d %d\\n", !none, errno);\n'
        '  int next = dup(0); printf("%d\\n", next);\n'
        "}\n"
    )
    command = ["gcc", "-x", "c", "-", "-rdynamic", "-o", program]
    subprocess.run(command, input=source, text=True, check=True, timeout=600)
    done = ran([program, tmp_path / "file"], env={"LD_PRELOAD": str(wrapper)}, close_fds=True)
    assert done.stdout.split("\n") == ["w 1", "a+ 2", "r 0", "r+ 2", "1 2", "3", ""]


def build_life(into: Path, *options: str) -> Path:
    """The probe as one file, built in its own way."""
    program = into / "life"
    sources = [Path(__file__).parent / "probes" / name for name in ("life.c", "early.c")]
    command = ["gcc", "-g", *options, *sources, "-o", program]
    subprocess.run(command, check=True, timeout=600)
    return program


def test_address_sanitizer_finds_nothing(union: Union, tmp_path: Path) -> None:
    program = build_life(tmp_path, "-fsanitize=address,undefined")
    done = union.run(program, "storm", union.path, ASAN_OPTIONS="verify_asan_link_order=0")
    assert done.stderr == ""
    assert placed(union) == 80


@pytest.mark.parametrize("where", ["3", "heap"])
def test_valgrind_finds_nothing(union: Union, probes: Path, where: str) -> None:
    """Also where a path lies between bytes that nobody has written."""
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed, and not installed by packaging/install.sh")
    done = union.run("valgrind", "-q", "--error-exitcode=9", probes / "life", where, union.path)
    assert done.stderr == ""
    assert placed(union) == len(names(union)) > 0


@pytest.mark.parametrize("kind", ["setuid", "capability"])
def test_program_with_more_rights_than_its_caller_never_meets_the_library(union: Union, kind: str) -> None:
    """And says nothing about it."""
    as_user = ("setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups")
    union.path.chmod(0o777)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:  # /tmp may be mounted nosuid
        Path(directory).chmod(0o755)
        program = build_life(Path(directory))
        if kind == "setuid":
            program.chmod(0o4755)
        else:
            subprocess.run(["setcap", "cap_dac_override+ep", program], check=True, timeout=60)
        done = union.run(*as_user, program, "2", union.path)
    assert done.stderr == ""
    assert names(union) == {"life-0", "life-1"}
    assert union.agent.asks == []


def test_32_bit_program_creates_in_silence(union: Union, tmp_path: Path) -> None:
    """Under a path with $LIB, as packages install it: the same path brings the library to 64-bit programs."""
    places = [tmp_path / name for name in ("lib/x86_64-linux-gnu", "lib32", "lib/i386-linux-gnu")]
    for place in places:
        place.mkdir(parents=True)
    shutil.copy(union.wrapper, places[0] / "libses-wrapper.so")
    quiet = Path(__file__).parents[2] / "libses/quiet/quiet.c"
    for place in places[1:]:
        command = ["gcc", "-m32", "-shared", "-nostdlib", "-fPIC", quiet, "-o", place / "libses-wrapper.so"]
        subprocess.run(command, check=True, timeout=60)
    preload = f"{tmp_path}/$LIB/libses-wrapper.so"
    for bits, number in (("-m32", 0), ("-m64", 2)):
        done = union.run(build_life(tmp_path, bits), "2", union.path, library=False, LD_PRELOAD=preload)
        assert done.stderr == ""
        assert names(union) == {"life-0", "life-1"}
        assert placed(union) == number
        for name in ("life-0", "life-1"):
            (union.path / name).unlink()
