"""``ses run-near`` as people call it: the run is that of a run here, wherever it happens."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner
from patience import wait_until
from ses.cli import main
from ses.near import run_near
from ses.near.history import Seen, recall, remember

SES = Path(sys.executable).parent / "ses"
PAYS = (
    "--on",
    "endpoint",
    "--executor",
    "command",
    "--rsh",
    "env",
    "--disk-rate",
    "500MB/s",
    "--link-rate",
    "1kB/s",
)
LOSES = (*PAYS[:-1], "10GB/s")


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """What was seen of programs is kept here, so that each is tried once."""
    return tmp_path_factory.mktemp("state")


@dataclass
class Done:
    stdout: bytes
    stderr: bytes


@pytest.fixture
def near(state, capfdbinary):
    """Call the command; the program's own output is that of this process."""

    def call(*words, code=0):
        capfdbinary.readouterr()
        cleared = {name: None for name in os.environ if name.startswith("SES_")}
        env = {**cleared, "XDG_STATE_HOME": str(state), "SES_SERVICE_URL": "http://127.0.0.1:1"}
        result = CliRunner().invoke(main, ["run-near", *map(str, words)], env=env)
        printed = capfdbinary.readouterr()
        assert result.exit_code == code, result.output
        return Done(result.stdout_bytes + printed.out, result.stderr_bytes + printed.err)

    return call


@pytest.fixture
def called(state):
    """Call the command as a program of its own, with standard input."""

    def call(*words, stdin, code=0):
        environment = {**os.environ, "XDG_STATE_HOME": str(state)}
        with Path(stdin).open("rb") as opened:
            argv = [SES, "run-near", *map(str, words)]
            done = subprocess.run(argv, stdin=opened, capture_output=True, env=environment, timeout=120)
        assert done.returncode == code, done.stderr.decode()
        return done

    return call


def test_what_pays_runs_there_and_prints_what_a_run_here_prints(near, text):
    done = near(*PAYS, "--explain", text, "--", "grep", "-n", "7 x*$", "{}")
    assert done.stdout == subprocess.run(["grep", "-n", "7 x*$", text], capture_output=True).stdout != b""
    said = done.stderr.decode()
    assert "on endpoint: it pays" in said
    assert "here" in said
    assert "link binds" in said
    assert "measured" in said


def test_what_returns_everything_is_refused_with_what_it_would_have_cost(near, text):
    done = near(*PAYS, text, "--", "sort", "{}")
    assert done.stdout == subprocess.run(["sort", text], capture_output=True).stdout
    said = done.stderr.decode()
    assert "it runs here: it does not pay: near" in said
    assert "link binds" in said


def test_a_wide_link_is_not_worth_a_sample(near, text, monkeypatch):
    monkeypatch.setattr(run_near, "read_rate", lambda _: 1e10)  # a machine that stands still reads slowly
    done = near(*LOSES, text, "--", "touch", text.parent / "tried", "{}")
    assert "it cannot pay" in done.stderr.decode()


def test_without_a_service_it_runs_here_and_says_why(near, text):
    done = near(text, "--", "wc", "-l", "{}")
    assert done.stdout.split()[0] == b"2999"
    assert b"it runs here: The selection service at http://127.0.0.1:1 cannot be reached" in done.stderr


def test_a_node_that_cannot_be_reached_is_said_and_the_program_runs_here(called, text):
    dead = (*PAYS[:4], "--rsh", "sh -c 'echo no route >&2; exit 255'", *PAYS[6:])
    done = called(*dead, "--where", "near", "--no-sample", text, "--", "sh", "-c", "cat; wc -l <$0", "{}",
                  stdin="/etc/hostname")  # fmt: skip
    assert done.stdout == Path("/etc/hostname").read_bytes() + b"2999\n"  # input was not touched
    assert b"it runs here: endpoint: no route" in done.stderr


