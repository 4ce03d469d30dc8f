"""Built for arm64 by Debian's cross compiler, and emulated beside this machine's agent, tables and unions."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from claims_program import attached, remove_segments
from emulation import ARM64, BUILT, ROOT, Arm64, EmulatedUnion
from fake_service import FakeService
from mergerfs_union import NOBODY
from patience import wait_until
from ran import ran
from running_agent import Agent
from test_random_calls import OPTIONS, compare

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]
TESTS = Path(__file__).parents[1]
EMULATED_SECONDS = "10"


def test_each_part_is_built_and_starts(arm64: Arm64) -> None:
    """What ses-run --supervise does under a filter, no emulator shows: it has none of the kernel's."""
    programs = [
        "run/ses-run",
        "agent/ses-agent",
        "copy/ses-copy",
        "copy/ses-migrate",
        "extras/sampler/smed-sampler",
    ]
    for program in programs:
        done = ran([arm64.program(BUILT / program), "--version"])
        assert re.search(r"\d+\.\d+", done.stdout), program
    for file in [*programs, "run/ses-supervisor", "libses-wrapper.so", "libses.so", "ses-slurm.so"]:
        listed = ran(["readelf", "-h", BUILT / file])
        assert "AArch64" in listed.stdout, file


def test_no_program_sees_what_never_was(arm64: Arm64) -> None:
    """As in tests/agent.  An emulator does not reorder more than this machine, so the order itself is argued
    in ses/table.h and ses/claims.h."""
    program = arm64.torn()
    done = ran([program, EMULATED_SECONDS])
    assert min(map(int, re.findall(r"(\d+) (?:looks|writings|claims)", done.stdout))) > 100, done.stdout


def test_program_places_its_files(arm64: Arm64, make_emulated: Callable[..., EmulatedUnion]) -> None:
    """By every call; with another layout of O_DIRECTORY, O_NOFOLLOW and O_DIRECT than x86-64."""
    union = make_emulated()
    union.agent.choose = lambda number: number % 3
    program = arm64.compile("calls", TESTS / "libses/probes/calls.c")
    calls = union.run(program, union.path).stdout.split("\n")[:-1]
    assert [line.split()[1] for line in calls if not line.startswith("posix_spawn")] == ["0"] * (
        len(calls) - 2
    )
    assert len(union.agent.reports) == len(calls) > 20
    assert {report.outcome for report in union.agent.reports} == {1}


def test_program_places_its_files_by_the_table_of_an_emulated_agent(
    arm64: Arm64, make_emulated: Callable[..., EmulatedUnion], tmp_path: Path
) -> None:
    union, socket = make_emulated(count=4), tmp_path / "agent.sock"
    tmp_path.chmod(0o755)
    service = FakeService(union.path, {f"union/b{n}": path for n, path in enumerate(union.branches)})
    device = union.path.stat().st_dev
    agent = Agent(arm64.agent(), tmp_path, service.url, "--socket", str(socket), device=device)
    try:
        agent.wait_for("service found")
        program = arm64.compile("calls", TESTS / "libses/probes/calls.c")
        with attached(agent):
            done = union.run(program, union.path, SES_AGENT_SOCKET=str(socket))
        created = [path for path in union.path.iterdir() if path.is_file()]
        places = Counter(union.copies(path)[0] for path in created)
        assert len(created) > 20
        assert len(places) == 4, "mergerfs would take one branch"
        assert max(places.values()) - min(places.values()) <= 2
        assert "-1" not in [line.split()[1] for line in done.stdout.splitlines()]
        wait_until(lambda: len(service.opened_as) > 20, lambda: f"{len(service.opened_as)} files")
    finally:
        agent.stop()
        remove_segments(socket)
        service.close()


def test_tables_and_claims_of_an_emulated_agent(arm64: Arm64) -> None:
    """What tests/agent asks of claims, with the agent under emulation and the programs of this machine."""
    emulated = ARM64 / "emulated"
    shutil.rmtree(emulated, ignore_errors=True)
    (emulated / "agent").mkdir(parents=True)
    (emulated / "agent/ses-agent").symlink_to(arm64.agent())
    for part in (ROOT / "build/libses").iterdir():
        if part.name != "agent":
            (emulated / part.name).symlink_to(part)
    done = ran(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-m", "not long", "tests/agent/test_claims.py"],
        cwd=ROOT,
        env={**os.environ, "SES_BUILD_DIR": "build/arm64/emulated"},
    )
    assert "skipped" not in done.stdout


@pytest.mark.parametrize(("user", "way"), [(0, "asked"), (NOBODY, "chosen")])
def test_no_call_can_tell_that_the_library_is_there(
    arm64: Arm64, make_emulated: Callable[..., EmulatedUnion], user: int, way: str
) -> None:
    sequence = arm64.compile("sequence", *sorted((TESTS / "identity").glob("*.c")))
    compare(make_emulated(options=OPTIONS), sequence, user, way)


def test_packages_are_those_of_amd64(arm64: Arm64) -> None:
    subprocess.run([ROOT / "packaging/deb.sh", "arm64"], check=True, timeout=3000)
    built = {package.name.split("_")[0] for package in (ROOT / "build/deb-arm64").glob("*_arm64.deb")}
    control = (ROOT / "packaging/debian/control").read_text()
    wanted = set(re.findall(r"^Package: (\S+)\nArchitecture: any-amd64 any-arm64$", control, re.MULTILINE))
    assert built - {f"{name}-dbgsym" for name in built} >= wanted
