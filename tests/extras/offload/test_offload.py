"""libses-offload as a stranger gets it: installed, linked by its pkg-config file, run as a plain user."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from offload_programs import PATIENCE, PLAIN, answers, client, part_of, run
from patience import wait_until
from postgresql_server import PostgresServer
from sshd import Sshd


def test_numbers_arrive_exactly_or_are_refused(prefix: Path) -> None:
    assert answers(run(prefix / "probe", "numbers")) == {
        "primitives": "15 of 15", "names": "1", "wide": "1", "narrow": "5", "exact": "1",
    }  # fmt: skip


def test_garbage_and_cycles_are_refused(prefix: Path) -> None:
    assert answers(run(prefix / "probe", "fuzz")) == {"refused": "1", "cycle": "5"}


def test_calls_globals_futures_and_lost_parts(prefix: Path) -> None:
    assert answers(run(prefix / "probe", "calls")) == {
        "open": "0", "apart": "1", "globals": "3 13", "failed": "10 5 as asked", "deep": "0 5.5",
        "unknown": "3", "poll": "12", "wait": "12", "cancelled": "11", "after": "0", "lost": "9",
        "again": "9", "other": "0", "repeated": "0 1",
    }  # fmt: skip


def test_values_of_cpp_travel_and_exceptions_arrive(prefix: Path) -> None:
    assert answers(run(prefix / "values")) == {
        "grown": "1 5 2 10 b", "futures": "-5 1 1", "refused": "1 10 42 the function failed: as asked",
        "lost": "the function failed: lost it", "waits": "0 12", "cancelled": "11", "after": "1",
        "unknown": "3", "nowhere": "1 1 1", "deep": "5",
    }  # fmt: skip


def test_threads_share_a_domain(prefix: Path) -> None:
    assert answers(run(prefix / "probe", "threads")) == {"right": "800"}


def test_what_cannot_start_runs_here_only_if_allowed(prefix: Path) -> None:
    said = answers(run(prefix / "probe", "fallback", "false"))
    reason = said.pop("reason")
    assert said == {"open": "0", "call": "0", "here": "1", "never": "7"}
    assert reason == "127.0.0.1: the command that starts the storage part ended"


def test_another_build_is_refused(prefix: Path) -> None:
    said = answers(run(prefix / "probe", "fallback", "env PROBE_OTHER=1", PROBE_OTHER=""))
    assert said["never"] == "8"
    assert "another build" in said["reason"]


def test_nothing_is_served_as_root(prefix: Path) -> None:
    done = run(prefix / "text", "here", "wc", "/etc/passwd", user=0)
    assert done.returncode == 1
    assert "does not run as root" in done.stderr


def test_a_part_ends_with_its_client(prefix: Path) -> None:
    with client(prefix, "stay", "env") as caller:
        part = part_of(caller)
        caller.kill()
    process = Path(f"/proc/{part}")
    wait_until(
        lambda: not process.exists() or "Z" in (process / "stat").read_text(),
        "the storage part outlives its client",
    )


def test_a_greeting_that_is_not_understood_is_refused(prefix: Path) -> None:
    done = subprocess.run(
        [prefix / "probe", "--ses-offload-serve"], cwd="/", user=PLAIN, group=PLAIN, extra_groups=[],
        input=b"something else\n", stdout=subprocess.PIPE, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.stdout == b"ses-offload refused it speaks another version of ses-offload\n"
    assert done.returncode == 1


def rewriting(prefix: Path, port: int) -> str:
    """A command that tells the client another port, and writes the real endpoint into the file `said`."""
    script = prefix / "rewrite.sh"
    script.write_text(
        f'"$@" | {{ read -r name version endpoint key; echo "$endpoint" >{prefix}/said\n'
        f'echo "$name $version tcp://127.0.0.1:{port} $key"; cat; }}\n'
    )
    (prefix / "said").touch()
    (prefix / "said").chmod(0o666)
    return f"sh {script}"


def test_an_address_that_cannot_be_reached_is_reported_at_the_start(prefix: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
    said = answers(
        run(prefix / "probe", "over", "command:127.0.0.1", rewriting(prefix, port), prefix / "probe")
    )
    assert said == {"open": "7", "reason": f"tcp://127.0.0.1:{port}: Connection refused"}


def pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        for data in iter(lambda: source.recv(65536), b""):
            sink.sendall(data)


def test_a_call_whose_connection_breaks_is_lost(prefix: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        door.settimeout(PATIENCE)
        with client(prefix, "cut", rewriting(prefix, door.getsockname()[1])) as caller:
            assert caller.stdout is not None
            inner, _ = door.accept()
            host, port = (prefix / "said").read_text().strip().removeprefix("tcp://").split(":")
            outer = socket.create_connection((host, int(port)), PATIENCE)
            with inner, outer:
                ways = [threading.Thread(target=pump, args=way) for way in ((inner, outer), (outer, inner))]
                for way in ways:
                    way.start()
                assert caller.stdout.readline() == b"runs=12\n"
                inner.shutdown(socket.SHUT_RDWR)
                assert caller.stdout.readline() == b"ended=9\n"
                outer.shutdown(socket.SHUT_RDWR)
                for way in ways:
                    way.join()
            assert caller.wait(PATIENCE) == 0


@pytest.fixture(scope="session")
def ssh(sshd: Sshd, prefix: Path) -> str:
    """The command that reaches a real sshd, for the plain user."""
    folder = Path(sshd.rsh[-1]).parent
    mine = prefix / "ssh"
    shutil.copytree(folder, mine)
    config = mine / "config"
    config.write_text(config.read_text().replace(str(folder), str(mine)) + "  User root\n")
    for path in (mine, *mine.iterdir()):
        os.chown(path, PLAIN, PLAIN)
    return f"ssh -F {config}"


def test_a_part_is_started_by_ssh(prefix: Path, ssh: str) -> None:
    program = prefix / "a wrapper"
    program.write_text(
        f'#!/bin/sh\nexec setpriv --reuid={PLAIN} --regid={PLAIN} --clear-groups {prefix}/probe "$@"\n'
    )
    program.chmod(0o755)
    assert answers(run(prefix / "probe", "over", "ssh:somewhere", ssh, program)) == {
        "open": "0", "call": "0", "apart": "1", "reason": "",
    }  # fmt: skip


def test_ssh_that_cannot_connect_is_an_error_with_a_reason(prefix: Path) -> None:
    said = answers(
        run(prefix / "probe", "over", "ssh:somewhere", "ssh -F /dev/null -o ProxyCommand=false", "x")
    )
    assert said["open"] == "7"
    assert said["reason"] == "somewhere: the command that starts the storage part ended"


@pytest.fixture
def text(prefix: Path) -> Path:
    path = prefix / "words.txt"
    path.write_text(
        "".join(f"{n * 7919 % 9973:05d} {'needle' if n % 500 == 0 else 'hay'}\n" for n in range(9000))
    )
    return path


@pytest.mark.parametrize("program", ["wc", "grep", "sort"])
def test_results_are_those_of_a_local_run(prefix: Path, text: Path, program: str) -> None:
    here = run(prefix / "text", "local", program, text, "needle")
    there = run(prefix / "text", "here", program, text, "needle")
    assert (here.returncode, there.returncode) == (0, 0), there.stderr
    assert there.stdout == here.stdout != ""
    answer = json.loads(there.stderr)
    assert answer["received"] >= len(there.stdout)
    assert answer["cpu_seconds"] > 0
    if program != "sort":
        assert answer["sent"] + answer["received"] < text.stat().st_size / 30


def test_an_inverted_index_is_that_of_a_local_run(prefix: Path) -> None:
    documents = prefix / "documents"
    documents.mkdir()
    for name, first in (("one", 0), ("two", 50)):
        words = [f"w{first + number % 100}" for number in range(20000)]
        (documents / name).write_text("\n".join(words))
    here = run(prefix / "text", "local", "inverted_index", documents)
    there = run(prefix / "text", "here", "inverted_index", documents)
    assert here.returncode == there.returncode == 0, there.stderr
    assert there.stdout == here.stdout
    expected = [f"w{number} one" for number in range(100)] + [f"w{number} two" for number in range(50, 150)]
    assert there.stdout.splitlines() == sorted(expected)
    answer = json.loads(there.stderr)
    assert answer["cpu_seconds"] > 0
    assert answer["sent"] + answer["received"] < sum(path.stat().st_size for path in documents.iterdir()) / 30


COLUMNS = 100
SELECTED = 80  # one row of so many


@pytest.fixture
def table(prefix: Path, postgresql: PostgresServer) -> Iterator[Path]:
    """A file beside the database that is the table `numbers` of it; each test gets it afresh."""
    path = prefix / "numbers.csv"
    rows = [",".join(str(row * column % 9973) for column in range(COLUMNS)) for row in range(8000)]
    path.write_text("".join(f"{number % SELECTED},{row}\n" for number, row in enumerate(rows)))
    columns = ", ".join(f"c{number} int" for number in range(COLUMNS + 1))
    postgresql.sql(
        "create extension file_fdw",
        "create server files foreign data wrapper file_fdw",
        f"create foreign table numbers ({columns}) server files options (filename '{path}', format 'csv')",
    )
    yield path
    postgresql.sql("drop extension file_fdw cascade")


def test_a_scan_of_postgresql_sends_a_plan_and_returns_rows(
    prefix: Path, table: Path, postgresql: PostgresServer
) -> None:
    words = (postgresql.connection, "select * from numbers where c0 = 7 order by c2")
    here, there = (run(prefix / "scan", where, *words) for where in ("local", "here"))
    assert (here.returncode, there.returncode) == (0, 0), there.stderr
    assert there.stdout == here.stdout
    rows = [line.split(",") for line in table.read_text().splitlines()]
    expected = sorted((row for row in rows if row[0] == "7"), key=lambda row: int(row[2]))
    assert sorted(there.stdout.splitlines()) == sorted("\t".join(row) for row in expected)
    answer = json.loads(there.stderr)
    assert answer["server_cpu_seconds"] > 0
    assert answer["sent"] + answer["received"] < table.stat().st_size / 30


def test_what_postgresql_refuses_is_explained(prefix: Path, postgresql: PostgresServer) -> None:
    done = run(prefix / "scan", "here", postgresql.connection, "select * from nowhere")
    assert done.returncode == 1
    assert 'relation "nowhere" does not exist' in done.stderr


def test_a_missing_file_is_explained(prefix: Path) -> None:
    done = run(prefix / "text", "here", "wc", "/no/such/file")
    assert done.stderr == "text: the function failed (No such file or directory)\n"


@pytest.mark.parametrize("program", ["wc", "grep", "sort"])
def test_a_file_that_cannot_be_read_is_explained(prefix: Path, program: str) -> None:
    done = run(prefix / "text", "here", program, prefix, "needle")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "text: the function failed (Is a directory)\n"


def test_output_that_cannot_be_written_is_said(prefix: Path, text: Path) -> None:
    argv = ["sh", "-c", 'exec "$@" >/dev/full', "sh", prefix / "text", "here", "sort", text]
    done = run(*argv)
    assert done.returncode == 1
    assert done.stderr == "text: No space left on device\n"