@pytest.mark.parametrize("where", ["near", "here"])
def test_status_input_and_errors_are_those_of_the_program(called, text, where):
    script = "cmp - $0; echo gone >&2; exit 42"
    done = called(*PAYS, "--no-sample", "--where", where, text, "--", "sh", "-c", script, "{}",
                  stdin=text, code=42)  # fmt: skip
    assert (done.stdout, done.stderr) == (b"", b"gone\n")


@pytest.mark.parametrize("where", ["near", "here"])
def test_a_signal_reaches_the_program(text, tmp_path, where):
    script = f"trap 'echo caught; exit 3' TERM; : >{tmp_path}/ready; while :; do sleep 0.1; done"
    argv = [SES, "run-near", *PAYS, "--no-sample", "--where", where, text, "--", "sh", "-c", script, "{}"]
    running = subprocess.Popen(argv, stdout=subprocess.PIPE)
    wait_until((tmp_path / "ready").exists)
    running.send_signal(signal.SIGTERM)
    assert running.communicate(timeout=60)[0] == b"caught\n"
    assert running.returncode == 3


@pytest.fixture
def unanswered(text, tmp_path):
    """Start the command with a node that does not answer; it waits for that."""
    waits = f"sh -c ': >{tmp_path}/waits; exec sleep 600'"
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}

    def start(sample):
        argv = [SES, "run-near", *PAYS[:4], "--rsh", waits, *PAYS[6:], "--where", "near", sample, text]
        pipe = subprocess.PIPE
        running = subprocess.Popen([*argv, "--", "cat", "{}"], stdout=pipe, stderr=pipe, env=environment)
        wait_until((tmp_path / "waits").exists)
        return running

    return start


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("sample", ["--sample", "--no-sample"])
def test_a_signal_ends_it_while_the_node_is_being_reached(unanswered, number, sample):
    """As in a queue of Slurm: no program runs that the signal could be for."""
    running = unanswered(sample)
    running.send_signal(number)
    assert running.communicate(timeout=60) == (b"", b"")
    assert running.returncode == 128 + number


@pytest.mark.parametrize("sample", ["--sample", "--no-sample"])
def test_a_signal_that_comes_while_it_is_stopped_ends_it(unanswered, sample):
    """Whichever thread the kernel then gives it to."""
    running = unanswered(sample)
    running.send_signal(signal.SIGSTOP)
    os.waitpid(running.pid, os.WUNTRACED)
    running.send_signal(signal.SIGTERM)
    running.send_signal(signal.SIGCONT)
    assert running.communicate(timeout=60) == (b"", b"")
    assert running.returncode == 128 + signal.SIGTERM


