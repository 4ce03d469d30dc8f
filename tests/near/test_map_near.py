"""``ses map-near``: the output is that of one run after the other here, whatever happens to the nodes."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner
from patience import wait_until
from ses.cli import main
from ses.near.history import Seen, recall, remember
from ses.near.keeping import Kept
from ses.near.map_near import run_all
from ses.near.run_near import Wanted
from ses.near.tasks import HERE, Task

SES = Path(sys.executable).parent / "ses"
NODES = ("--held", "*/e1/*=n1", "--held", "*/e2/*=n2")
RATES = ("--disk-rate", "500MB/s", "--link-rate", "1kB/s", "--executor", "command")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Six files with lines on two nodes, as directories."""
    folder, chance = tmp_path_factory.mktemp("map"), random.Random(3)
    for number in range(6):
        path = folder / f"e{1 + number % 2}" / f"{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{number} {chance.randrange(1000)}\n" for _ in range(5000)))
    return folder


@pytest.fixture
def mapped(data, tmp_path, capfdbinary):
    def call(*words, rsh="env", code=0, program=("grep", "77", "{}"), rates=RATES):
        options = [*NODES, *rates, "--rsh", rsh, *words, str(data / "e*/*.txt")]
        env = {"XDG_STATE_HOME": str(tmp_path), "SES_SERVICE_URL": "http://127.0.0.1:1"}
        capfdbinary.readouterr()
        result = CliRunner().invoke(main, ["map-near", *options, "--", *program], env=env)
        printed = capfdbinary.readouterr()
        assert result.exit_code == code, result.output
        return result.stdout_bytes + printed.out, (result.stderr_bytes + printed.err).decode()

    return call


def here(data, program="grep 77"):
    files = sorted(data.glob("e*/*.txt"))
    return b"".join(subprocess.run([*program.split(), file], capture_output=True).stdout for file in files)


def test_output_is_in_the_order_of_the_files(mapped, data):
    output, said = mapped()
    assert output == here(data) != b""
    assert "on n1" in said
    assert "on n2" in said
    assert "6 tasks" in said


def test_tasks_of_a_node_go_over_one_connection(mapped, data, tmp_path):
    """What it takes to reach a node and to start Python there is paid once, not for each file."""
    counting = f"sh -c 'echo %n >>{tmp_path}/starts; exec \"$@\"' sh"
    output, _ = mapped("--no-sample", "--per-endpoint", "1", rsh=counting)
    assert output == here(data)
    assert sorted((tmp_path / "starts").read_text().split()) == ["n1", "n2"]


def test_pieces_of_files_give_what_whole_files_give(mapped, data):
    output, said = mapped("--piece", "7kB", "--per-endpoint", "2")
    assert output == here(data)
    assert int(said.partition(" tasks")[0].split()[-1]) > 20


def test_output_that_cannot_be_kept_is_forgotten_and_says_where(tmp_path):
    """A disk of this machine is full: which one is said, and the task can be done again."""
    kept, limits = Kept(tmp_path), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        with pytest.raises(OSError, match=rf"kept on this machine, in {tmp_path}: File too large"):
            [kept.write(line) for line in [b"line\n"] * 20_000]
        kept.drop()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not [*tmp_path.iterdir()]


def test_tasks_at_once_are_not_limited_by_the_open_files_of_a_shell(data, tmp_path):
    """Each has three pipes: nodes of many processors have more of them than a login shell may have open."""
    few = 'ulimit -S -n 64; exec "$@"'
    options = [*NODES, *RATES, "--rsh", "env", "--no-sample", "--per-endpoint", "12", "--piece", "4kB"]
    argv = ["sh", "-c", few, "sh", SES, "map-near", *options, f"{data}/e*/*.txt", "--", "grep", "77", "{}"]
    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "SES_SERVICE_URL": "http://127.0.0.1:1"}
    done = subprocess.run(argv, env=env, capture_output=True, check=True)
    assert done.stdout == here(data)
    assert b"failed" not in done.stderr


def test_a_lost_node_loses_and_repeats_nothing(mapped, data, tmp_path):
    """Node n2 dies in the middle of its first task, after some output, and is unreachable from then on."""
    dying = (
        f"test %n = n1 || test ! -e {tmp_path}/died || exit 255; "
        f'test %n = n1 || test -e {tmp_path}/sampled || {{ : >{tmp_path}/sampled; }}; exec "$@"'
    )
    program = ("sh", "-c", f"cat $0; case $0 in */e2/*) test -e {tmp_path}/died || "
               f"{{ : >{tmp_path}/died; sleep 0.2; kill -9 $PPID; sleep 60; }};; esac", "{}")  # fmt: skip
    output, said = mapped("--no-sample", rsh=f"sh -c '{dying}' sh", program=program)
    assert (tmp_path / "died").exists()
    assert output == here(data, "cat")
    assert "3 not where planned" in said


def test_a_node_that_never_answers_is_done_without(mapped, data):
    output, said = mapped("--no-sample", rsh="sh -c 'test %n = n1 && exec \"$@\"; echo no route >&2' sh")
    assert output == here(data)
    assert "map-near: n2 failed: no route" in said
    assert "3 not where planned" in said


