"""``ses offload deploy`` builds a program for its nodes and puts it there; the library then finds it."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from mounts import let_others_in
from offload_programs import PLAIN, answers, run, ses_as_plain_user

CHAINED = Path(__file__).parent / "chained.c"


@pytest.fixture
def ses(prefix: Path, tmp_path: Path):
    """Call `ses offload` as a plain user in a folder of its own; nodes are addresses of this machine."""
    os.chown(tmp_path, PLAIN, PLAIN)
    let_others_in(tmp_path)
    library = next(prefix.glob("lib*/**/libses-offload.so")).parent
    environment = {
        "HOME": str(tmp_path), "PKG_CONFIG_PATH": str(library / "pkgconfig"), "TMPDIR": str(tmp_path),
        "LD_LIBRARY_PATH": str(library),
    }  # fmt: skip

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        return ses_as_plain_user("offload", *words, folder=tmp_path, **environment)

    return call


def test_a_program_is_put_onto_its_nodes_where_it_serves_until_it_is_removed(
    ses, prefix: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    rsh = ("--rsh", f"env DISK={store} NODE=%n")
    nodes = ("--node", "127.0.0.1", "--node", "127.0.0.2")
    done = ses("deploy", "chained", str(CHAINED), *nodes, "--to", str(store), *rsh, "--json")
    assert done.returncode == 0, done.stderr
    assert [node["error"] for node in json.loads(done.stdout)["nodes"]] == ["", ""]
    assert (tmp_path / "chained.nodes").read_text() == (
        f"127.0.0.1 {store}/chained\n127.0.0.2 {store}/chained\n"
    )
    assert (store / "chained").read_bytes() == (tmp_path / "chained").read_bytes()
    library = str(next(prefix.glob("lib*/**/libses-offload.so")).parent)
    said = answers(
        run(tmp_path / "chained", "command:127.0.0.2", "0", "env NODE=%n", LD_LIBRARY_PATH=library)
    )
    assert said == {"open": "0", "reason": "", "call": "0", "said": "127.0.0.2"}
    (store / "chained").write_text("#!/bin/sh\nexit 3\n")
    broken = ses("check", "chained", *rsh)
    assert broken.returncode == 1
    assert "127.0.0.1" in broken.stdout
    assert "serves" not in broken.stdout, "the binary there is what is started"
    assert ses("remove", "chained", *rsh).returncode == 0
    assert not store.exists()
    gone = ses("check", "chained", *rsh)
    assert gone.returncode == 5
    assert "deployed nowhere" in gone.stderr


@pytest.mark.parametrize(
    ("words", "status", "why"),
    [
        (["--to", "opt"], 2, "absolute"),
        (["--to", "/opt", "--node", "a b"], 2, "blanks"),
        (["--to", "/opt", "--rsh", "false %n"], 1, "127.0.0.1: false ended with 1"),
        (["--to", "/opt", "--compiler", "x"], 2, "NAME=VALUE"),
        (["--to", "/opt", "--machine", "127.0.0.1=none"], 1, "none-linux-gnu"),
    ],
)
def test_what_cannot_be_deployed_is_named(ses, words: list[str], status: int, why: str) -> None:
    rsh = [] if "--rsh" in words else ["--rsh", "env NODE=%n"]
    done = ses("deploy", "chained", str(CHAINED), "--node", "127.0.0.1", *rsh, *words)
    assert done.returncode == status, done.stderr
    assert why in done.stderr


@pytest.mark.parametrize("program", ["", "/", "nosuch"])
@pytest.mark.parametrize("command", ["check", "remove"])
def test_what_was_never_deployed_is_said(ses, command: str, program: str) -> None:
    done = ses(command, program)
    assert done.returncode == 5
    assert "deployed nowhere" in done.stderr


def test_the_file_of_another_name_of_a_node_is_not_taken(ses, tmp_path: Path, prefix: Path) -> None:
    """`127.0.0.1` is no beginning of `127.0.0.10`."""
    rsh = ("--rsh", "env NODE=%n")
    done = ses("deploy", "chained", str(CHAINED), "--node", "127.0.0.10", "--to", str(tmp_path / "s"), *rsh)
    assert done.returncode == 0, done.stderr
    (tmp_path / "s/chained").unlink()
    library = str(next(prefix.glob("lib*/**/libses-offload.so")).parent)
    said = answers(
        run(tmp_path / "chained", "command:127.0.0.1", "0", "env NODE=%n", LD_LIBRARY_PATH=library)
    )
    assert said["open"] == "0", "its own binary serves there"