@pytest.mark.parametrize("where", ["near", "here"])
def test_a_signal_that_is_ignored_stays_so(text, tmp_path, where):
    """As under nohup."""
    script = f": >{tmp_path}/ready; until test -e {tmp_path}/go; do sleep 0.05; done; echo done"
    argv = [SES, "run-near", *PAYS, "--no-sample", "--where", where, text, "--", "sh", "-c", script, "{}"]
    running = subprocess.Popen(["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *argv], stdout=subprocess.PIPE)
    wait_until((tmp_path / "ready").exists)
    running.send_signal(signal.SIGHUP)
    (tmp_path / "go").touch()
    assert running.communicate(timeout=60)[0] == b"done\n"
    assert running.returncode == 0


@pytest.mark.parametrize("where", ["near", "here"])
def test_the_program_is_given_names_as_they_were_written(near, tmp_path, monkeypatch, where):
    monkeypatch.chdir(tmp_path)
    names = ["./-n", "./a//b", "new\nline", "sp ace"]
    (tmp_path / "a").mkdir()
    for name in names:
        (tmp_path / name).write_text("x\n")
    done = near(*PAYS, "--where", where, "--no-sample", *names, "--", "printf", "%s|", "{}")
    assert done.stdout.decode() == "".join(f"{name}|" for name in names)


def test_the_sample_and_the_program_go_over_one_connection(near, text, tmp_path):
    counting = f"sh -c 'echo started >>{tmp_path}/starts; exec \"$@\"' sh"
    done = near(*PAYS[:4], "--rsh", counting, *PAYS[6:], text, "--", "grep", "-c", "8 x", "{}")
    assert done.stdout == subprocess.run(["grep", "-c", "8 x", text], capture_output=True).stdout
    assert (tmp_path / "starts").read_text() == "started\n"


def test_a_reader_that_goes_away_ends_it(text):
    script = f"{SES} run-near {' '.join(PAYS)} --no-sample --where near {text} -- yes {{}} | head -1"
    done = subprocess.run(
        ["bash", "-c", script + '; echo "${PIPESTATUS[0]}"'], capture_output=True, timeout=120
    )
    assert done.stdout.decode().splitlines() == [str(text), "141"]


def test_the_plan_is_json_and_nothing_is_run(near, text):
    plan = json.loads(near(*PAYS, "--dry-run", "--json", text, "--", "wc", "-c", "{}").stdout)
    assert plan["node"] == "endpoint"
    assert (plan["predicted"]["near"]["bound_by"], plan["predicted"]["here"]["bound_by"]) != ("link", "disk")
    assert plan["predicted"]["pays"]
    assert plan["measured"] is None


def test_what_was_measured_is_json(near, text):
    done = near(*PAYS, "--json", text, "--", "wc", "-c", "{}")
    measured = json.loads(done.stderr)["measured"]
    assert measured["returned"] == len(done.stdout)
    assert measured["seconds"] > 0


def test_a_file_that_has_another_name_there_is_read_by_that_name(near, text, tmp_path):
    (tmp_path / "there").symlink_to(text.parent)
    mapping = ("--path-map", f"{text.parent}={tmp_path}/there")
    done = near(*PAYS, *mapping, "--no-sample", "--where", "near", text, "--", "echo", "{}")
    assert done.stdout.decode() == f"{tmp_path}/there/text.txt\n"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["/etc/hostname"], "what is to be run is missing"),
        (["/etc/hostname", "--", "cat"], "no {}"),
        (["--link-rate", "1Gb", "/etc/hostname", "--", "cat", "{}"], "did you mean 0.125gb/s?"),
        (["--path-map", "a=b", "/etc/hostname", "--", "cat", "{}"], "two absolute directories"),
    ],
)
def test_what_is_not_understood_is_named(near, words, why):
    assert why in near(*words, code=2).stderr.decode().lower().replace("\n", " ")


def test_a_directory_is_no_file_to_run_near(near):
    assert "not a regular file" in near("/etc", "--", "cat", "{}", code=5).stderr.decode()


def test_a_whole_run_replaces_what_the_sample_said(near, state, tmp_path, monkeypatch):
    """A program that returns as much of 40 MB as of the 16 MB that are tried."""
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    program = ("head", "-c", "1000000", "{}")
    (tmp_path / "data").write_bytes(bytes(40_000_000))
    near(*PAYS, "--dry-run", tmp_path / "data", "--", *program)
    tried = recall(program, "endpoint")
    assert tried.returned == pytest.approx(1e6 / (16 << 20))
    assert len(near(*PAYS, tmp_path / "data", "--", *program).stdout) == 1_000_000
    assert recall(program, "endpoint").returned == pytest.approx(1e6 / 40e6)


def test_a_run_on_little_teaches_nothing(near, state, text, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    near(*PAYS, "--where", "near", "--no-sample", text, "--", "tail", "-c", "5", "{}")
    assert recall(("tail", "-c", "5", "{}"), "endpoint") is None


def test_what_was_seen_of_a_program_is_kept_for_that_program_on_that_node(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    seen = Seen(0.1, 1e-9, 1.0, 2.0, 0.3)
    assert recall(["grep", "a", "{}"], "n1") is None
    remember(["grep", "a", "{}"], "n1", seen)
    assert recall(["grep", "a", "{}"], "n1") == seen
    assert recall(["grep", "b", "{}"], "n1") is recall(["grep", "a", "{}"], "n2") is None
    (tmp_path / "qstorman/near.json").write_text("{")
    assert recall(["grep", "a", "{}"], "n1") is None
