"""``ses kb validate``: every fault with its place, and an exit status that a script can use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from ses.cli import main

GOOD = """\
@prefix qsm: <https://w3id.org/qstorman/ontology#> .
@prefix : <https://w3id.org/qstorman/site/tiny/> .
:union a qsm:MergerfsUnion ; qsm:name "union" ; qsm:mountPoint "/srv/union" .
:server a qsm:Server ; qsm:name "server" .
:b1 a qsm:Branch ; qsm:name "b1" ; qsm:elementOf :union ;
    qsm:servedBy :server ; qsm:target "/srv/b1" .
"""


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.ttl"
    path.write_text(GOOD)
    return path


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "bad.ttl"
    path.write_text(GOOD.replace('qsm:target "/srv/b1"', 'qsm:target "b1"'))
    return path


def test_a_faultless_file_exits_with_0(ses, good, service):
    result = ses("kb", "validate", str(good))
    assert result.exit_code == 0, result.output
    assert result.output == f"{good}: nothing wrong\n"
    assert service.requests == []


def test_a_fault_is_shown_with_file_line_and_node(ses, good, bad):
    result = ses("kb", "validate", str(good), str(bad))
    assert result.exit_code == 1
    assert f"{good}: nothing wrong" in result.output
    assert f"{bad}:6: b1: " in result.output
    assert "absolute path" in result.output


def test_of_a_value_that_cannot_be_the_findings_are_all_that_is_said(bad: Path) -> None:
    """By itself, as people run it: pytest takes away what programs log."""
    until = 'qsm:stateUntil "2026-12-31T24:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
    bad.write_text(GOOD.replace("    qsm:servedBy", f"    {until} ;\n    qsm:servedBy"))
    ses = Path(sys.executable).with_name("ses")
    done = subprocess.run([ses, "kb", "validate", bad], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert f"{bad}:6: b1: qsm:stateUntil is one time" in done.stdout


def test_json_has_every_finding(ses, bad):
    data = ses.json("kb", "validate", str(bad), code=1)
    assert data["valid"] is False
    (finding,) = data["findings"]
    assert (finding["file"], finding["line"], finding["node"]) == (str(bad), 6, "b1")
    assert finding["severity"] == "error"


def test_text_that_is_no_turtle_is_told_with_its_line(ses, tmp_path):
    torn = tmp_path / "torn.ttl"
    torn.write_text(GOOD + ":b2 a qsm:Branch ;;; :x")
    result = ses("kb", "validate", str(torn))
    assert result.exit_code == 1
    assert f"{torn}:7: " in result.output
    assert "not Turtle" in result.output


def test_a_dash_is_standard_input():
    faulty = GOOD.replace("qsm:servedBy :server ;", "")
    result = CliRunner().invoke(main, ["kb", "validate", "-"], input=faulty)
    assert result.exit_code == 1
    assert "standard input:" in result.output
    assert "server" in result.output


def test_a_file_that_is_not_there_exits_with_5(ses, tmp_path):
    result = ses("kb", "validate", str(tmp_path / "none.ttl"))
    assert result.exit_code == 5
    assert "There is no file" in result.output


def test_bytes_that_are_no_text_are_told(ses, tmp_path):
    path = tmp_path / "binary.ttl"
    path.write_bytes(b"\xff\xfe\x00")
    result = ses("kb", "validate", str(path))
    assert result.exit_code == 1
    assert "UTF-8" in result.output


def test_without_the_rules_it_says_what_to_install(ses, good, monkeypatch):
    monkeypatch.setitem(sys.modules, "ses_service.knowledge.exchange.import_check", None)
    result = ses("kb", "validate", str(good))
    assert result.exit_code == 1
    assert "pip install -e ses-service" in result.output


def test_an_iri_that_is_none_is_a_finding_with_its_line(ses, tmp_path):
    path = tmp_path / "odd.ttl"
    path.write_text(GOOD.replace('"b1"', '"b1" ; <http://x/s^hema> [ a <http://x/{> ]'))
    result = ses("kb", "validate", str(path))
    assert result.exit_code == 1
    assert f"{path}:5: not an IRI: 'http://x/s^hema'" in result.output
