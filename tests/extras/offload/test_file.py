"""A call goes to the node of a file as `ses nodes of` names it."""

from pathlib import Path

import pytest
from offload_programs import answers, run

NEVER, START = "0", "1"


def test_the_node_that_holds_the_file_is_called(prefix: Path, command) -> None:
    said = answers(run(prefix / "probe", "file", "/data/big", NEVER, PATH=command("echo here")))
    assert said == {"call": "0", "here": "0", "apart": "1", "status": "0 ", "reason": ""}
    assert (prefix / "bin/words").read_text() == "nodes of --address -- /data/big\n"


def test_what_is_printed_there_is_an_address(prefix: Path, command) -> None:
    said = answers(run(prefix / "probe", "file", "/data/big", NEVER, PATH=command("echo command:store1")))
    assert said["call"] == "1"
    assert "command:store1: not an address" in said["reason"]


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("exit 5", "/data/big: no one node is known to hold it (ses nodes of says more)"),
        ("exit 3", "/data/big: the selection service does not answer (ses nodes of says more)"),
        ("kill $$", "/data/big: the command ses failed (ses nodes of says more)"),
        ("echo", "/data/big: the command ses failed (ses nodes of says more)"),
    ],
)
def test_without_a_node_the_reason_is_said_and_the_call_runs_here_only_if_allowed(
    prefix: Path, command, script: str, why: str
) -> None:
    path = command(script)
    refused = answers(run(prefix / "probe", "file", "/data/big", NEVER, PATH=path))
    assert refused == {"call": "7", "here": "0", "apart": "0", "status": f"7 {why}", "reason": why}
    allowed = answers(run(prefix / "probe", "file", "/data/big", START, PATH=path))
    assert allowed == {"call": "0", "here": "1", "apart": "0", "status": "0 ", "reason": why}


def test_domain_of_cpp_is_on_the_node_of_the_file(prefix: Path, command) -> None:
    values = prefix / "values"
    assert answers(run(values, "/data/big", PATH=command("echo here")))["file"] == "1 0 1 "
    assert (prefix / "bin/words").read_text() == "nodes of --address -- /data/big\n"
    refused = answers(run(values, "/data/big", PATH=command("exit 5")))["file"]
    assert refused == "0 7 0 /data/big: no one node is known to hold it (ses nodes of says more)"


def test_without_the_command_the_reason_is_said(prefix: Path) -> None:
    said = answers(run(prefix / "probe", "file", "/data/big", NEVER, PATH="/nowhere"))
    assert said["reason"] == "the command ses cannot be started: No such file or directory"
