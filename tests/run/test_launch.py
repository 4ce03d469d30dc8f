"""ses-run becomes the program, with the library added and everything else as it was."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from built import BUILD
from program_ways import Programs
from ran import ran
from units import RATES, SIZES

NOBODY = 65534


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run with PATH and nothing else in the environment but what is given."""
    return ran([str(part) for part in command], code=None, env={"PATH": os.environ["PATH"], **environment})


def variables(ses_run: Path, *options: str, **environment: str) -> dict[str, str]:
    """The environment a program finds itself in."""
    done = run(ses_run, *options, "/usr/bin/env", **environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return dict(line.split("=", 1) for line in done.stdout.splitlines())


def library_of(ses_run: Path) -> str:
    return str(ses_run.parents[1] / "libses-wrapper.so")


def test_library_is_the_only_thing_added(ses_run: Path) -> None:
    given = variables(ses_run, HOME="/nowhere")
    assert given == {"PATH": os.environ["PATH"], "HOME": "/nowhere", "LD_PRELOAD": library_of(ses_run)}


@pytest.mark.parametrize("there", ["libm.so.6", "libm.so.6:libdl.so.2", "libm.so.6 libdl.so.2"])
def test_libraries_that_are_preloaded_already_stay_and_come_first(ses_run: Path, there: str) -> None:
    assert variables(ses_run, LD_PRELOAD=there)["LD_PRELOAD"] == f"{there}:{library_of(ses_run)}"


def test_library_is_not_named_twice(ses_run: Path) -> None:
    once = variables(ses_run)["LD_PRELOAD"]
    for there in (once, f"libm.so.6:{once}", f"{once} libm.so.6"):
        assert variables(ses_run, LD_PRELOAD=there)["LD_PRELOAD"] == there


def test_library_is_in_the_program(ses_run: Path) -> None:
    done = run(ses_run, "cat", "/proc/self/maps")
    assert library_of(ses_run) in done.stdout


def test_installed_library_is_named_such_that_the_linker_chooses_32_or_64_bits(
    ses_run: Path, tmp_path: Path
) -> None:
    """From the place of `bin/ses-run`, wherever the installation was moved."""
    cache = (BUILD / "CMakeCache.txt").read_text()
    match = re.search(r"^CMAKE_INSTALL_LIBDIR:PATH=(.*)$", cache, re.MULTILINE)
    assert match
    place = tmp_path / match[1]
    place.mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    installed = tmp_path / "bin/ses-run"
    installed.write_bytes(ses_run.read_bytes())
    installed.chmod(0o755)
    (place / "libses-wrapper.so").write_bytes(Path(library_of(ses_run)).read_bytes())
    entry = variables(installed)["LD_PRELOAD"]
    apart = match[1] == "lib64" or match[1].startswith("lib/")
    assert entry == str(tmp_path / ("$LIB" if apart else match[1]) / "libses-wrapper.so")
    assert str(place / "libses-wrapper.so") in run(installed, "cat", "/proc/self/maps").stdout
    musl = tmp_path / "musl"
    (tmp_path / "musl.c").write_text('#include <stdlib.h>\nint main(void) { return !getenv("LD_PRELOAD"); }')
    subprocess.run(["musl-gcc", tmp_path / "musl.c", "-o", musl], check=True, timeout=60)
    report = json.loads(run(installed, "--check", "--json", str(musl)).stdout)
    assert report["library"] == str(place / "libses-wrapper.so"), "musl knows no $LIB"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--application", "weather"], {"SES_APPLICATION": "weather"}),
        (["--sync-ms", "7"], {"SES_SYNC_MS": "7"}),
        (["--require", "write>=3MB/s free>=2TB!"], {"SES_REQUIRE": "write>=3MB/s free>=2TB!"}),
        (["--socket", "/run/other.sock"], {"SES_AGENT_SOCKET": "/run/other.sock"}),
    ],
)
def test_options_set_what_the_library_reads(
    ses_run: Path, options: list[str], expected: dict[str, str]
) -> None:
    assert expected.items() <= variables(ses_run, *options).items()


def test_disabled_program_runs_as_if_without(ses_run: Path) -> None:
    given = variables(ses_run, "--disable")
    assert "LD_PRELOAD" not in given
    assert given["SES_DISABLE"] == "1"


