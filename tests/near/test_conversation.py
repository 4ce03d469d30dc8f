"""A program on another node is the same run as here: streams, status, signals, directory, environment."""

import contextlib
import os
import signal
import threading
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from patience import wait_until
from ran import ran
from ses.near.execution import connection, frames, runner
from ses.near.execution.connection import Connection, LostError, NotStartedError
from ses.near.execution.conversation import Conversation
from ses.near.execution.run import File, Piece, Run
from ses.near.execution.runner import piece_of

SH = ("sh", "-c")


@pytest.fixture
def there():
    """How to make a run without a network."""
    return lambda argv, **facts: Run(tuple(argv), "endpoint", "command", rsh=("env",), **facts)


APART = ("unshare", "--net", "--ipc", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc", "--")


@pytest.fixture(params=["ssh", "command", pytest.param("namespaces", marks=pytest.mark.root)])
def anywhere(request, there):
    """How to make a run over a real sshd, without one, and in namespaces of its own."""
    if request.param == "command":
        return there
    if request.param == "namespaces":
        return lambda argv, **facts: Run(tuple(argv), "endpoint", "command", rsh=APART, **facts)
    rsh = request.getfixturevalue("sshd").rsh
    return lambda argv, **facts: Run(tuple(argv), "endpoint", "ssh", rsh=rsh, **facts)


def held(run, stdin=None):
    output, errors = [], []
    ended = Conversation(run).hold(output.append, errors.append, stdin)
    return ended, b"".join(output), b"".join(errors)


@pytest.fixture
def counted(there, tmp_path):
    """How to make a run whose node is reached by a command that notes each of its starts; what was noted."""
    script = f'echo started >>{tmp_path}/starts; exec "$@"'
    return (
        lambda argv, **facts: replace(there(argv, **facts), rsh=("sh", "-c", script, "sh")),
        lambda: (tmp_path / "starts").read_text().count("started"),
    )


@contextlib.contextmanager
def closing_of(descriptor):
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def held_over(connection, run):
    output = []
    ended = Conversation(run, connection).hold(output.append, print, None)
    return ended.status, b"".join(output)


def waiting_run(run, ready):
    """Start a run in a thread; returns the conversation, and what it ended with, once ``ready`` was said."""
    conversation, said, seen = Conversation(run), [], threading.Event()

    def output(data):
        if ready in data:
            seen.set()

    def hold():
        try:
            said.append(conversation.hold(output, print, None))
        except LostError as lost:
            said.append(lost)

    thread = threading.Thread(target=hold)
    thread.start()
    assert seen.wait(60)
    return conversation, thread, said


def test_output_errors_and_status_are_those_of_the_program(anywhere):
    ended, output, errors = held(anywhere([*SH, "echo out; echo err >&2; exit 7"]))
    assert (ended.status, output, errors) == (7, b"out\n", b"err\n")


def test_every_byte_arrives_as_it_is(there, text):
    data = os.urandom(3_000_000)
    (text.parent / "bytes").write_bytes(data)
    assert held(there(["cat", str(text.parent / "bytes")]))[1] == data


def test_output_in_small_parts_is_gathered(there):
    """Each frame wakes ssh and its like on both nodes."""
    parts = []
    script = "i=0; while [ $i -lt 2000 ]; do echo $i; i=$((i + 1)); done"
    ended = Conversation(there([*SH, script])).hold(parts.append, print, None)
    assert b"".join(parts).split() == [b"%d" % number for number in range(2000)]
    assert len(parts) <= ended.seconds / runner.GATHER_SECONDS + 2


def test_output_is_not_kept_until_there_is_more(there, tmp_path):
    script = f"echo one; echo two; until test -e {tmp_path}/go; do sleep 0.05; done; echo three"
    output = []

    def heard(data):
        output.append(data)
        if b"two" in b"".join(output):
            (tmp_path / "go").touch()

    assert Conversation(there([*SH, script])).hold(heard, print, None).status == 0
    assert b"".join(output) == b"one\ntwo\nthree\n"


def test_output_and_errors_are_sent_in_the_order_in_which_they_came(monkeypatch):
    sent = []
    monkeypatch.setattr(runner, "send_frame", lambda kind, data: sent.append((kind, data)))
    gathered = runner.Gathered()
    for kind, data in [(b"O", b"a"), (b"O", b"b"), (b"E", b"c"), (b"O", b"d")]:
        gathered.add(kind, data)
    gathered.send()
    assert sent == [(b"O", b"ab"), (b"E", b"c"), (b"O", b"d")]


@pytest.mark.timeout(120)
def test_who_wants_no_more_waits_for_no_program_that_prints_on(there, monkeypatch):
    """The runner waits to be read, else it would have to be killed."""
    monkeypatch.setattr(connection, "_CLOSE_SECONDS", 3600.0)

    def no_more(_):
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        Conversation(there(["yes"])).hold(no_more, print, None)


def test_standard_input_is_passed_on(anywhere):
    data = os.urandom(6_000_000)  # more than may be on the way
    reader, writer = os.pipe()
    threading.Thread(target=lambda: (os.fdopen(writer, "wb").write(data), os.close), daemon=True).start()
    with os.fdopen(reader, "rb") as stdin:
        assert held(anywhere(["cat"]), stdin.fileno())[1] == data


def test_who_reads_no_input_gets_none_and_does_not_wait(there):
    reader, writer = os.pipe()
    try:
        assert held(there(["true"]), reader)[0].status == 0
    finally:
        os.close(writer)
        os.close(reader)


def test_directory_and_environment_are_the_callers(anywhere, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SECRET", "a 'quoted'\n$word")
    assert held(anywhere([*SH, 'pwd; printf %s "$SECRET"']))[1].decode() == f"{tmp_path}\na 'quoted'\n$word"


def test_words_of_the_command_reach_the_program_unchanged(anywhere):
    words = ["a b", "$HOME", "'", '"', "*", "", "\\", "!x", "é"]
    assert held(anywhere(["printf", "%s\n", *words]))[1].decode().splitlines() == words


def test_what_is_in_the_environment_is_on_no_command_line(anywhere, monkeypatch):
    monkeypatch.setenv("SECRET", "correct-horse")
    _, output, _ = held(anywhere([*SH, "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'"]))
    assert b"import base64" in output  # the runner itself is seen
    assert b"correct-horse" not in output


def test_a_signal_ends_the_program_there(anywhere):
    conversation, thread, said = waiting_run(anywhere([*SH, "echo ready; exec sleep 600"]), b"ready")
    conversation.signal(signal.SIGTERM)
    thread.join(60)
    assert [(outcome.status, outcome.exit_status) for outcome in said] == [(-signal.SIGTERM, 143)]


def test_a_program_can_catch_its_signal(there):
    argv = [*SH, "trap 'exit 9' TERM; echo ready; while :; do sleep 0.1; done"]
    conversation, thread, said = waiting_run(there(argv), b"ready")
    conversation.signal(signal.SIGTERM)
    thread.join(60)
    assert [outcome.status for outcome in said] == [9]


@pytest.mark.parametrize(
    ("program", "files", "why"),
    [
        ("no-such-program", (), "no such program"),
        ("true", (File("/nowhere/at-all", 1, 1),), "/nowhere/at-all: No such file"),
    ],
)
def test_what_cannot_start_says_why(there, program, files, why):
    run = there([program], files=files)
    with pytest.raises(NotStartedError, match=why):
        held(run)


def test_another_file_of_that_name_is_refused(there, text):
    with pytest.raises(NotStartedError, match="another file there"):
        held(there(["true"], files=(File(str(text), text.stat().st_size + 1, 0),)))


def test_a_node_that_cannot_be_reached_says_so():
    with pytest.raises(NotStartedError, match=r"Connection refused|port 1"):
        held(Run(("true",), "localhost", "ssh", rsh=("ssh", "-p", "1")))


def test_a_node_that_talks_before_the_runner_is_shown():
    with pytest.raises(NotStartedError, match="Welcome to the cluster"):
        held(Run(("true",), "n", "command", rsh=("sh", "-c", "echo Welcome to the cluster, dear user", "%n")))


def test_a_connection_that_ends_ends_the_program(anywhere):
    conversation, thread, _ = waiting_run(anywhere([*SH, "echo ready; exec sleep 611"]), b"ready")
    wait_until(sleeping)  # the shell becomes it a moment after it was ready
    conversation.end()
    thread.join(60)
    wait_until(lambda: not sleeping())


def sleeping():
    ends = []
    for pid in ran(["pgrep", "-x", "sleep"], code=None).stdout.split():
        with contextlib.suppress(OSError):
            if b"611" in Path(f"/proc/{pid}/cmdline").read_bytes():
                ends.append(pid)
    return ends


def test_a_runner_that_is_told_to_end_ends_its_program(there, tmp_path):
    """As by who stops waiting for a node before it has heard that the program runs there."""
    script = f"echo $$ $PPID >{tmp_path}/pids; echo ready; exec sleep 612"
    _, thread, said = waiting_run(there([*SH, script]), b"ready")
    program, runner = map(int, (tmp_path / "pids").read_text().split())
    os.kill(runner, signal.SIGTERM)
    thread.join(60)
    assert [type(outcome) for outcome in said] == [LostError]
    wait_until(lambda: not Path(f"/proc/{program}").exists())


@pytest.mark.parametrize("pieces", [1, 2, 3, 7, 64, 5000])
def test_pieces_together_are_the_file_and_no_line_is_cut(text, pieces):
    size = text.stat().st_size
    edges = [size * number // pieces for number in range(pieces + 1)]
    together = b""
    for start, end in pairwise(edges):
        piece = b"".join(piece_of({"path": str(text), "start": start, "end": end}))
        assert not together or not piece or together.endswith(b"\n")
        together += piece
    assert together == text.read_bytes()


def test_a_piece_is_the_programs_standard_input(there, text):
    run = there(["cat", "/dev/stdin"], piece=Piece(str(text), 1000, 50_000))
    data = text.read_bytes()
    first, last = data.index(b"\n", 999) + 1, data.index(b"\n", 49_999) + 1
    assert held(run)[1] == data[first:last]


def test_input_that_fails_is_no_end_of_input(there, tmp_path):
    """The program would count what came, end with 0, and its output would pass for that of the whole."""
    large = tmp_path / "large"
    large.write_bytes(b"line\n" * 2_000_000)
    counted = f"read first; truncate -s 1000000 {large}; wc -l"
    with pytest.raises(LostError, match="large cannot be read to its end: it has become shorter"):
        held(there([*SH, counted], piece=Piece(str(large), 0, 10_000_000)))
    with pytest.raises(LostError, match="/proc/self/mem cannot be read to its end: Input/output error"):
        held(there(["wc", "-l"], piece=Piece("/proc/self/mem", 0, 1000)))
    for path, why in ((tmp_path, "Is a directory"), ("/proc/self/mem", "Input/output error")):
        with (
            closing_of(os.open(path, os.O_RDONLY)) as stdin,
            pytest.raises(LostError, match=f"Standard input cannot be read: {why}"),
        ):
            held(there(["wc", "-l"]), stdin)


def test_programs_over_one_connection_have_nothing_of_each_other(counted):
    run, starts = counted
    with Connection() as connection:
        for number in range(5):
            argv = [*SH, f"cat; echo {number}; exit {number}"]
            assert held_over(connection, run(argv)) == (number, b"%d\n" % number)
        assert starts() == 1


def test_a_program_that_is_refused_leaves_the_connection_as_it_was(counted):
    run, starts = counted
    with Connection() as connection:
        with pytest.raises(NotStartedError, match="no such program"):
            held_over(connection, run(["no-such-program"]))
        assert held_over(connection, run(["echo", "x"])) == (0, b"x\n")
        assert starts() == 1


def test_after_a_program_that_took_its_runner_along_there_is_another(counted):
    run, starts = counted
    with Connection() as connection:
        with pytest.raises(LostError):
            held_over(connection, run([*SH, "cat; kill -9 $PPID; sleep 60"]))  # its input ends once it runs
        assert held_over(connection, run(["echo", "x"])) == (0, b"x\n")
        assert starts() == 2


def test_what_a_program_left_of_its_piece_is_not_given_to_the_next(counted, tmp_path):
    run, starts = counted
    (tmp_path / "large").write_bytes(b"line\n" * 2_000_000)
    piece = Piece(str(tmp_path / "large"), 0, 10_000_000)
    with Connection() as connection:
        for _ in range(3):
            assert held_over(connection, run(["head", "-n", "1"], piece=piece)) == (0, b"line\n")
        assert starts() == 1


def test_processor_time_is_that_of_each_program(there):
    busy = [*SH, "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done"]
    with Connection() as connection:
        first = Conversation(there(busy), connection).hold(print, print, None)
        second = Conversation(there(["true"]), connection).hold(print, print, None)
    assert second.cpu_seconds < first.cpu_seconds


def test_a_connection_gets_no_more_programs_after_some_minutes(counted, monkeypatch):
    run, starts = counted
    with Connection() as kept:
        held_over(kept, run(["true"]))
        monkeypatch.setattr(connection, "_MAX_SECONDS", 0.0)
        held_over(kept, run(["true"]))
        assert starts() == 2


def test_what_does_not_answer_is_ended_with_all_it_started(there, tmp_path):
    """The command waits in a program of its own, as one does that starts others."""
    waits = ("sh", "-c", f": >{tmp_path}/waits; sleep 613; true")
    conversation, ended = Conversation(replace(there(["true"]), rsh=waits)), []

    def hold():
        with contextlib.suppress(NotStartedError):
            conversation.hold(print, print, None)
        ended.append(True)

    thread = threading.Thread(target=hold)
    thread.start()
    wait_until((tmp_path / "waits").exists)
    conversation.end()
    thread.join(60)
    assert ended == [True]


def test_modules_of_a_folder_are_not_taken_for_pythons_own(there, tmp_path, monkeypatch):
    """Someone's queue.py lies where the program is run."""
    for name in ("queue", "json", "struct", "select", "signal"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not this one')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert held(there(["echo", "x"]))[1] == b"x\n"


def test_a_python_that_is_too_old_is_named(there):
    old = "import sys; sys.version_info, sys.version = (3, 6, 8), '3.6.8 (default)'; exec(sys.argv[-1])"
    with pytest.raises(NotStartedError, match=r"Python 3\.8 is needed there, not 3\.6\.8"):
        held(replace(there(["true"]), rsh=("python3", "-c", old)))


def test_a_node_that_takes_no_more_input_is_given_up(there, monkeypatch):
    """It says that the program runs and prints something, and is dead from then on."""
    monkeypatch.setattr(connection, "_CLOSE_SECONDS", 0.2)
    said = frames.written(b"H") + frames.written(b"G", b"{}") + frames.written(b"O", b"x")
    dead = f"import sys, time; sys.stdout.buffer.write({said!r}); sys.stdout.flush(); time.sleep(600)"
    reader, writer = os.pipe()
    threading.Thread(target=lambda: os.write(writer, bytes(1_000_000)), daemon=True).start()

    def output(data):
        time.sleep(0.5)  # the pipe to the node is full by now
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        Conversation(replace(there(["cat"]), rsh=("python3", "-c", dead))).hold(output, print, reader)
