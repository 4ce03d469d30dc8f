"""``ses share``: what a person sees and says of regions and values."""

import contextlib
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from patience import wait_until
from remote_node import Agent, agent
from ses.cli import main
from ses.share import Model, Region, regions


@pytest.fixture
def ses() -> Callable[..., Result]:
    def run(*arguments: str, stdin: bytes = b"") -> Result:
        return CliRunner().invoke(main, ["share", *arguments], input=stdin)

    return run


def opened_of(name: str) -> int:
    """How often it is open now: who else lists regions opens each for a moment."""
    return next(region.opened for region in regions() if region.name == name)


def wait_until_closed(name: str) -> None:
    wait_until(lambda: not opened_of(name))


def test_value_is_put_and_got_byte_by_byte(ses: Callable[..., Result], name: str) -> None:
    value = bytes(range(256))
    assert ses("create", name, "--size", "4096", "--items", "8", "--mode", "0640").exit_code == 0
    try:
        assert ses("put", name, "item", stdin=value).exit_code == 0
        assert ses("get", name, "item").stdout_bytes == value
        listed = json.loads(ses("items", name, "--json").stdout)["items"]
        assert [(row["name"], row["model"], row["version"]) for row in listed] == [("item", "read", 1)]
        assert "item" in ses("items", name).stdout
        assert name in ses("list").stdout
        (region,) = (
            row for row in json.loads(ses("list", "--json").stdout)["regions"] if row["name"] == name
        )
        assert (region["mode"], region["items"], region["items_most"]) == (0o640, 1, 8)
        wait_until_closed(name)
        with Region.open(name):
            assert all(opened_of(name) for _ in range(20))
    finally:
        assert ses("remove", name).exit_code == 0
    assert ses("get", name, "item").exit_code == 5


def test_models_are_shown_with_what_they_allow(ses: Callable[..., Result], region: Region) -> None:
    region.alloc("a", 8, Model.DELTA, versions=7)
    region.alloc("b", 8, Model.TEMPORAL, age=2.5).put(b"1")
    shown = ses("items", region.name).stdout
    assert "delta (7 versions)" in shown
    assert "temporal (2.5 s)" in shown


def test_what_is_wrong_is_said_with_the_next_step(ses: Callable[..., Result], region: Region) -> None:
    region.alloc("empty", 8)
    for arguments, status, says in (
        (("items", "no-such"), 5, "ses share list"),
        (("get", region.name, "no-such"), 5, "ses share items"),
        (("get", region.name, "empty"), 5, "Nothing has been put"),
        (("create", region.name), 1, "already"),
        (("create", "other", "--mode", "9"), 2, "octal"),
        (("create", "other", "--mode", "0400"), 2, "does not let its owner read and write"),
        (("create", "a b"), 2, "A-Z a-z 0-9"),
        (("remove", "no-such"), 5, "ses share list"),
    ):
        said = ses(*arguments)
        assert said.exit_code == status, arguments
        assert says in said.output, arguments
    too_much = ses("put", region.name, "empty", stdin=b"123456789")
    assert (too_much.exit_code, "larger than the item" in too_much.output) == (1, True)


def test_regions_of_a_job_are_removed_together(ses: Callable[..., Result], name: str) -> None:
    job = f"9{int(name.removeprefix('test-'), 16)}"
    for region in (f"{job}/one", f"{job}/two", f"{job}1/one", name):
        assert ses("create", region).exit_code == 0
    assert ses("remove", "--job", job).exit_code == 0
    left = {listed.name for listed in regions()}
    assert left & {f"{job}/one", f"{job}/two", f"{job}1/one", name} == {f"{job}1/one", name}
    assert ses("remove", f"{job}1/one", name).exit_code == 0
    assert ses("remove").exit_code == ses("remove", "--job", job, name).exit_code == 2


@contextlib.contextmanager
def slowed(node: Agent) -> Iterator[None]:
    """Stop whatever serves there again and again, most of the time."""
    children, ended = Path(f"/proc/{node.process.pid}/task/{node.process.pid}/children"), threading.Event()

    def send(number: int) -> None:
        for child in children.read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(child), number)

    def slow() -> None:
        while not ended.wait(0.002):
            send(signal.SIGSTOP)
            ended.wait(0.02)
            send(signal.SIGCONT)

    thread = threading.Thread(target=slow)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_region_is_made_on_the_node_that_answers_soonest(
    ses: Callable[..., Result], munged: Path, node: Agent, name: str
) -> None:
    """A node whose processes are stopped for a while after each request is slower than any other."""
    with agent(munged) as slow, slowed(slow):
        made = ses("create", name, "--among", f"{slow.address},{node.address},127.0.0.1:1")
        assert made.exit_code == 0, made.output
        assert made.stdout == f"{name}@{node.address}\n"
        assert made.stderr.startswith("127.0.0.1:1: "), "one that cannot be reached is named, and left out"
        assert ses("remove", f"{name}@{node.address}").exit_code == 0
    assert ses("create", name, "--among", "127.0.0.1:1").exit_code == 1
    assert ses("create", f"{name}@n1", "--among", "n1").exit_code == 2
