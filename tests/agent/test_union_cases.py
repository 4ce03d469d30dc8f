"""A union is read alike by the agent and by Python: one table of cases for both."""

import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from agent_sources import link
from ses_client.mounts import is_another
from ses_client.unions import parse_branches

CASES: dict[str, list[dict[str, Any]]] = tomllib.loads(
    Path(__file__).with_name("union_cases.toml").read_text("utf-8")
)


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return link(tmp_path_factory.mktemp("probe") / "unions", "unions.cpp")


def asked(program: Path, cases: list[tuple[str, str]], *words: str) -> list[str]:
    text = "".join(f"{first}\t{second}\n" for first, second in cases)
    done = subprocess.run(
        [program, *words], input=text, capture_output=True, encoding="utf-8", timeout=60, check=True
    )
    return done.stdout.splitlines()


def test_branches_modes_and_reserves_are_read_alike(agents: Path) -> None:
    unions = CASES["union"]
    said = asked(agents, [(union["says"], union["min_free"]) for union in unions])
    for case, line in zip(unions, said, strict=True):
        python = parse_branches(case["says"], case["min_free"])
        assert (
            sorted(f"{branch.path} {branch.mode} {branch.min_free}" for branch in python) == case["expected"]
        )
        assert line.split("\t")[:-1] == case["expected"]


def test_another_file_system_is_reported_alike(agents: Path) -> None:
    pairs = CASES["another"]
    said = asked(agents, [(pair["described"], pair["seen"]) for pair in pairs], "another")
    for case, line in zip(pairs, said, strict=True):
        assert is_another(case["described"], case["seen"]) is case["expected"]
        assert line == str(int(case["expected"]))
