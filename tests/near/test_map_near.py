"""``ses map-near``: the output is that of one run after the other here, whatever happens to the nodes."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from ses.cli import main

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


def test_pieces_of_files_give_what_whole_files_give(mapped, data):
    output, said = mapped("--piece", "7kB", "--per-endpoint", "2")
    assert output == here(data)
    assert int(said.partition(" tasks")[0].split()[-1]) > 20


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
    output, said = mapped("--no-sample", rsh="sh -c 'test %n = n1 && exec \"$@\"' sh")
    assert output == here(data)
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
    ("options", "why"),
    [
        (["--held", "n1"], "PATTERN=NODE"),
        (["--cost", "desktop=3"], "desktop=PRICE"),
        (["/none/*"], "no such file"),
    ],
)
def test_what_is_not_understood_is_named(mapped, options, why):
    assert why in mapped(*options, code=2)[1]
