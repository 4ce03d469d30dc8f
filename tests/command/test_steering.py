"""`ses apply` steers a real union: bad branches leave its own choice for a while, no create fails by it, and
the administrator finds the union as it was set."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fake_selection_service import SelectionServiceDouble, candidate, element
from hypothesis import given
from hypothesis import strategies as st
from patience import wait_until
from ses.demo.mounts import unmount
from ses.demo.tools import tool
from ses.union.branches import look
from ses.union.creations import Creations
from ses.union.streams import Streams, _files_in_calls
from ses_client.unions import hold_back, parse_branches, read_union
from smed_monitor.collectors.mergerfs import Mergerfs
from smed_monitor.config.settings import Target

WATCH = "import ses.cli, ses.union.apply as it; it._BLIND_SECONDS = {}; ses.cli.main()"
UNIT = (Path(__file__).parents[2] / "packaging/systemd/ses-apply@.service").read_text("utf-8")
RIGHTS = re.findall(r"^CapabilityBoundingSet=(.+)$", UNIT, re.MULTILINE)[0].lower().split()
AS_THE_UNIT = ("setpriv", "--bounding-set", ",".join(["-all", *(f"+{name[4:]}" for name in RIGHTS)]))
FLOOR = ("--least-branches", "1", "--least-free", "0GB")


def test_a_directory_of_a_union_is_not_taken_for_one(ses: Any, union: tuple[Path, list[Path]]) -> None:
    (union[0] / "alice").mkdir()
    refused = ses("apply", str(union[0] / "alice"), code=5)
    assert f"alice is a directory of a mergerfs union: name {union[0]}." in refused.output


@dataclass
class Steered:
    """A mounted union of four branches, and the service that describes it."""

    mount: Path
    branches: list[Path]
    service: SelectionServiceDouble
    env: dict[str, str]

    @property
    def listed(self) -> str:
        return self.option("branches")

    def option(self, name: str) -> str:
        return os.fsdecode(os.getxattr(self.mount / ".mergerfs", f"user.mergerfs.{name}"))

    def set_option(self, name: str, value: str) -> None:
        os.setxattr(self.mount / ".mergerfs", f"user.mergerfs.{name}", value.encode())

    def offer(self, *rates: float, refused: str = "") -> None:
        """Say what a new file would be written at on each branch, and which one takes none."""
        ranked = [
            candidate(n, f"b{n}", 0.0, rate, 1.0) for n, rate in enumerate(rates, 1) if f"b{n}" != refused
        ]
        why = [{"element": f"union/{refused}", "reason": "draining", "detail": "It is being drained."}]
        self.service.selection = {
            **self.service.selection, "candidates": ranked, "refused": why if refused else [],
        }  # fmt: skip

    def branch_of(self, name: str) -> str:
        path = os.getxattr(self.mount / name, "user.mergerfs.basepath")
        return Path(os.fsdecode(path)).name

    def held(self) -> set[str]:
        return {Path(branch.path).name for branch in read_union(self.mount).branches if branch.held}

    def holds(self, *names: str) -> None:
        wait_until(lambda: self.held() == set(names), lambda: f"{set(names)}, not {self.held()}", 30)

    @contextmanager
    def steered(
        self, *, blind: float = 15, every: float = 0.2, under: Sequence[str] = ()
    ) -> Iterator[subprocess.Popen[str]]:
        command = [*under, sys.executable, "-c", WATCH.format(blind), "apply", str(self.mount), "--watch"]
        with subprocess.Popen(
            [*command, "--every", str(every), *FLOOR],
            env={**os.environ, **self.env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as running:
            try:
                yield running
            finally:
                running.kill()


@pytest.fixture
def steered(ses: Any, service: SelectionServiceDouble, tmp_path: Path) -> Iterator[Steered]:
    if os.geteuid() != 0:
        pytest.skip("mounting a union, and steering it, needs root")
    branches = [tmp_path / f"storage/b{number}" for number in range(1, 5)]
    mount = tmp_path / "union"
    (tmp_path / "storage").mkdir()
    tool("mount", "-t", "tmpfs", "-o", "size=64M", "tmpfs", str(tmp_path / "storage"))
    for directory in (*branches, mount):
        directory.mkdir()
    service.elements = [element(branch.name, str(mount), str(branch), None) for branch in branches]
    listed = f"{branches[0]}=RW,2M:{branches[1]}:{branches[2]}:{branches[3]}"
    with ExitStack() as undo:
        undo.callback(unmount, tmp_path / "storage")
        undo.callback(unmount, mount)
        tool("mergerfs", "-o", "category.create=rand,minfreespace=1M,cache.files=off", listed, str(mount))
        union = Steered(mount, branches, service, ses.env)
        union.offer(90, 90, 90, 90)
        yield union


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["/b1", "/b=x", "/a b", "/mnt/disk1/data", "/"]),
            st.sampled_from(["RW", "RO", "NC"]),
            st.none() | st.integers(0, 1 << 50),
        ),
        unique_by=lambda branch: branch[0],
    ),
    st.sets(st.sampled_from(["/b1", "/b=x", "/a b", "/mnt/disk1/data", "/"])),
)
def test_the_union_keeps_what_the_administrator_set(
    branches: list[tuple[str, str, int | None]], paths: set[str]
) -> None:
    text = ":".join(f"{path}={mode}{'' if own is None else f',{own}'}" for path, mode, own in branches)
    while_held = hold_back(text, paths)
    assert hold_back(while_held, ()) == text
    seen = parse_branches(while_held)
    assert [(branch.path, branch.mode, branch.min_free) for branch in seen] == [
        (branch.path, branch.mode, branch.min_free) for branch in parse_branches(text)
    ]
    assert {branch.path for branch in seen if branch.held} == {
        path for path, mode, _ in branches if mode == "RW" and path in paths
    }


def test_branches_are_out_of_the_choice_while_they_are_bad_and_come_back(steered: Steered) -> None:
    before = steered.listed
    steered.offer(90, 50, 90, 90)
    with steered.steered() as running:
        steered.holds("b2")
        for number in range(40):
            (steered.mount / f"f{number}").touch()
        assert not list(steered.branches[1].iterdir())
        steered.offer(90, 60, 90, 90)  # not yet as good as it has to be
        time.sleep(1)
        assert steered.held() == {"b2"}
        steered.offer(90, 80, 90, 90, refused="b1")
        steered.holds("b1")
        running.send_signal(signal.SIGTERM)
        out, _ = running.communicate(timeout=30)
    assert steered.listed == before
    assert running.returncode == 0, out
    assert "b2 held back: a new file would get 50 MB/s there, and 90 MB/s on the best" in out.replace(
        "\n", " "
    )
    assert "b1 held back: It is being drained." in out.replace("\n", " ")


def test_one_that_was_killed_is_gone_on_with_and_can_be_undone(steered: Steered, ses: Any) -> None:
    before = steered.listed
    steered.offer(90, 10, 10, 90)
    with steered.steered() as running:
        steered.holds("b2", "b3")
        running.kill()
    assert steered.held() == {"b2", "b3"}
    steered.offer(90, 90, 10, 90)
    with steered.steered() as running:
        steered.holds("b3")
        assert ses("apply", str(steered.mount), "--undo").exit_code == 1, "it is steered"
        running.kill()
    shown = ses.json("apply", str(steered.mount), "--undo")
    assert shown["given_back"] == [str(steered.branches[2])]
    assert steered.listed == before
    assert ses("apply", str(steered.mount), "--undo").exit_code == 5


def test_what_an_administrator_changes_meanwhile_stays(steered: Steered) -> None:
    b1, b2, b3, b4 = steered.branches
    steered.offer(90, 10, 90, 90)
    with steered.steered() as running:
        steered.holds("b2")
        held = steered.listed.replace(f"{b3}=RW", f"{b3}=RO").replace(f"{b4}=RW", f"{b4}=NC,3M")
        steered.set_option("branches", held)
        steered.set_option("category.create", "mfs")
        steered.offer(10, 90, 10, 10)
        steered.holds("b1")
        steered.set_option("branches", f"{b1}=NC:{b2}=RW:{b3}=RO:{b4}=NC,3M")  # as it is retired by people
        time.sleep(1)
        assert steered.listed == f"{b1}=NC:{b2}=RW:{b3}=RO:{b4}=NC,3M"
        running.terminate()
        running.communicate(timeout=30)
    assert steered.listed == f"{b1}=NC:{b2}=RW:{b3}=RO:{b4}=NC,3M"
    assert steered.option("category.create") == "mfs"


@pytest.mark.parametrize(
    ("floor", "rates", "kept"),
    [
        (("--least-branches", "2", "--least-free", "0GB"), (90, 30, 20, 10), {"b3", "b4"}),
        (("--least-branches", "4", "--least-free", "0GB"), (90, 30, 20, 10), set()),
        (("--least-branches", "1", "--least-free", "900000TB"), (90, 30, 20, 10), set()),
    ],
)
def test_enough_stays_in_the_choice(
    steered: Steered, ses: Any, floor: tuple[str, ...], rates: tuple[float, ...], kept: set[str]
) -> None:
    steered.offer(*rates)
    shown = ses.json("apply", str(steered.mount), *floor)
    assert {Path(path).name for path in shown["would_hold_back"]} == kept
    assert len(shown["notes"]) == 3 - len(kept)
    assert steered.held() == set(), "it was only asked"


def test_a_branch_of_unknown_load_is_not_judged_by_its_rate(steered: Steered, ses: Any) -> None:
    steered.offer(90, 10, 90, 90)
    steered.service.selection["candidates"][1]["basis"] = "static"
    assert ses.json("apply", str(steered.mount), *FLOOR)["would_hold_back"] == {}


def test_nothing_is_held_back_on_old_news(steered: Steered) -> None:
    before = steered.listed
    steered.offer(90, 10, 90, 90)
    with steered.steered(blind=1):
        steered.holds("b2")
        steered.service.rubbish = b"no answer"
        steered.holds()
        assert steered.listed == before
        steered.service.rubbish = None
        steered.holds("b2")


@pytest.mark.parametrize("policy", ["epmfs", "eprand", "newest"])
def test_a_union_that_keeps_to_directories_is_left_alone(steered: Steered, ses: Any, policy: str) -> None:
    steered.offer(90, 10, 90, 90)
    with steered.steered():
        steered.holds("b2")
        steered.set_option("category.create", policy)
        steered.holds()
    done = ses("apply", str(steered.mount), "--watch", *FLOOR, code=1)
    assert f"it creates by {policy}" in done.output.replace("\n", " ")


@contextmanager
def written_to(path: Path) -> Iterator[None]:
    """Write to a file without pause."""
    over = threading.Event()

    def write() -> None:
        with path.open("wb", buffering=0) as file:
            while not over.wait(0.1):
                file.write(b"x")

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_what_is_being_written_now_counts_before_the_monitor_has_seen_it(steered: Steered, ses: Any) -> None:
    b1, *_ = steered.branches
    (b1 / "file").touch()
    with written_to(steered.mount / "file"):
        held = ses.json("apply", str(steered.mount), *FLOOR)["would_hold_back"]
    assert list(held) == [str(b1)]
    assert ses.json("apply", str(steered.mount), *FLOOR)["would_hold_back"] == {}


def test_a_create_counts_at_once_for_the_unit(steered: Steered) -> None:
    with closing(Creations()) as creations:
        if not creations.watch(map(str, steered.branches)):
            pytest.skip("the branches' file system reports no creates")
    steered.offer(90, 90, 90, 10)
    with steered.steered(every=3600, under=AS_THE_UNIT), ExitStack() as files:
        steered.holds("b4")
        for number in range(3):
            file = files.enter_context((steered.mount / f"f{number}").open("wb", buffering=0))
            file.write(b"x")
            branch = steered.branch_of(f"f{number}")
            wait_until(lambda: branch in steered.held() or number == 2)  # noqa: B023
        assert {steered.branch_of(f"f{number}") for number in range(3)} == {"b1", "b2", "b3"}


def test_a_file_that_is_kept_open_is_a_stream_while_it_is_written(steered: Steered) -> None:
    streams, union = Streams(), read_union(steered.mount)
    with (steered.mount / "file").open("wb", buffering=0) as file:
        file.write(b"x")
        assert sum(streams.look(union).values()) == 1
        time.sleep(1.5)
        assert sum(streams.look(union).values()) == 0
        file.write(b"x")
        assert sum(streams.look(union).values()) == 1


def test_a_file_in_a_call_of_a_thread_is_seen() -> None:
    """As one that is only flushed, for as long as that takes."""
    reads, writes = os.pipe()
    thread = threading.Thread(target=os.read, args=(reads, 1))
    thread.start()
    wait_until(lambda: str(reads) in _files_in_calls("/proc/self"))
    os.write(writes, b"x")
    thread.join()
    assert str(reads) not in _files_in_calls("/proc/self")
    os.close(reads)
    os.close(writes)


def test_what_is_not_the_unions_is_told_from_several_samples() -> None:
    streams = Streams()
    streams._seen.append((10.0, Counter({"/b1": 1})))
    assert streams.foreign("/b1", 2.0, 10.5) == 1.0, "one of the two is the union's"
    assert streams.foreign("/b1", 9.0, 10.5) == 1.0, "the same sample"
    assert streams.foreign("/b1", 0.5, 11.5) == pytest.approx(0.7)
    assert streams.foreign("/b1", 3.0, 20.0) == pytest.approx(0.7 + 0.3 * 2.3)


def test_monitor_and_discovery_take_it_for_what_the_administrator_set(steered: Steered) -> None:
    steered.set_option("branches", hold_back(steered.listed, {str(steered.branches[0])}))
    assert steered.held() == {"b1"}
    source = Mergerfs().open(Target(name="here", collector="mergerfs", paths=(str(steered.mount),)))
    seen = json.loads(source.read().body)
    assert {facts["mode"] for facts in seen.values()} == {"RW"}
    assert {branch.state for branch in look(steered.mount).branches} == {"Active"}


def test_doctor_and_elements_say_what_is_held_back_and_why(steered: Steered, ses: Any) -> None:
    steered.offer(90, 10, 90, 90)
    with steered.steered():
        steered.holds("b2")
        wait_until(lambda: "held back" in ses("elements", "list", "--wide").output)
        listed = json.dumps(ses.json("elements", "list"))
        assert "a new file would get 10 MB/s there" in listed
        assert "a new file would get 10 MB/s there" in ses("doctor").output.replace("\n", " ")
    assert steered.held() == {"b2"}


class Writers:
    """Threads that create files without pause.  ``failed``: what went wrong."""

    def __init__(self, mount: Path, count: int) -> None:
        self.failed: list[str] = []
        self.created = 0
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(mount, n)) for n in range(count)]

    def __enter__(self) -> Writers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _write(self, mount: Path, writer: int) -> None:
        number = 0
        while not self._over.is_set():
            directory = mount / f"w{writer}-{number % 5}"
            try:
                directory.mkdir(exist_ok=True)
                with (directory / f"f{number}").open("xb") as file:
                    file.write(b"x" * 4096)
                (directory / f"f{number}").unlink()
            except OSError as error:
                self.failed.append(f"{number}: {error}")
            number += 1
            self.created += 1


def steer_at_random(steered: Steered, seconds: float, is_well: Callable[[], bool]) -> None:
    chance, end = random.Random(7), time.monotonic() + seconds
    while time.monotonic() < end and is_well():
        with steered.steered() as running:
            left = chance.uniform(0.5, 4)
            while left > 0:
                steered.offer(
                    *(chance.choice([5, 40, 90]) for _ in range(4)), refused=chance.choice(["", "b3"])
                )
                pause = min(left, chance.uniform(0.1, 1))
                left -= pause
                time.sleep(pause)
            running.send_signal(
                chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
            )
            running.communicate(timeout=60)


@pytest.mark.parametrize("seconds", [8, pytest.param(600, marks=pytest.mark.long)])
def test_no_create_fails_while_steering_comes_and_goes(steered: Steered, ses: Any, seconds: float) -> None:
    before = steered.listed
    with Writers(steered.mount, 8) as writers:
        steer_at_random(steered, seconds, lambda: not writers.failed)
    assert writers.failed == []
    assert writers.created > seconds
    if steered.held():
        ses("apply", str(steered.mount), "--undo")
    assert steered.listed == before
