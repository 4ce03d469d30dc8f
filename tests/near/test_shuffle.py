"""``ses map-near --shuffle``: the output of all nodes together is what one sort of it all would print."""

import errno
import json
import os
import random
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from patience import wait_until
from ses.cli import main
from ses.near.shuffle import exchange
from ses.near.shuffle.sorted_output import Failed, key_of
from ses.near.shuffle.sorting import Sorted, _certificate, divided

SES = Path(sys.executable).parent / "ses"
NODES = ("--held", "*/e1/*=n1", "--held", "*/e2/*=n2", "--disk-rate", "500MB/s", "--link-rate", "1kB/s")
WORDS = ("cut", "-d ", "-f2", "{}")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Four files on two nodes; few words are frequent, and most are rare."""
    folder, chance = tmp_path_factory.mktemp("shuffle"), random.Random(7)
    for number in range(4):
        path = folder / f"e{1 + number % 2}" / f"{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{number} w{int(chance.paretovariate(0.7)) % 900}\n" for _ in range(4000)))
    return folder


@pytest.fixture
def shuffled(data, tmp_path, capfdbinary):
    def call(*words, rsh="env", code=0, program=WORDS, executor="command"):
        options = [
            *NODES,
            "--no-sample",
            "--executor",
            executor,
            "--rsh",
            rsh,
            *words,
            str(data / "e*/*.txt"),
        ]
        env = {
            "XDG_STATE_HOME": str(tmp_path),
            "SES_SERVICE_URL": "http://127.0.0.1:1",
            "TMPDIR": str(tmp_path),
        }
        capfdbinary.readouterr()
        result = CliRunner().invoke(main, ["map-near", *options, "--", *program], env=env)
        printed = capfdbinary.readouterr()
        assert result.exit_code == code, result.output
        assert list(tmp_path.glob("ses-shuffle-*")) == []
        return result.stdout_bytes + printed.out, (result.stderr_bytes + printed.err).decode()

    return call


def here(data, command):
    """What a shell prints when one program reads it all."""
    text = f"cat {data}/e*/*.txt | {command}"
    return subprocess.run(["sh", "-c", text], capture_output=True, env={**os.environ, "LC_ALL": "C"}).stdout


def test_words_are_counted_as_by_sort_and_uniq(shuffled, data):
    output, said = shuffled("--shuffle", "0", "--reduce", "uniq -c")
    assert output == here(data, "cut -d' ' -f2 | sort | uniq -c") != b""
    assert "MB between nodes" in said


def test_lines_are_sorted_by_a_word_whatever_the_pieces(shuffled, data):
    output, _ = shuffled("--shuffle", "2", "--piece", "20kB", program=("cat", "{}"))
    assert output == here(data, "sort -k2b,2")


def test_output_can_stay_on_the_nodes(shuffled, data, tmp_path):
    output, _ = shuffled("--shuffle", "0", "--into", f"{tmp_path}/sorted")
    parts = sorted((tmp_path / "sorted").iterdir())
    assert output.decode().split() == [f"n{1 + number}:{part}" for number, part in enumerate(parts)]
    assert b"".join(part.read_bytes() for part in parts) == here(data, "cut -d' ' -f2 | sort")
    assert len(parts) == 2


def test_over_ssh_nodes_reach_each_other_where_ssh_reached_them(shuffled, data, sshd):
    output, said = shuffled("--shuffle", "0", rsh=" ".join(sshd.rsh), executor="ssh")
    assert output == here(data, "cut -d' ' -f2 | sort")
    assert "failed" not in said


def test_tasks_of_a_node_that_never_answers_are_sorted_here(shuffled, data):
    rsh = "sh -c 'test %n = n1 && exec \"$@\"; echo no route >&2' sh"
    output, said = shuffled("--shuffle", "0", rsh=rsh)
    assert output == here(data, "cut -d' ' -f2 | sort")
    assert "no route" in said
    assert "2 not where planned" in said


def test_output_that_cannot_be_merged_is_no_output(shuffled, data, tmp_path):
    """What a task sorted on a node is gone when it is to be merged."""
    last = f"cat $0; case $0 in */3.txt) until test -s {tmp_path}/ses-shuffle-*/2; do sleep 0.05; done; "
    program = ("sh", "-c", f"{last} rm {tmp_path}/ses-shuffle-*/2;; esac", "{}")
    output, said = shuffled("--shuffle", "0", program=program, code=1)
    assert output == b""
    assert "could not merge" in said


def test_the_status_of_programs_and_reducers_is_passed_on(shuffled, data):
    program = ("sh", "-c", "cat $0; case $0 in */3.txt) exit 7;; esac", "{}")
    output, _ = shuffled("--shuffle", "0", program=program, code=7)
    assert output == here(data, "sort")
    shuffled("--shuffle", "0", "--reduce", "sh -c 'cat >/dev/null; exit 9'", code=9)


def test_a_reducer_that_wants_no_more_ends_its_part(shuffled, data):
    output, _ = shuffled("--shuffle", "0", "--reduce", "head -n 1")
    first, second = output.splitlines(keepends=True)
    assert here(data, "cut -d' ' -f2 | sort").startswith(first)
    assert first < second


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--into", "/x"], "--into is for --shuffle"),
        (["--shuffle", "0", "--into", "x"], "absolute"),
        (["--shuffle", "-1"], "Invalid value"),
        (["--shuffle", "0", "--executor", "slurm"], "salloc"),
    ],
)
def test_what_makes_no_sense_is_named(shuffled, words, why):
    assert why in shuffled(*words, code=2)[1]


def test_a_signal_leaves_nothing(data, tmp_path):
    program = f": >{tmp_path}/begun; exec sleep 613.{os.getpid()}"
    options = [*NODES, "--executor", "command", "--rsh", "env", "--no-sample", "--shuffle", "0"]
    argv = [SES, "map-near", *options, f"{data}/e*/*.txt", "--", "sh", "-c", program, "{}"]
    environment = {**os.environ, "SES_SERVICE_URL": "http://127.0.0.1:1", "TMPDIR": str(tmp_path)}
    running = subprocess.Popen(argv, env=environment, stderr=subprocess.PIPE)
    wait_until((tmp_path / "begun").exists)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=120)
    assert running.returncode == 130, said.decode()
    assert b"Traceback" not in said
    wait_until(lambda: list(tmp_path.glob("ses-*")) == [])


LINES = st.lists(st.text("ab \t", max_size=6).map(str.encode), max_size=30)


@given(lines=LINES, key=st.text("ab", max_size=3), field=st.sampled_from([0, 1, 2]))
def test_a_range_begins_with_the_first_line_that_is_not_less(tmp_path_factory, lines, key, field):
    path = tmp_path_factory.getbasetemp() / "range"
    ordered = sorted(lines, key=lambda line: (key_of(line, field), line))
    path.write_bytes(b"".join(line + b"\n" for line in ordered))
    start, end = exchange.range_of(path, key.encode().hex(), None, field)
    after = [line for line in ordered if key_of(line, field) >= key.encode()]
    assert path.read_bytes()[start:end] == b"".join(line + b"\n" for line in after)


@given(lines=LINES, field=st.sampled_from([0, 1, 2]))
def test_keys_are_ordered_as_sort_orders_them(lines, field):
    options = [f"-k{field}b,{field}"] if field else []
    text = b"".join(line + b"\n" for line in lines)
    done = subprocess.run(
        ["sort", *options], input=text, capture_output=True, env={**os.environ, "LC_ALL": "C"}
    )
    assert done.stdout.split(b"\n")[:-1] == sorted(lines, key=lambda line: (key_of(line, field), line))


def test_parts_are_about_equal_and_their_number_is_that_of_the_nodes():
    keys = [b"%05d" % number for number in range(0, 6400, 100)]
    large, small = Sorted(0, 6400, keys), Sorted(1, 64, [b"00000"] * 64)
    bounds = divided([large, small], 4)
    assert [int(bound) for bound in bounds] == pytest.approx([1600, 3200, 4800], abs=150)
    assert len(divided([], 3)) == 2


@pytest.fixture
def serving(tmp_path):
    certificate, key = _certificate()
    config = {"certificate": certificate, "key": key, "token": "right"}
    (tmp_path / "0").write_bytes(b"a\nb\nc\n")
    server = exchange.Server(config, tmp_path)
    threading.Thread(target=server.run, daemon=True).start()
    return config, server.port


def asked(port, context, token):
    request = {"tasks": [0], "field": 0, "part": 0, "parts": 1, "lower": "62", "upper": None, "token": token}
    source = {"node": "n", "addresses": ["127.0.0.1"], "port": port}
    with exchange.reached(source, context, json.dumps(request).encode()) as peer:
        return exchange.frame_from(peer)


def test_a_node_gives_ranges_to_who_has_the_certificate_and_its_token(serving, tmp_path):
    config, port = serving
    ours = exchange.secured(config, False, tmp_path)
    assert asked(port, ours, "right") == b"b\nc\n"
    with pytest.raises(Failed, match="cannot be reached"):
        asked(port, ours, "wrong")


def test_a_node_gives_a_stranger_nothing(serving, tmp_path):
    _, port = serving
    certificate, key = _certificate()
    theirs = exchange.secured({"certificate": certificate, "key": key}, False, tmp_path)
    theirs.verify_mode = ssl.CERT_NONE
    with pytest.raises(Failed, match="cannot be reached"):
        asked(port, theirs, "right")
    with socket.create_connection(("127.0.0.1", port), 20) as plain, suppress(ConnectionResetError):
        plain.sendall(struct.pack("!I", 2) + b"{}")
        assert b"a\n" not in plain.recv(100)


@pytest.mark.parametrize(
    ("tasks", "nodes", "limit"),
    [
        (60, 4, "-S -n 256"),  # more are open than a login shell may have
        (201, 2, "-S -n 1024"),  # one more than are merged at once
        (60, 4, "-n 100"),  # as many as may be at all
    ],
)
def test_all_nodes_may_ask_at_once_for_ranges_of_many_files(tmp_path, monkeypatch, tasks, nodes, limit):
    """Each range of each file is a pipe and a file."""
    certificate, key = _certificate()
    config = {"certificate": certificate, "key": key, "token": "right"}
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    serve = "import sys; from ses.near.shuffle.exchange import serve; serve('n')"
    argv = ["sh", "-c", f'ulimit {limit}; exec "$@"', "sh", sys.executable, "-c", serve]
    ours = exchange.secured(config, False, tmp_path)
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as serving:
        serving.stdin.write(json.dumps(config).encode() + b"\n")
        serving.stdin.flush()
        facts = json.loads(serving.stdout.readline())
        for task in range(tasks):
            Path(facts["folder"], str(task)).write_bytes(b"b" * 200_000 + b"\n")
        ask = {"tasks": [*range(tasks)], "field": 0, "lower": "", "upper": None, "token": "right"}
        source = {"node": "n", "addresses": ["127.0.0.1"], "port": facts["port"]}
        requests = [json.dumps({**ask, "part": part, "parts": nodes}).encode() for part in range(nodes)]
        peers = [exchange.reached(source, ours, request) for request in requests]
        counts = []
        for peer in peers:  # the others are open, and wait to be read
            with peer:
                data = b""
                while part := exchange.frame_from(peer):
                    data += part
                counts.append(data.count(b"\n"))
        serving.stdin.close()
    assert counts == [tasks] * nodes


def test_a_node_merges_what_more_nodes_have_than_a_login_shell_may_have_files(tmp_path):
    certificate, key = _certificate()
    (tmp_path / "0").write_bytes(b"a\n")
    source = {"node": "here", "token": "own", "tasks": [0]}
    config = {
        "certificate": certificate, "key": key, "folder": str(tmp_path), "token": "own", "node": "here",
        "field": 0, "part": 0, "parts": 1, "lower": "", "upper": None, "into": None,
        "reducer": ["sh", "-c", "ulimit -n; uniq -c"], "sources": [source] * 60,
    }  # fmt: skip
    merge = [
        sys.executable,
        "-c",
        "import sys; from ses.near.shuffle.exchange import merge; sys.exit(merge())",
    ]
    argv = ["sh", "-c", 'ulimit -S -n 64; exec "$@"', "sh", *merge]
    done = subprocess.run(argv, input=json.dumps(config).encode(), capture_output=True, check=False)
    limit, counted = done.stdout.splitlines() or (b"", done.stderr)
    assert (done.returncode, limit, counted.split()) == (0, b"64", [b"60", b"a"])


def test_a_node_serves_others_after_one_that_it_could_not_accept(tmp_path):
    certificate, key = _certificate()
    config = {"certificate": certificate, "key": key, "token": "right"}
    (tmp_path / "0").write_bytes(b"a\nb\nc\n")
    server = exchange.Server(config, tmp_path)
    accept, failures = server._listening.accept, [OSError(errno.EMFILE, "Too many open files")]

    def failing_first():
        if failures:
            raise failures.pop()
        return accept()

    server._listening = SimpleNamespace(accept=failing_first)
    threading.Thread(target=server.run, daemon=True).start()
    assert asked(server.port, exchange.secured(config, False, tmp_path), "right") == b"b\nc\n"
    assert not failures