def test_a_node_where_the_program_cannot_be_tried_is_done_without(mapped, data):
    output, said = mapped(rsh="sh -c 'test %n = n2 && exec \"$@\"; echo no route >&2' sh")
    assert output == here(data)
    assert "not tried on n1: no route" in said
    assert "predicted" in said
    assert "3 not where planned" in said


def test_a_task_that_is_lost_again_and_again_is_given_up(mapped):
    _, said = mapped(
        "--no-sample", "--retries", "1", program=("sh", "-c", "kill -9 $PPID; sleep 60", "{}"), code=1
    )
    assert "was tried 2 times" in said


def test_the_highest_exit_status_is_passed_on(mapped):
    mapped(program=("sh", "-c", "case $0 in */3.txt) exit 7;; *) exit 2;; esac", "{}"), code=7)


def test_a_reducer_reads_the_merged_output_in_order(mapped, data):
    output, _ = mapped("--reduce", "tail -n 1")
    assert output == here(data).splitlines(keepends=True)[-1]


def test_a_reducer_prints_nothing_of_a_part(mapped):
    """The last of the tasks is given up; the sum of the others would look like the sum of all."""
    program = ("sh", "-c", "case $0 in */5.txt) kill -9 $PPID; sleep 60;; esac; cat $0", "{}")
    output, said = mapped("--no-sample", "--retries", "0", "--reduce", "wc -l", program=program, code=1)
    assert output == b""
    assert "5.txt was tried 1 times" in said


def test_a_reducer_that_fails_is_told(mapped):
    mapped("--reduce", "sh -c 'cat >/dev/null; exit 5'", code=5)


WIDE = (*RATES[:3], "10GB/s", *RATES[4:])


def test_what_loses_near_is_refused_and_nothing_is_run(mapped, tmp_path):
    count = "tr -s ' ' '\\n' <$0 | sort | uniq -c"
    output, said = mapped(program=("sh", "-c", count, "{}"), rates=WIDE, code=1)
    assert output == b""
    assert "Near the data it takes longer: near" in said
    assert "--force" in said


def test_force_runs_it_all_the_same(mapped, data):
    output, _ = mapped("--force", rates=WIDE)
    assert output == here(data)


def test_the_report_compares_price_and_performance(mapped):
    printed, _ = mapped("--dry-run", "--json", "--cost", "desktop=300,endpoint=60")
    report = json.loads(printed)
    assert set(report["nodes"]) == {"n1", "n2"}
    near, there = report["predicted"]["near"]["seconds"], report["predicted"]["here"]["seconds"]
    assert report["price_performance"] == pytest.approx(there * 420 / (near * 120))


def test_files_without_a_node_are_read_from_here(mapped, data, tmp_path):
    (tmp_path / "alone.txt").write_text("77 alone\n")
    output, said = mapped(str(tmp_path / "alone.txt"))
    assert output == b"77 alone\n" + here(data)
    assert "from here" in said


def test_a_reader_that_goes_away_ends_it(data):
    options = " ".join((*NODES, *RATES, "--rsh", "env", "--no-sample"))
    script = f"{SES} map-near {options} '{data}/e*/*.txt' -- sed s/^/./ {{}} | head -1"
    environment = {**os.environ, "SES_SERVICE_URL": "http://127.0.0.1:1"}
    done = subprocess.run(["bash", "-c", script + '; echo "${PIPESTATUS[0]}"'], capture_output=True,
                          timeout=120, env=environment)  # fmt: skip
    assert done.stdout.split()[-1] == b"141"
    assert done.stdout.startswith(b".0 ")


@pytest.mark.parametrize(
    ("options", "why"), [(["--held", "n1"], "PATTERN=NODE"), (["--cost", "desktop=3"], "desktop=PRICE")]
)
def test_what_is_not_understood_is_named(mapped, options, why):
    assert why in mapped(*options, code=2)[1]


def test_a_pattern_that_fits_no_file_is_named(mapped):
    assert "/none/*: no such file" in mapped("/none/*", code=5)[1]


def test_whole_runs_replace_what_the_sample_said(mapped, tmp_path, monkeypatch):
    """A program that returns as much of 20 and 40 MB as of the 16 MB that are tried."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    program = ("head", "-c", "1000000", "{}")
    files = [tmp_path / "e1/20", tmp_path / "e1/40"]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        with file.open("wb") as opened:
            opened.truncate(int(file.name) * 1_000_000)
    mapped("--dry-run", f"{tmp_path}/e1/*", program=program)
    tried = recall(program, "n1")
    assert tried.returned == pytest.approx(1e6 / (16 << 20))
    mapped(f"{tmp_path}/e1/*", program=program)
    known = recall(program, "n1")
    assert known.returned == pytest.approx(2e6 / 60e6), "both files count, and small ones do not"
    assert (known.slowdown, known.cores) == (tried.slowdown, tried.cores)
    assert known.start_seconds > 0
    assert recall(program, "n2") is None, "its files are small"


def test_what_whole_runs_showed_decides(mapped, monkeypatch, tmp_path):
    """It is known of the program that it returns everything: nothing is sampled, and it is refused."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    program = ("sh", "-c", f": >{tmp_path}/ran; cat $0", "{}")
    remember(
        program,
        "n2",
        Seen(returned=1.0, cpu_seconds_per_byte=1e-9, slowdown=1.0, cores=1.0, start_seconds=9.0),
    )
    _, said = mapped(program=program, rates=WIDE, code=1)
    assert "takes longer" in said
    assert not (tmp_path / "ran").exists()


