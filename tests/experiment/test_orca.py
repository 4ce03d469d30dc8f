"""`ses experiment orca`: real programs over a real link; what the report says is what was measured."""

import json
import os
import re
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from offload_programs import build_near_fdw, prefix
from patience import wait_until
from ports import free_port
from ran import ran
from ses_experiment.papers import scan, server
from ses_experiment.papers.orca import Cell, right_share, write_text
from ses_experiment.remote_storage import LISTEN

__all__ = ["prefix"]

SES = Path(sys.executable).parent / "ses"


def cell(**facts):
    usual = {
        "program": "grep", "megabytes": 64, "kind": "alike", "link": 1000, "clients": 4,
        "choice": "near", "reason": "", "near_seconds": 1.0,
        "here_seconds": 2.0, "near_predicted": 1.0, "here_predicted": 2.0, "near_wire": 1, "here_wire": 2,
        "near_cpu": 0.5, "same_output": True,
        "load": 0.0,
    }  # fmt: skip
    return Cell(**{**usual, **facts})


@pytest.mark.parametrize(
    ("choice", "near", "here", "right"),
    [
        ("near", 1.0, 2.0, True),
        ("near", 1.09, 1.0, True),
        ("near", 1.2, 1.0, False),
        ("here", 1.0, 1.2, False),
    ],
)
def test_a_choice_is_right_that_is_at_most_a_tenth_slower(choice, near, here, right):
    assert cell(choice=choice, near_seconds=near, here_seconds=here).right is right
    assert right_share([cell(choice=choice, near_seconds=near, here_seconds=here), cell()]) == (1 + right) / 2


def test_the_text_is_always_the_same_and_one_line_in_500_is_looked_for(tmp_path):
    for name in ("a", "b"):
        write_text(tmp_path / name, 2)
    text = (tmp_path / "a").read_bytes()
    assert text == (tmp_path / "b").read_bytes()
    assert len(text) == 2_000_000
    lines = text.splitlines()
    assert 0.001 < sum(b"needle" in line for line in lines) / len(lines) < 0.003


def test_the_table_is_always_the_same_and_one_row_in_80_is_looked_for(tmp_path):
    for name in ("a", "b"):
        scan.write_table(tmp_path / name, 3)
    rows = [line.split(",") for line in (tmp_path / "a").read_text().splitlines()]
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert {len(row) for row in rows} == {scan.COLUMNS}
    assert sum(row[0] == "7" for row in rows) == len(rows) / scan.SELECTED


def test_the_storage_node_holds_no_end_of_an_answer_back(tmp_path):
    """A program that computes while one piece of its file is on the way would wait for an acknowledgement."""
    server, port = tmp_path / "server", free_port()
    server.write_text(
        f"#!{sys.executable}\nimport socket\nsocket_ = socket.socket(fileno=1)\n"
        "socket_.send(b'%d' % socket_.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))\n"
    )
    server.chmod(0o755)
    listening = LISTEN.format(server=server, address="127.0.0.1", port=port)
    with subprocess.Popen([sys.executable, "-c", listening]) as process:
        try:
            assert _answer(port) == b"1"
        finally:
            process.terminate()


def _answer(port):
    def answer():
        with (
            suppress(ConnectionRefusedError),
            socket.create_connection(("127.0.0.1", port), 60) as connection,
        ):
            return connection.recv(10)

    return wait_until(answer, "somebody listens")


@pytest.mark.root
def test_outputs_agree_the_wire_carries_what_is_selected_and_nothing_is_left(traces):
    """Figures of such a short run on a busy machine mean nothing, so none is asked for."""
    size = ("--size", "4", "--clients", "2", "--shared-disk")
    argv = [SES, "experiment", "orca", "--short", *size, "--json"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SES_")}
    done = subprocess.run(
        argv, capture_output=True, env={**environment, "TMPDIR": str(traces.base)}, timeout=600
    )
    report = json.loads(done.stdout)
    cells = {measured["program"]: measured for measured in report["cells"]}
    assert set(cells) == {"grep", "wc", "sort", "index", "scan"}
    assert all(measured["same_output"] for measured in cells.values())
    assert all(measured["here_wire"] > 4e6 for measured in cells.values())
    assert all(measured["near_cpu"] > 0 for measured in cells.values())
    for measured in cells.values():
        for way in ("near", "here"):
            series = measured["series"][way]
            assert series["megabytes"] == sorted(series["megabytes"])
            assert series["processor"] == sorted(series["processor"])
        assert measured["series"]["here"]["megabytes"][-1] >= 4
        assert measured["series"]["near"]["processor"][-1] > 0
    for name in ("grep", "scan"):
        assert cells[name]["here_wire"] > 30 * cells[name]["near_wire"]
    assert cells["sort"]["choice"] == "here"
    assert done.returncode == (0 if report["right"] >= 0.95 else 1)
    assert traces.files() == []
    assert traces.mounts() == []
    made = re.search(r"the network of (\S+) and (\S+)", done.stderr.decode())
    left = ran(["ip", "netns"], code=None).stdout.split()
    assert not set(made.groups()) & set(left)
    assert traces.rules_of_detached_devices() == []


@pytest.mark.root
@pytest.mark.long
def test_slower_nodes_are_slower_and_a_service_beside_is_measured(traces):
    plot = traces.base / "figures.svg"
    options = (
        "--size",
        "8",
        "--clients",
        "1",
        "--kind",
        "alike,unlike",
        "--program",
        "sum,tail",
        "--service",
    )
    argv = [SES, "experiment", "orca", "--short", *options, "--plot", plot, "--json"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SES_")}
    done = subprocess.run(
        argv, capture_output=True, env={**environment, "TMPDIR": str(traces.base)}, timeout=600
    )
    report = json.loads(done.stdout)
    assert [(measured["kind"], measured["program"]) for measured in report["cells"]] == [
        ("alike", "sum"), ("alike", "tail"), ("unlike", "sum"), ("unlike", "tail"),
    ]  # fmt: skip
    assert all(measured["same_output"] for measured in report["cells"])
    assert all(set(measured["service"]) == {"alone", "near", "here"} for measured in report["cells"])
    assert all(rate > 0 for measured in report["cells"] for rate in measured["service"].values())
    assert "<svg" in plot.read_text()
    plot.unlink()
    assert traces.files() == []


@pytest.mark.root
@pytest.mark.long
def test_a_server_has_the_same_rows_near_and_over_the_network(prefix, traces):
    build_near_fdw(prefix, prefix / "build/extras/offload/postgresql")
    options = ("--program", "server", "--size", "4", "--clients", "1,2", "--build", prefix / "build")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SES_")}
    done = subprocess.run(
        [SES, "experiment", "orca", "--short", *options, "--json"],
        capture_output=True, env={**environment, "TMPDIR": str(traces.base)}, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    cells = json.loads(done.stdout)["cells"]
    assert [(measured["program"], measured["clients"]) for measured in cells] == [
        (query, clients) for query in server.QUERIES for clients in (1, 2)
    ]
    assert all(measured["same_output"] and measured["right"] is None for measured in cells)
    sent = {measured["program"]: measured["here_wire"] / measured["near_wire"] for measured in cells}
    assert sent["server count"] > 10
    assert sent["server half"] < 3
    assert traces.files() == []
