"""Promises of the embedded store: it keeps data, survives its death, ends with its owner."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import mounts
import pytest
from embedded_stores import running
from patience import wait_until
from ses_service.knowledge.errors import KnowledgeBaseError, StoreUnavailableError
from ses_service.knowledge.knowledge_base import KnowledgeBase
from ses_service.knowledge.store import embedded as module
from ses_service.knowledge.store.embedded import EmbeddedStore
from ses_service.model.entities import Kind, Level, Requirement, RequirementSet


def is_running(pid: int) -> bool:
    """Return whether a process exists and is no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def store_requirement(knowledge: KnowledgeBase) -> None:
    """Write something to find again."""
    requirement = Requirement(Kind.FREE_CAPACITY, 1e9)
    knowledge.replace_requirements(
        RequirementSet(Level.USER, "alice", (requirement,)), author="alice", now=1.0
    )


def test_data_outlive_a_restart(tmp_path: Path) -> None:
    with running(tmp_path) as (_, store):
        store_requirement(KnowledgeBase(store))
    with running(tmp_path) as (_, store):
        assert [stored.name for stored in KnowledgeBase(store).requirement_sets()] == ["alice"]


def test_what_was_acknowledged_is_on_the_disk(tmp_path: Path) -> None:
    """After a power loss all that is there is what was written with fsync: not the store's log."""
    with running(tmp_path / "live") as (_, store):
        store_requirement(KnowledgeBase(store))
        store.put_graph("urn:one", "<urn:a> <urn:b> <urn:c> .")
        store.put_graph("urn:one", "<urn:a> <urn:b> <urn:d> .")
        shutil.copytree(
            tmp_path / "live/data", tmp_path / "later/data", ignore=shutil.ignore_patterns("*.log")
        )
    with running(tmp_path / "later") as (_, reopened):
        assert [stored.name for stored in KnowledgeBase(reopened).requirement_sets()] == ["alice"]
        assert reopened.select("SELECT ?o WHERE { GRAPH <urn:one> { ?s ?p ?o } }") == [{"o": "urn:d"}]


def test_a_large_graph_is_put_whole_or_not_at_all(tmp_path: Path) -> None:
    many = 30_000
    text = "".join(f"_:n{index} <urn:as-large-as-a-site> <urn:{index}> .\n" for index in range(many))
    assert len(text) > 2**20
    counting = "SELECT (COUNT(DISTINCT ?s) AS ?n) WHERE { GRAPH %s { ?s ?p ?o } }"
    with running(tmp_path) as (_, store):
        with pytest.raises(KnowledgeBaseError):
            store.put_graph("urn:one", text + "this is not Turtle")
        assert store.select(counting % "<urn:one>") == [{"n": "0"}]
        for graph in ("urn:one", "urn:other", "urn:one"):
            store.put_graph(graph, text)
        assert store.select(counting % "<urn:one>") == [{"n": str(many)}]
    with running(tmp_path) as (_, store):
        assert store.select(counting % "?g") == [{"n": str(2 * many)}], "a blank node is that of one graph"


def test_a_killed_server_is_started_again_with_its_data(tmp_path: Path) -> None:
    with running(tmp_path) as (store, client):
        knowledge = KnowledgeBase(client)
        store_requirement(knowledge)
        killed = store.pid
        assert killed
        os.kill(killed, signal.SIGKILL)

        def answers() -> bool:
            try:
                return store.pid != killed and len(knowledge.requirement_sets()) == 1
            except StoreUnavailableError:
                return False

        wait_until(answers)
    assert store.pid
    assert not is_running(store.pid)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_for_all_processes_of_a_unit_or_a_terminal_leaves_its_end_to_the_service(
    tmp_path: Path, number: signal.Signals
) -> None:
    with running(tmp_path) as (store, client):
        before = store.pid
        assert before
        os.kill(before, number)
        for _ in range(3):
            client.select("SELECT * WHERE {} LIMIT 1")
        assert store.pid == before
    assert not is_running(before)


def test_a_server_that_hangs_is_killed_and_started_again(tmp_path: Path) -> None:
    with running(tmp_path, patience=1.0) as (store, client):
        knowledge = KnowledgeBase(client)
        store_requirement(knowledge)
        hung = store.pid
        assert hung
        os.kill(hung, signal.SIGSTOP)
        wait_until(lambda: store.pid not in (None, hung))

        def answers() -> bool:
            try:
                return len(knowledge.requirement_sets()) == 1
            except StoreUnavailableError:
                return False

        wait_until(answers)
        assert not is_running(hung)


