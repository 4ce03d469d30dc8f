"""Functions of a storage part open domains themselves, and one of several nodes serves: the idlest."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from offload_programs import PLAIN, answers, run
from patience import wait_until


@pytest.mark.parametrize("hops", [1, 3])
def test_domains_call_each_other(prefix: Path, hops: int) -> None:
    said = answers(run(prefix / "chained", "here", str(hops)))
    processes = said.pop("said").split()
    assert said == {"open": "0", "reason": "", "call": "0", "orca": str(hops)}
    assert len(set(processes)) == hops
    wait_until(lambda: not any(Path(f"/proc/{process}").exists() for process in processes))


def test_a_program_that_does_not_serve_first_starts_nothing(prefix: Path) -> None:
    """Else each storage part would start another one, without an end."""
    done = run(prefix / "chained", "here", "1", CHAINED_EARLY="1")
    assert "early=1\n" in done.stderr, "the storage part is refused"


# Runs what follows as on a node of that name with a load of its own, as the same user.
NODE = """#!/bin/sh
NODE=$1; export NODE; shift
case $NODE in away) exit 1;; esac
exec unshare --map-root-user --mount sh -c '
  mount --bind "$0" /proc/loadavg && exec unshare --map-user={user} "$@"' {folder}/$NODE.load "$@"
"""


@pytest.fixture
def nodes(prefix: Path) -> str:
    """What runs a command on the nodes busy, idle and idler; every other name is away."""
    for name, minute in (("busy", "40.00"), ("idle", "20.00"), ("idler", "10.00")):
        (prefix / f"{name}.load").write_text(f"{minute} 1.00 1.00 1/900 77\n")
    script = prefix / "node.sh"
    script.write_text(NODE.format(user=PLAIN, folder=prefix))
    script.chmod(0o755)
    return f"{script} %n"


@pytest.mark.parametrize(
    ("addresses", "serves"),
    [
        (["busy", "idler", "idle"], "idler"),
        (["idle", "busy"], "idle"),
        (["away", "busy"], "busy"),
        (["busy", "away"], "busy"),
    ],
)
def test_the_idlest_node_that_is_there_serves(
    prefix: Path, nodes: str, addresses: list[str], serves: str
) -> None:
    named = ",".join(f"command:{name}" for name in addresses)
    said = answers(run(prefix / "chained", named, "0", nodes))
    assert said == {"open": "0", "reason": "", "call": "0", "said": serves}


# A program may take the words and numbers of its user, of which a library knows nothing.
SURROUNDINGS = """
#include <locale.h>
__attribute__((constructor)) static void begin(void) { setlocale(LC_ALL, ""); }
"""
NUMBERS = 'LC_NUMERIC\ndecimal_point "<U002C>"\nthousands_sep ""\ngrouping -1\nEND LC_NUMERIC\n'


def test_a_program_whose_numbers_have_commas_is_served_by_the_idlest_node(
    prefix: Path, nodes: str, tmp_path: Path
) -> None:
    """Those of /proc have points."""
    (tmp_path / "numbers").write_text(NUMBERS)
    made = subprocess.run(  # with warnings: all other categories are missing
        ["localedef", "-c", "-i", tmp_path / "numbers", prefix / "commas"], check=False, capture_output=True
    )
    assert (prefix / "commas/LC_NUMERIC").exists(), made.stderr
    (tmp_path / "surroundings.c").write_text(SURROUNDINGS)
    library = prefix / "surroundings.so"
    compiler = ["gcc", "-shared", "-fPIC", "-Wall", "-Werror"]
    subprocess.run([*compiler, tmp_path / "surroundings.c", "-o", library], check=True)
    for name, running in (("busy", 9000), ("idle", 4000), ("idler", 2000)):
        (prefix / f"{name}.load").write_text(f"1.90 1.00 1.00 {running}/9900 77\n")
    named = "command:busy,command:idler,command:idle"
    commas = {"LD_PRELOAD": str(library), "LOCPATH": str(prefix), "LC_ALL": "commas"}
    said = answers(run(prefix / "chained", named, "0", nodes, **commas))
    assert said == {"open": "0", "reason": "", "call": "0", "said": "idler"}


def test_where_none_is_there_the_reason_is_said(prefix: Path, nodes: str) -> None:
    said = answers(run(prefix / "chained", "command:away,command:gone", "0", nodes))
    assert said["open"] == "7"
    assert "the command that starts the storage part ended" in said["reason"]
    said = answers(run(prefix / "chained", ",".join(["here"] * 9), "0"))
    assert said["open"] == "1"
    assert said["reason"] == "at most 8 nodes can be named"