def test_outputs_of_more_tasks_than_files_may_be_open_wait_for_their_turn(tmp_path):
    """The first task ends after the last one: until then all others' outputs wait."""
    for number in range(100):
        (tmp_path / f"{number:03}").write_text(f"{number}\n")
    script = (
        f"case $0 in */000) until test -e {tmp_path}/last; do sleep 0.05; done;; "
        f"*/099) : >{tmp_path}/last;; esac; echo error >&2; cat $0"
    )
    options = ["--held", "*=n", *RATES, "--rsh", "env", "--no-sample", "--per-endpoint", "2"]
    argv = [
        "prlimit",
        "--nofile=40:40",
        SES,
        "map-near",
        *options,
        f"{tmp_path}/0??",
        "--",
        "sh",
        "-c",
        script,
        "{}",
    ]
    environment = {**os.environ, "SES_SERVICE_URL": "http://127.0.0.1:1", "TMPDIR": str(tmp_path)}
    done = subprocess.run(argv, capture_output=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.split() == [b"%d" % number for number in range(100)]
    assert done.stderr.count(b"error\n") == 100
    assert list(tmp_path.glob("ses-map-near-*")) == []


STRANGE = ["sp ace", "new\nline", "[x]", "quo'te\"", "a=b", "{}", "a*b", "-dash", "\udcff", "é", "empty"]


@pytest.mark.parametrize("as_pattern", [True, False])
def test_every_name_of_a_file_is_one(mapped, tmp_path, monkeypatch, as_pattern):
    for name in STRANGE:
        (tmp_path / "e1").mkdir(exist_ok=True)
        (tmp_path / "e1" / name).write_text("" if name == "empty" else "7\n")
    monkeypatch.chdir(tmp_path / "e1")
    files = ["./*"] if as_pattern else [f"./{name}" for name in sorted(STRANGE)]
    options = ["--held", "*=n1", *RATES, "--rsh", "env", "--no-sample"]
    argv = [SES, "map-near", *options, *files, "--", "grep", "-c", "-H", "7", "{}"]
    environment = {**os.environ, "SES_SERVICE_URL": "http://127.0.0.1:1"}
    done = subprocess.run(argv, capture_output=True, env=environment, timeout=120)
    expected = b"".join(
        subprocess.run(["grep", "-c", "-H", "7", f"./{name}"], capture_output=True).stdout
        for name in sorted(STRANGE)
    )
    assert done.stdout == expected
    assert done.returncode == 1, "grep found nothing in one"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("when", ["running", "connecting"])
def test_a_signal_ends_it_all_and_leaves_nothing(data, tmp_path, number, when):
    sleep = f"sleep 617.{os.getpid()}{number}{len(when)}"  # nobody else's
    waits = f": >{tmp_path}/begun; exec {sleep}"
    rsh, program = ("env", waits) if when == "running" else (f"sh -c '{waits}'", "true")
    options = ["--held", "*=n", *RATES, "--rsh", rsh, "--no-sample"]
    argv = [SES, "map-near", *options, f"{data}/e*/*.txt", "--", "sh", "-c", program, "{}"]
    environment = {**os.environ, "SES_SERVICE_URL": "http://127.0.0.1:1", "TMPDIR": str(tmp_path)}
    running = subprocess.Popen(argv, env=environment, stderr=subprocess.PIPE)
    wait_until((tmp_path / "begun").exists)
    running.send_signal(number)
    _, said = running.communicate(timeout=120)
    assert running.returncode == 128 + number, said.decode()
    assert b"Traceback" not in said
    assert list(tmp_path.glob("ses-map-near-*")) == []
    wait_until(lambda: subprocess.run(["pgrep", "-fx", sleep], capture_output=True).returncode == 1)


def test_a_signal_while_its_threads_begin_ends_what_they_started(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x\n")
    rsh = ("sh", "-c", f"echo $$ >{tmp_path}/begun; exec sleep 619")
    wanted = Wanted((tmp_path / "file",), ("cat", "{}"), executor="command", rsh=rsh)
    task = Task(0, tmp_path / "file", "n", 0, 2, True)
    start = threading.Thread.start

    def interrupted(self):
        start(self)
        if self.name == "n":
            wait_until(lambda: (tmp_path / "begun").exists() and (tmp_path / "begun").read_text())
            raise SystemExit(130)

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(SystemExit):
        run_all(wanted, [task], {"n": 1, HERE: 1}, 0, print, print, lambda _: None)
    wait_until(lambda: not Path(f"/proc/{(tmp_path / 'begun').read_text().strip()}").exists())