def test_a_server_that_takes_long_to_start_again_is_given_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, real = tmp_path / "slow.py", str(module._PROGRAM)
    slow.write_text(f"import runpy, time\ntime.sleep(3)\nrunpy.run_path({real!r}, run_name='__main__')\n")
    with running(tmp_path / "state", patience=0.5) as (store, client):
        knowledge = KnowledgeBase(client)
        monkeypatch.setattr(module, "_PROGRAM", slow)
        killed = store.pid
        assert killed
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: store.pid not in (None, killed))
        started = store.pid

        def answers() -> bool:
            try:
                return knowledge.requirement_sets() == ()
            except StoreUnavailableError:
                return False

        wait_until(answers)
        assert store.pid == started


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system of its own that holds 32 MiB."""
    with mounts.small_disk(tmp_path / "small", 32) as folder:
        yield folder


@pytest.mark.parametrize(
    "change", ["LOAD <file:///etc/hostname> INTO GRAPH <a:loaded>", "CREATE GRAPH <a:g>; CREATE GRAPH <a:g>"]
)
def test_a_change_that_fails_by_itself_ends_no_store(tmp_path: Path, change: str) -> None:
    with running(tmp_path) as (embedded, client):
        before = embedded.pid
        with pytest.raises(StoreUnavailableError):
            client.update(change)
        time.sleep(1.0)  # four looks of its watch
        assert client.select("SELECT * WHERE { GRAPH ?g { ?s ?p ?o } }") == []
        assert embedded.pid == before


def test_a_full_disk_refuses_changes_until_there_is_room_and_no_longer(small_disk: Path) -> None:
    with running(small_disk / "store") as (_, client):
        everything = "SELECT (COUNT(*) AS ?n) WHERE { GRAPH ?g { ?s ?p ?o } }"

        def changes(number: int) -> bool:
            try:
                client.put_graph(f"urn:{number}", f'<urn:a> <urn:b> "{number:01000}" .')
            except KnowledgeBaseError:
                return False
            return True

        assert changes(0)
        ballast = small_disk / "ballast"
        subprocess.run(["dd", "if=/dev/zero", f"of={ballast}", "bs=4k"], capture_output=True, check=False)
        full = next(number for number in range(1, 100_000) if not changes(number))
        assert not changes(full)
        assert int(client.select(everything)[0]["n"]) >= full, "what is there is read all the same"
        ballast.unlink()
        wait_until(lambda: changes(full))
        assert client.select(everything) == [{"n": str(full + 1)}]


def test_it_serves_below_a_path_longer_than_the_address_of_a_socket(tmp_path: Path) -> None:
    with running(tmp_path / "a" / ("b" * 120) / ("c" * 120)) as (_, client):
        assert client.select("SELECT * WHERE {} LIMIT 1") == [{}]


def test_one_that_does_not_start_says_why_and_comes_up_when_it_can(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("not a folder")
    store = EmbeddedStore(tmp_path)
    try:
        client = store.start(must_answer=False)
        with pytest.raises(StoreUnavailableError, match="ended with status 3; its log ends: "):
            client.select("SELECT * WHERE {} LIMIT 1")
        (tmp_path / "data").unlink()

        def answers() -> bool:
            try:
                return client.select("SELECT * WHERE {} LIMIT 1") == [{}]
            except StoreUnavailableError:
                return False

        wait_until(answers)
    finally:
        store.stop()


def test_a_command_that_needs_one_that_does_not_start_is_reported(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("not a folder")
    with pytest.raises(KnowledgeBaseError, match="ended with status 3"):
        EmbeddedStore(tmp_path).start()


def test_two_services_cannot_share_a_directory(tmp_path: Path) -> None:
    with running(tmp_path), pytest.raises(KnowledgeBaseError, match="in use by another service"):
        EmbeddedStore(tmp_path).start()


def test_an_unusable_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(KnowledgeBaseError, match="file"):
        EmbeddedStore(tmp_path / "file/state").start()


def test_the_server_does_not_outlive_a_killed_owner(tmp_path: Path) -> None:
    program = (
        "import sys, time\nfrom pathlib import Path\n"
        "from ses_service.knowledge.store.embedded import EmbeddedStore\n"
        "store = EmbeddedStore(Path(sys.argv[1]))\nstore.start()\n"
        "print(store.pid, flush=True)\ntime.sleep(60)\n"
    )
    owner = subprocess.Popen([sys.executable, "-c", program, tmp_path], stdout=subprocess.PIPE, text=True)
    assert owner.stdout
    server = int(owner.stdout.readline())
    assert is_running(server)
    owner.kill()
    owner.wait()
    owner.stdout.close()
    wait_until(lambda: not is_running(server))
