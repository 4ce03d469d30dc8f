"""Service and agents of two states of this version, in both directions, while programs run: nothing fails.

The other state is one of this repository's history, built here: its agent, library and service.
"""

import dataclasses
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE, wait_until
from ran import ran
from ses.demo.parts import Parts, find_parts
from storm_site import created, held, hold, running_site

pytestmark = [pytest.mark.root, pytest.mark.long, pytest.mark.timeout(1800)]

ROOT = Path(__file__).resolve().parents[2]
EARLIER = "5a444ae233df914942a8fcd95f6c2c8cb75224ce"
FILES = 100  # of each program between two upgrades
# Slower than a storm: what an agent cannot tell yet is bounded, and beyond that bound files are not placed.
STEADY = """
import os, sys, time
directory, name, going_on = sys.argv[1:]
number = 0
while os.path.exists(going_on):
    with open(f"{directory}/{name}-{number}", "x") as file:
        file.write(name)
    number += 1
    time.sleep(0.02)
"""
BUILD_SECONDS = 1500  # a minute on a quiet machine
SERVICE = """\
#!/bin/sh
PYTHONPATH={folders} exec {program} "$@"
"""


@pytest.fixture(scope="module")
def earlier() -> Parts:
    """The parts of the earlier state; what was built is kept, for it never changes."""
    known = subprocess.run(["git", "cat-file", "-e", EARLIER], cwd=ROOT, capture_output=True, check=False)
    if known.returncode != 0:
        pytest.skip(f"the history of this checkout does not have {EARLIER[:8]}")
    folder = ROOT / "build" / f"earlier-{EARLIER[:12]}-{sys.implementation.cache_tag}"
    service = folder / "service"
    if not service.exists():
        build_earlier(folder)
        write_service(service)  # the last: what is not whole is built again
    code = "import ses_service, ses_core; print(ses_service.__file__, ses_core.__file__)"
    command = [service.with_name("python"), "-c", code]
    said = ran(command)
    assert all(Path(part).is_relative_to(folder) for part in said.stdout.split()), said.stdout
    build = folder / "build"
    return dataclasses.replace(
        find_parts(), service=service, agent=build / "agent/ses-agent", preload=build / "libses-wrapper.so"
    )


def build_earlier(folder: Path) -> None:
    """Unpack the earlier state there, and build of it what is tested."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", EARLIER], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "x", "-C", folder], input=archive.stdout, check=True)
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "timeout": BUILD_SECONDS}
    subprocess.run(["cmake", "-S", folder / "libses", "-B", folder / "build", "-G", "Ninja"], **quiet)
    targets = ["--parallel", "2", "--target", "ses-agent", "ses_wrapper"]
    subprocess.run(["cmake", "--build", folder / "build", *targets], **quiet)
    core = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run(
        [sys.executable, *core, "--target", folder / "core", folder / "libses/core/python"], **quiet
    )


def write_service(service: Path) -> None:
    """Write two programs: the earlier service, and a Python that imports what it imports."""
    folder, programs = service.parent, Path(sys.executable).parent
    names = ("core", "ses-service", "ses-service/listen", "ses-service/client", "libses/python")
    folders = os.pathsep.join(str(folder / name) for name in names)
    for own, program in ((service.with_name("python"), "python"), (service, "ses-service")):
        own.write_text(SERVICE.format(folders=folders, program=programs / program))
        own.chmod(0o755)


@pytest.mark.parametrize("first", ["service", "agent"])
def test_parts_are_upgraded_one_after_the_other_while_programs_run(
    earlier: Parts, tmp_path: Path, first: str
) -> None:
    later = find_parts()
    upgrades = {
        "service": {"service": later.service},
        "agent": {"agent": later.agent, "preload": later.preload},
    }
    with running_site(tmp_path, earlier) as site:
        wait_until(lambda: "is mounted at" in site.log("agent"), "the union is known")
        holders = {"earlier": hold(site, "earlier")}
        going_on = tmp_path / "going-on"
        going_on.touch()
        writers = [site.program(STEADY, name, str(going_on)) for name in "01"]

        def all_is_known() -> bool:
            return all(site.knows(path) for name in holders for path in held(site, name))

        wait_until(all_is_known, "the ledger has what is held")
        for name in (first, *upgrades.keys() - {first}):
            before = created(site)
            site.stop(name, signal.SIGTERM)
            site.parts = dataclasses.replace(site.parts, **upgrades[name])
            {"service": site.start_service, "agent": site.start_agent}[name]()
            wait_until(all_is_known, f"what is held is known after the {name}")
            wait_until(lambda before=before: created(site) > before + FILES, "programs go on")  # type: ignore[misc]
            holders[f"after-{name}"] = hold(site, f"after-{name}")
            wait_until(all_is_known, f"what began after the {name} is known")
        going_on.unlink()
        for writer in writers:
            _, said = writer.communicate(timeout=PATIENCE)
            assert writer.returncode == 0, said.decode()
        everything = sorted(path for name in holders for path in held(site, name))
        wait_until(lambda: site.ledger() == everything, "the ledger is what is held")
        for holder in holders.values():
            holder.communicate(b"\n", timeout=PATIENCE)
            assert holder.returncode == 0
        wait_until(lambda: site.ledger() == [], "the ledger is empty")
