"""The demonstration's site: description, monitor configuration, tokens."""

import hashlib
import stat
import tomllib
from pathlib import Path

import pytest
from ses.demo.branches import PLANS, Branch
from ses.demo.busy import BUSY
from ses.demo.faults import DemoError
from ses.demo.site import write_monitor_configuration, write_site, write_tokens

EXAMPLE = Path(__file__).parents[2] / "ontology/examples/union-site.ttl"


def test_the_example_site_moves_to_the_work_directory(tmp_path):
    text = write_site(EXAMPLE, tmp_path).read_text()
    assert "/srv/qstorman" not in text
    for plan in PLANS:
        assert f'"{tmp_path}/{plan.name}"' in text
    assert f'"{tmp_path}/union"' in text


def test_the_branches_are_those_the_example_describes():
    text = EXAMPLE.read_text()
    for plan in PLANS:
        described = text.split(f":{plan.name} a ", 1)[1].split(" .\n", 1)[0]
        for value in (plan.capacity, plan.read_rate, plan.write_rate):
            assert f"numericValue {value}.0e0" in described, plan.name
    assert {plan.name for plan in PLANS} >= set(BUSY)


def test_another_site_is_a_fault(tmp_path):
    other = tmp_path / "other.ttl"
    other.write_text("# nothing")
    with pytest.raises(DemoError, match="does not mention"):
        write_site(other, tmp_path)


def test_the_monitor_is_told_every_branch_and_for_plain_directories_what_they_lie_on(tmp_path):
    branches = [Branch(plan, tmp_path / plan.name) for plan in PLANS]
    for branch in branches:
        branch.directory.mkdir()
    path = write_monitor_configuration(tmp_path, "http://127.0.0.1:1/metrics", branches)
    settings = tomllib.loads(path.read_text())
    assert [row["id"] for row in settings["element"]] == [f"union/{plan.name}" for plan in PLANS]
    assert all(Path(row["mount_point"]).is_mount() for row in settings["element"])
    assert settings["target"][0]["url"] == "http://127.0.0.1:1/metrics"


def test_tokens_are_private_and_known_to_the_service_by_their_sum(tmp_path):
    tokens = write_tokens(tmp_path)
    known = {token["role"]: token["sha256"] for token in tomllib.loads(tokens.accepted.read_text())["token"]}
    files = {"node": tokens.node, "portal": tokens.portal, "admin": tokens.admin}
    assert set(known) == set(files)
    for role, path in files.items():
        assert hashlib.sha256(path.read_text().strip().encode()).hexdigest() == known[role]
    for path in (tokens.accepted, *files.values()):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not any(path.read_text().strip() in tokens.accepted.read_text() for path in files.values())
