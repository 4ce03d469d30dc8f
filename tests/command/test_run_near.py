"""``ses run-near`` finds the node that holds a file by the file's layout and what the site says."""

import json
import os

import pytest
from fake_selection_service import element

HOLDER = {
    "node_class": "store1", "nodes": "store1", "count": 1, "heard": 1, "open_files": 0, "uplink": None,
    "storage_systems": None, "link_mb_s": 100.0, "uplink_mb_s": None,
}  # fmt: skip
RANKED = {
    "rank": 1, "node": "store1", "node_class": "store1", "element": "union/b2", "storage_system": "union",
    "distance": 0.0, "available": {"read_mb_s": 900.0, "write_mb_s": 312.5}, "free_gb": 2500.0,
    "predicted": [], "limited_by": "element", "open_files": 0,
}  # fmt: skip


@pytest.fixture
def held(service, union):
    """A file on branch b2 of a real union, whose elements and holder the service knows."""
    mount, branches = union
    (branches[1] / "data").write_bytes(b"line\n" * 2_000_000)
    service.elements = [
        element(branch.name, str(mount), str(branch), None)
        | {"open_placements": 3 * (branch.name == "b2"), "available": {"read_mb_s": 80.0, "write_mb_s": 80.0}}
        for branch in branches
    ]
    service.node_classes = [{**HOLDER, "holds": ["union/b2"]}]
    service.node_selection |= {"candidates": [RANKED]}
    return mount / "data"


def plan(ses, file, *options):
    result = ses("run-near", "--dry-run", "--json", "--executor", "command", "--rsh", "env", *options,
                 str(file), "--", "grep", "-c", "x", "{}", code=0)  # fmt: skip
    return json.loads(result.stdout)


def test_the_node_that_holds_the_files_element_is_chosen(ses, held):
    planned = plan(ses, held, "--where", "near", "--no-sample")
    assert planned["elements"] == ["union/b2"]
    assert planned["node"] == "store1"


def test_rates_and_clients_are_those_of_the_site(ses, held):
    best = plan(ses, held, "--clients", "1")["predicted"]
    assert best["here"]["disk"] == pytest.approx(10e6 / 80e6)
    assert best["here"]["link"] == pytest.approx(10e6 / 100e6)
    shared = plan(ses, held)["predicted"]
    assert shared["here"]["link"] == pytest.approx(4 * 10e6 / 100e6), "three others use its link"


def test_an_element_that_nobody_holds_is_said(ses, held, service):
    service.node_classes = [{**HOLDER, "holds": ["union/b1"]}]
    planned = plan(ses, held)
    assert planned["node"] is None
    assert "No one node is known to hold union/b2" in planned["reason"]


def test_a_file_outside_the_site_runs_here(ses, held, tmp_path):
    (tmp_path / "other").write_text("x\n")
    planned = plan(ses, tmp_path / "other")
    assert planned["node"] is None
    assert "does not say where files lie" in planned["reason"]


def test_nodes_of_names_the_node_that_run_near_would_choose(ses, held, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")  # no Slurm
    assert ses.json("nodes", "of", str(held)) == {
        "file": str(held), "node": "store1", "address": "ssh:store1", "elements": ["union/b2"],
    }  # fmt: skip
    assert ses("nodes", "of", "--address", str(held)).output == "ssh:store1\n"


def test_nodes_of_names_others_where_a_stream_gets_the_same(ses, held, service):
    others = [
        RANKED | {"node": "store2"},
        RANKED | {"node": "store3", "available": {"read_mb_s": 100.0, "write_mb_s": 312.5}},
    ]
    service.node_selection |= {"candidates": [RANKED, *others]}
    assert ses("nodes", "of", "--address", str(held)).output == "ssh:store1,ssh:store2\n"
    assert ses.json("nodes", "of", str(held))["node"] == "store1"


def test_nodes_of_says_here_where_the_file_is(ses, held, service):
    own = os.uname().nodename
    service.node_selection |= {"candidates": [{**RANKED, "node": own}]}
    assert ses("nodes", "of", "--address", str(held)).output == "here\n"


def test_nodes_of_exits_with_5_where_nobody_holds_the_file(ses, held, service):
    service.node_classes = []
    result = ses("nodes", "of", str(held), code=5)
    assert "No one node is known to hold union/b2" in result.output