def test_arguments_of_the_program_are_not_options_of_ses_run(ses_run: Path) -> None:
    assert run(ses_run, "echo", "--help", "--check").stdout == "--help --check\n"
    assert run(ses_run, "--", "echo", "-n", "x").stdout == "x"


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (["sh", "-c", "exit 7"], 7),
        (["sh", "-c", "kill -TERM $$"], -signal.SIGTERM),
        (["/nowhere/program"], 127),
        (["no-such-program"], 127),
        (["/etc"], 126),
        (["/etc/passwd"], 126),
    ],
)
def test_exit_status_is_that_of_env(ses_run: Path, command: list[str], status: int) -> None:
    assert run("env", *command).returncode == status
    assert run(ses_run, *command).returncode == status


@pytest.mark.parametrize(
    "mistake",
    [
        *([], ["--bogus", "true"], ["--application"], ["--sync-ms", "soon", "true"], ["--json", "true"]),
        *(["--require", "write>=3", "true"], ["--require", "", "true"]),
    ],
)
def test_mistakes_on_the_command_line_end_with_125(ses_run: Path, mistake: list[str]) -> None:
    done = run(ses_run, *mistake)
    assert done.returncode == 125
    assert done.stdout == ""
    assert done.stderr.startswith(("ses-run: ", str(ses_run)))
    assert done.stderr.endswith("Try 'ses-run --help'.\n")


def test_help_is_asked_for_as_of_ses(ses_run: Path) -> None:
    for asked in ("-h", "--help"):
        done = run(ses_run, asked)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("Usage: ses-run ")


@pytest.mark.parametrize(
    ("kind", "typed", "right"),
    [*(("write", *item) for item in RATES.items()), *(("free", *item) for item in SIZES.items())],
)
def test_a_wrong_unit_is_answered_with_the_one_that_was_meant(
    ses_run: Path, kind: str, typed: str, right: str
) -> None:
    done = run(ses_run, "--require", f"read>=1MB/s {kind}>={typed} average-read>=2MB/s", "true")
    assert done.returncode == 125
    match = re.search(r'did you mean "(.*)"\?', done.stderr)
    assert (match[1] if match else "") == (f"{kind}>={right}" if right else "")


def test_program_has_the_process_of_ses_run(ses_run: Path) -> None:
    with subprocess.Popen([ses_run, "sh", "-c", "echo $$"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert int(process.stdout.read()) == process.pid


def test_descriptors_and_signals_of_the_program_are_as_without(ses_run: Path) -> None:
    for show in (["ls", "/proc/self/fd"], ["grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"]):
        assert run(ses_run, *show).stdout == run(*show).stdout != ""


@pytest.mark.parametrize("way", ["asan", "tsan"])
def test_sanitized_program_runs(ses_run: Path, programs: Programs, tmp_path: Path, way: str) -> None:
    done = run(ses_run, programs.build(way, "touch.c"), tmp_path / "file")
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")


def test_what_asan_was_told_stays(ses_run: Path, programs: Programs, tmp_path: Path) -> None:
    program = programs.build("asan", "touch.c")
    done = run(ses_run, program, tmp_path / "file", ASAN_OPTIONS="exitcode=9:verbosity=0")
    assert (done.returncode, done.stderr) == (0, "")
    insisting = run(ses_run, program, tmp_path / "file", ASAN_OPTIONS="verify_asan_link_order=1")
    assert insisting.returncode != 0
    assert "does not come first" in insisting.stderr


def test_missing_library_is_said_and_the_program_runs(ses_run: Path, tmp_path: Path) -> None:
    done = run(ses_run, "--library", tmp_path / "none.so", "echo", "ran")
    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert "none.so cannot be read" in done.stderr


def test_library_whose_path_cannot_be_preloaded_is_not(ses_run: Path, tmp_path: Path) -> None:
    library = tmp_path / "a b.so"
    library.write_bytes(Path(library_of(ses_run)).read_bytes())
    done = run(ses_run, "--library", library, "printenv", "LD_PRELOAD")
    assert (done.returncode, done.stdout) == (1, "")
    assert "a space or colon is in it" in done.stderr


def test_ses_run_is_this_program_and_leaves_signals_as_they_are(ses_run: Path) -> None:
    ses = Path(sys.executable).with_name("ses")
    show = ["grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"]
    path = f"{ses_run.parent}:{os.environ['PATH']}"
    done = run(ses, "run", "--application", "weather", *show, PATH=path)
    assert (done.returncode, done.stdout, done.stderr) == (0, run(*show).stdout, "")
    named = run(ses, "run", "--application", "weather", "printenv", "SES_APPLICATION", PATH=path)
    assert named.stdout == "weather\n"
