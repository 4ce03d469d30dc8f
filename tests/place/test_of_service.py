"""Places that a service gives: real service, agent and command, from the choice to the end of the claim."""

import errno
import json
import os
import resource
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from built import built
from mounts import served, stopped
from patience import wait_until
from ran import ran
from ses.place.claims import Holder
from ses.place.service import kept
from ses_client.errors import SesError
from ses_client.messages.places import PlaceGiven
from site_of_directories import NODE, PROGRAM, Site, kill


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("places"))
    made.begin_agent()
    yield made
    made.end()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Without an agent."""
    made = Site(tmp_path_factory.mktemp("alone"), 8)
    yield made
    made.end()


def sleeping() -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "600"])


def test_a_place_is_made_listed_explained_and_released(site: Site) -> None:
    given = Path(site.ses("place", "--on", "scratch", "--need", "write>=1MB/s", "--size", "3GB",
                          "--for", "8h", "--mkdir", "run-XXXX"))  # fmt: skip
    assert given.parent in site.directories
    assert given.stat().st_mode & 0o777 == 0o700
    assert str(given)[:40] in site.ses("places", "--wide")
    said = site.ses("explain", given)
    assert "scratch/s" in said
    assert "3,000,000,000 bytes" in said
    assert "write" in said
    assert "is released" in site.ses("release", given)
    assert str(given) not in site.ses("places", "--wide")
    assert "ended (closed)" in site.ses("explain", given)
    assert given.is_dir()


def test_claims_of_this_machine_are_explained_and_released_beside_it(site: Site, tmp_path: Path) -> None:
    given = site.ses("place", "--among", tmp_path, "--need", "write>=1MB/s", "--size", "1MB")
    answer = json.loads(site.ses("explain", given, "--json"))
    assert (answer["chosen"], answer["asked"]) == (str(tmp_path), ["write>=1MB/s"])
    assert "chosen" in site.ses("explain", given)
    listed = json.loads(site.ses("places", "--json"))
    assert [claim["directory"] for claim in listed["claims"]] == [given]
    site.ses("release", given)
    assert json.loads(site.ses("places", "--json"))["claims"] == []


def test_the_agent_follows_the_process_and_reports_what_was_written(site: Site) -> None:
    program = "read directory; head -c 30000000 /dev/zero > $directory/data; sync; exec sleep 600"
    process = subprocess.Popen(["bash", "-c", program], stdin=subprocess.PIPE)
    assert process.stdin
    given = json.loads(site.ses("place", "--on", "scratch", "--need", "write>=1MB/s", "--size", "1GB",
                                "--for", f"pid:{process.pid}", "--mkdir", "run-XXXX", "--json"))  # fmt: skip
    place_id = given["place_id"]
    assert (given["renewed_by"], given["pid"], given["subject"]["node"]) == ("node", process.pid, NODE)
    wait_until(lambda: site.places()[place_id]["followed"])
    process.stdin.write(f"{given['directory']}\n".encode())
    process.stdin.close()
    wait_until(lambda: (site.places()[place_id]["written_bytes"] or 0) >= 30_000_000)
    kill(process)
    wait_until(lambda: place_id not in site.places())
    received = site.get(f"/v1/files/{place_id}")
    assert received["end_reason"] == "exited"
    assert received["bytes_written"] >= 30_000_000
    wait_until(lambda: site.get(f"/v1/files/{place_id}")["kinds"], "it is judged")
    assert "received" in site.ses("explain", given["directory"])
    history = site.get("/v1/sizes")["sizes"]
    assert "(place)" in [size["pattern"] for size in history]


def test_a_deep_tree_is_added_up_with_few_descriptors(site: Site) -> None:
    """Whoever is given a place may make as many directories in it, one in the other, as they like."""
    process = sleeping()
    given = json.loads(site.ses("place", "--on", "scratch", "--for", f"pid:{process.pid}", "--mkdir",
                                "run-XXXX", "--json"))  # fmt: skip
    assert site.agent
    limits = resource.prlimit(site.agent.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(site.agent.pid, resource.RLIMIT_NOFILE, (200, limits[1]))
    try:
        at = os.open(given["directory"], os.O_PATH)
        for _ in range(400):  # a way that is longer than any that the kernel takes
            os.mkdir("d" * 30, dir_fd=at)
            above, at = at, os.open("d" * 30, os.O_PATH, dir_fd=at)
            os.close(above)
        with os.fdopen(os.open("data", os.O_CREAT | os.O_WRONLY, dir_fd=at), "wb") as data:
            data.write(bytes(30_000_000))
        os.close(at)
        wait_until(lambda: (site.places()[given["place_id"]]["written_bytes"] or 0) >= 30_000_000)
    finally:
        resource.prlimit(site.agent.pid, resource.RLIMIT_NOFILE, limits)
        kill(process)
    wait_until(lambda: given["place_id"] not in site.places())


def test_a_place_lasts_through_the_restart_of_service_and_agent(site: Site) -> None:
    process = sleeping()
    given = json.loads(site.ses("place", "--on", "scratch", "--for", f"pid:{process.pid}", "--json"))
    place_id = given["place_id"]
    kill(site.service)
    assert site.agent
    kill(site.agent)
    site.begin_service()
    assert place_id in site.places()
    site.begin_agent()
    wait_until(lambda: site.places()[place_id]["followed"])
    kill(process)
    wait_until(lambda: place_id not in site.places())


def test_a_job_of_slurm_ends_its_place(site: Site) -> None:
    """By the process of Slurm that lasts as long as the job: a program of its name stands in for it."""
    program = "import ctypes, time; ctypes.CDLL(None).prctl(15, b'slurmstepd'); time.sleep(600)"
    job = subprocess.Popen([sys.executable, "-c", program, "slurmstepd: [4711.batch]"])
    try:
        wait_until(lambda: Path(f"/proc/{job.pid}/comm").read_text() == "slurmstepd\n")
        given = json.loads(
            site.ses("place", "--on", "scratch", "--for", "job", "--json", SLURM_JOB_ID="4711")
        )
        assert (given["subject"]["job"], given["pid"]) == ("4711", job.pid)
    finally:
        kill(job)
    wait_until(lambda: given["place_id"] not in site.places())


def test_the_next_part_of_a_place_goes_to_another_file_system(site: Site) -> None:
    process = sleeping()
    words = ("--need", "write>=1MB/s", "--size", "2GB", "--streams", 2, "--for", f"pid:{process.pid}")
    first = json.loads(site.ses("place", "--on", "scratch", *words, "--mkdir", "run-XXXX", "--json"))
    directory = Path(site.ses("place", "--again", first["directory"]))
    assert (directory.name, directory.is_dir()) == (Path(first["directory"]).name, True)
    (second,) = (place for place in site.places().values() if place["directory"] == str(directory))
    assert second["element"] != first["element"]
    kept = ("streams", "claimed_bytes", "pid")
    assert [second[name] for name in kept] == [first[name] for name in kept] == [2, 2e9, process.pid]
    whole = site.get(f"/v1/places/{second['place_id']}")
    assert [requirement["minimum"] for requirement in whole["requirements"]] == [1]
    assert site.places("ended")[first["place_id"]]["end_reason"] == "closed"
    kill(process)
    wait_until(lambda: second["place_id"] not in site.places())


def test_without_an_agent_the_caller_renews_it_in_the_background(alone: Site) -> None:
    process = sleeping()
    given = json.loads(alone.ses("place", "--on", "scratch", "--for", f"pid:{process.pid}", "--json"))
    assert given["renewed_by"] == "caller"
    assert given["place_id"] in alone.places()
    kill(process)
    wait_until(lambda: given["place_id"] not in alone.places())
    ended = alone.places("ended")[given["place_id"]]
    assert ended["end_reason"] == "closed", "and no lease had to run out"


def test_a_block_of_python_has_a_place_of_the_service(alone: Site) -> None:
    program = (
        "import os, sys, ses.api\n"
        "with ses.api.place(on='scratch', need='write>=1MB/s',"
        " size='1MB', mkdir='r-XXXX', streams=2) as place:\n"
        "    if not os.fork():\n"
        "        sys.exit()  # which ends nothing of its parent's\n"
        "    os.wait()\n"
        "    open(place.directory + '/data', 'wb').write(b'x' * 100000)\n"
        "    print(place.place_id)\n"
    )
    environment = alone.environment()
    done = ran([sys.executable, "-c", program], env=environment)
    ended = alone.places("ended")[done.stdout.strip()]
    assert ended["streams"] == 2
    assert ended["written_bytes"] >= 100_000
    assert ended["end_reason"] == "closed"


_PROGRAM = r"""
#include <cstdio>
#include <ses/ses.hpp>
int main(int, char **words) {
  ses::StoragePolicy policy;
  policy.setCurrentWriteTransferRate(1.5);
  policy.setExpectedSize(3000000000);
  ses_place place;
  int error = LustreManager().placeDirectory(words[1], place, &policy, "run-XXXX");
  std::printf("%d\n", error);
  if (error != 0)
    return 0;
  std::printf("%s\n%s\n%s\n", place.id, place.element, place.directory);
  std::fflush(stdout);
  (void)std::getchar();
  std::printf("%d\n", ses_place_release(&place));
}
"""


def test_a_program_in_c_has_a_place_of_the_service(alone: Site, tmp_path: Path) -> None:
    source, program = tmp_path / "place.cpp", tmp_path / "place"
    source.write_text(_PROGRAM)
    build = built("libses.so").parent
    include = Path(__file__).parents[2] / "libses/include"
    command = ["g++", "-std=c++17", f"-I{include}", str(source), "-o", str(program), f"-L{build}", "-lses"]
    subprocess.run([*command, f"-Wl,-rpath,{build}"], check=True)
    environment = {**alone.environment(), "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"}
    with subprocess.Popen(
        [program, "scratch"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdin
        assert run.stdout
        error, place_id, element, directory = (run.stdout.readline().strip() for _ in range(4))
        assert error == "0"
        given = alone.places()[place_id]
        assert (given["element"], given["directory"]) == (element, directory)
        assert (given["pid"], given["claimed_bytes"]) == (run.pid, 3e9)
        assert Path(directory).is_dir()
        run.stdin.write("\n")
        run.stdin.flush()
        assert run.stdout.readline() == "0\n"
    assert place_id not in alone.places()
    refused = ran([program, "nowhere"], env=environment)
    assert refused.stdout == "22\n"


def test_a_directory_that_is_not_the_users_to_write_is_passed_over(alone: Site) -> None:
    blocked = alone.directories[1:]
    for directory in blocked:
        directory.rename(directory.with_name(f"aside-{directory.name}"))
        directory.write_text("no directory")
    try:
        for _ in range(3):
            given = alone.ses("place", "--on", "scratch", "--for", "8h", "--mkdir", "run-XXXX")
            assert Path(given).parent == alone.directories[0]
    finally:
        for directory in blocked:
            directory.unlink()
            directory.with_name(f"aside-{directory.name}").rename(directory)


@pytest.mark.root
def test_a_mount_that_hangs_here_is_passed_over_and_its_places_end(tmp_path: Path) -> None:
    hanging = Site(tmp_path, 2)
    sound, hung = hanging.directories
    asked = ("place", "--on", "scratch", "--for", "8h", "--mkdir", "run-XXXX")
    try:
        with served(hung, tmp_path / "below") as server:
            given = {Path(path).parent: path for path in (hanging.ses(*asked) for _ in range(2))}
            with stopped(server):
                assert {Path(hanging.ses(*asked)).parent for _ in range(2)} == {sound}
                assert "is released" in hanging.ses("release", given[hung])
    finally:
        hanging.end()


def test_a_place_that_no_process_can_renew_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    def fork() -> int:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    released: list[str] = []
    client: Any = SimpleNamespace(release_place=lambda place_id, _: released.append(place_id))
    given = PlaceGiven(place_id="a", renewed_by="caller", own_directory=False)  # type: ignore[call-arg]
    monkeypatch.setattr(os, "fork", fork)
    with pytest.raises(SesError, match="No process can begin that renews the place"):
        kept(client, given, Holder(until=0.0))
    assert released == ["a"]


def test_a_lost_service_is_named_with_the_next_step(tmp_path: Path) -> None:
    environment = {**os.environ, "SES_SERVICE_URL": "http://127.0.0.1:9", "XDG_STATE_HOME": str(tmp_path)}
    done = ran([PROGRAM, "place", "--on", "scratch"], code=3, env=environment)
    assert "ses place --among" in done.stderr


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "Name a storage system by --on"),
        (["--on", "scratch", "--among", "/tmp"], "not both"),
        (["--on", "scratch", "--rate", "/tmp=1MB/s"], "--rate goes with --among only"),
        (["--among", "/tmp", "--streams", "2"], "--streams goes with --on only"),
        (["--on", "nowhere"], "is not described"),
    ],
)
def test_a_command_that_makes_no_sense_is_refused(alone: Site, words: list[str], why: str) -> None:
    assert why in alone.ses("place", *words, code=2)


def test_500_places_asked_at_once_by_50_nodes_are_spread(alone: Site) -> None:
    before = carried(alone)
    seconds: list[float] = []

    def node(number: int) -> None:
        for _ in range(10):
            body = {
                "place_id": secrets.token_hex(8),
                "subject": {"user": "alice", "node": f"n{number}"},
                "storage_system": "scratch",
                "expected_bytes": 1000,
                "process": {"pid": 2, "started": 1, "namespace": 1},
            }
            asked = time.monotonic()
            answer = alone.http.request("POST", f"{alone.url}/v1/places", json=body)
            assert answer.status == 200, answer.data
            seconds.append(time.monotonic() - asked)

    begun = time.monotonic()
    with ThreadPoolExecutor(50) as nodes:
        for done in [nodes.submit(node, number) for number in range(50)]:
            done.result()
    print(f"500 places in {time.monotonic() - begun:.2f} s, each stored after {max(seconds):.3f} s at most")
    given = {element: count - before[element] for element, count in carried(alone).items()}
    assert sum(given.values()) == 500
    assert max(given.values()) <= 1.25 * 500 / len(given)


def carried(site: Site) -> dict[str, int]:
    return {element["id"]: element["open_placements"] for element in site.get("/v1/elements")["elements"]}
