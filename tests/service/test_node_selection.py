"""Which nodes suit a task: by what their storage offers, their links, and what is open there already."""

from dataclasses import replace
from typing import Any

import pytest
from ses_service.decision.node_groups import NodeGroups
from ses_service.decision.node_selection import rank_nodes
from ses_service.decision.nodes import Fleet, LimitedBy, NodeDecision, NodesQuestion, fleet
from ses_service.ledger.exclusions import ExcludedOn
from ses_service.ledger.placement import Reason
from ses_service.model.entities import ElementState, Environment, Requirement, Subject
from ses_service.model.nodes import ByHost, NetworkLink, NodeClass

MB = 1e6


def nodes_of(*classes: NodeClass, heard: dict[str, frozenset[str]] | None = None) -> Fleet:
    return fleet(Environment(node_classes=classes), heard or {})


def of(name: str, *nodes: str, link: float | None = None, **facts: Any) -> NodeClass:
    return NodeClass(name, ",".join(nodes), nodes, link_rate=None if link is None else link * MB, **facts)


def ranked(
    site: Any, nodes: Fleet, *wanted: Requirement, streams: dict[str, int] | None = None, **asked: Any
) -> NodeDecision:
    of_job = {name: asked.pop(name) for name in ("count", "among", "exclude") if name in asked}
    question = site.question(*wanted, **asked)
    groups = NodeGroups(NodesQuestion(question, **of_job), site.view, nodes, streams or {}, site.policies)
    return rank_nodes(groups, site.NOW)


def names(decision: NodeDecision) -> list[str]:
    return [candidate.node for candidate in decision.candidates]


def test_a_node_is_as_good_as_the_best_it_can_reach(site: Any) -> None:
    there = site(site.element("fast/a", write=400), site.element("slow/b", write=100)).see_all()
    order = ranked(
        there,
        nodes_of(
            of("one", "n1", systems=frozenset({"slow"})),
            of("two", "n2", systems=frozenset({"fast"})),
            of("three", "n3"),
        ),
        site.write(300),
    )
    assert names(order) == ["n2", "n3", "n1"]
    first, _, last = order.candidates
    assert (first.element.id, first.write, first.distance) == ("fast/a", 400 * MB, 0)
    assert (last.element.id, last.distance) == ("slow/b", pytest.approx(2 / 3))
    assert first.limited_by is LimitedBy.ELEMENT


@pytest.mark.parametrize("count", [1, 3])
def test_what_a_node_excludes_is_not_offered_there(site: Any, count: int) -> None:
    there = site(site.element("u/a", write=400), site.element("u/b", write=100)).see_all()
    excluded = {
        "u/a": ExcludedOn({"n1": "its mode in the union is NC", "n3": "no space"}, everywhere=False),
        "u/b": ExcludedOn({"n3": "no space"}, everywhere=False),
    }
    asked = NodesQuestion(there.question(there.write(50)), count)
    nodes, view = nodes_of(of("thin", "n1", "n2", "n3")), replace(there.view, excluded=excluded)
    order = rank_nodes(NodeGroups(asked, view, nodes, {}, there.policies), there.NOW)
    assert [(node.node, node.element.id) for node in order.candidates] == [("n2", "u/a"), ("n1", "u/b")]
    (refused,) = order.refused
    assert (refused.nodes, refused.reason) == (("n3",), Reason.EXCLUDED)
    assert refused.detail == "u/a is excluded on n1: its mode in the union is NC; excluded on n3: no space."


def test_what_all_exclude_is_offered_nowhere(site: Any) -> None:
    there = site(site.element("u/a", write=400), site.element("u/b", write=100)).see_all()
    view = replace(there.view, excluded={"u/a": ExcludedOn({"n1": "lost"}, everywhere=True)})
    asked = NodesQuestion(there.question(there.write(50)))
    order = rank_nodes(NodeGroups(asked, view, nodes_of(of("thin", "n2")), {}, there.policies), there.NOW)
    assert [node.element.id for node in order.candidates] == ["u/b"]


def test_the_prediction_is_the_one_for_files(site: Any) -> None:
    there = site.equal(3).see_all().see("b0", write=60).carry("b1", 2)
    of_files = {candidate.element.id: candidate for candidate in there.decide(site.write(80)).candidates}
    (node,) = ranked(there, nodes_of(of("thin", "n1")), site.write(80)).candidates
    file = of_files[node.element.id]
    assert (node.write, node.read, node.free) == (file.available_write, file.available_read, file.free)
    assert node.distance == pytest.approx(file.distance)
    assert node.element.id == next(iter(of_files))


def test_a_link_limits_a_stream_and_is_shared_with_what_is_open_there(site: Any) -> None:
    there = site.equal(2, write=400, read=400).see_all()
    nodes = nodes_of(of("thin", "n1", "n2", link=300), of("fat", "n3", link=1000))
    order = ranked(there, nodes, site.write(300), streams={"n1": 2, "n3": 1})
    assert names(order) == ["n3", "n2", "n1"]
    answer = {
        candidate.node: (candidate.write, candidate.limited_by, candidate.open_files)
        for candidate in order.candidates
    }
    assert answer["n3"] == (400 * MB, LimitedBy.ELEMENT, 1)
    assert answer["n2"] == (300 * MB, LimitedBy.LINK, 0)
    assert answer["n1"] == (100 * MB, LimitedBy.LINK, 2)


def test_nodes_behind_a_busy_switch_come_after_others(site: Any) -> None:
    there = site.equal(2, write=400).see_all()
    left, right = NetworkLink("left", 500 * MB), NetworkLink("right", 500 * MB)
    nodes = nodes_of(of("a", "n1", "n2", uplink=left), of("b", "n3", "n4", uplink=right))
    order = ranked(there, nodes, site.write(300), streams={"n2": 4})
    assert names(order)[:2] == ["n3", "n4"]
    assert order.candidates[-1].limited_by is LimitedBy.UPLINK
    assert order.candidates[-1].write == 100 * MB


def test_hard_requirements_refuse_nodes_with_the_nearest_offer(site: Any) -> None:
    there = site(site.element("fast/a", write=400), site.element("slow/b", write=100)).see_all()
    nodes = nodes_of(
        of("far", "n1", systems=frozenset({"slow"})),
        of("thin", "n2", "n3", link=200),
        of("good", "n4"),
        of("none", "n5", systems=frozenset()),
    )
    order = ranked(there, nodes, site.write(300, hard=True), exclude=frozenset({"n3"}))
    assert names(order) == ["n4"]
    answer = {
        refusal.node_class: refusal for refusal in order.refused if refusal.reason is not Reason.EXCLUDED
    }
    assert answer["far"].reason is Reason.HARD_REQUIREMENT
    assert answer["far"].detail == (
        "slow/b is the nearest. Its predicted current-write-rate is 100 MB/s; the hard minimum is 300 MB/s."
    )
    assert answer["thin"].detail == (
        "Their own link leaves a stream a current-write-rate of 200 MB/s; the hard minimum is 300 MB/s."
    )
    assert (answer["none"].reason, answer["none"].nodes) == (Reason.UNREACHABLE, ("n5",))
    (excluded,) = (refusal for refusal in order.refused if refusal.reason is Reason.EXCLUDED)
    assert excluded.nodes == ("n3",)
    assert order.total == 5


def test_where_a_link_limits_the_other_needs_decide(site: Any) -> None:
    there = site(site.element("b0", write=400), site.element("b1", write=300))
    there.see("b0", free=100).see("b1", free=500)
    needs = site.write(200), site.free(400)
    (near,) = ranked(there, nodes_of(of("thin", "n1", link=100)), *needs).candidates
    assert near.element.id == "union/b1"


def test_a_job_is_spread_over_elements_servers_and_links(site: Any) -> None:
    elements = [site.element(f"b{number}", server=f"s{number // 2}", write=100) for number in range(8)]
    there = site(*elements).see_all()
    left, right = NetworkLink("left", 300 * MB), NetworkLink("right", 300 * MB)
    nodes = nodes_of(
        of("a", *(f"a{number}" for number in range(6)), uplink=left),
        of("b", *(f"b{number}" for number in range(6)), uplink=right),
    )
    order = ranked(there, nodes, site.write(100), count=8)
    assert len(set(names(order))) == 8
    assert len({candidate.element.id for candidate in order.candidates}) == 8
    assert {candidate.element.server for candidate in order.candidates[:4]} == {"s0", "s1", "s2", "s3"}
    assert sorted(candidate.node[0] for candidate in order.candidates) == ["a"] * 4 + ["b"] * 4


def test_a_job_that_finds_too_few_nodes_is_told_so(site: Any) -> None:
    there = site.equal(4).see_all()
    order = ranked(there, nodes_of(of("thin", "n1", "n2", "n3")), count=5, among=frozenset({"n2", "n3", "x"}))
    assert names(order) == ["n2", "n3"]
    assert order.notes == ("5 nodes are wanted, 2 may be used.", "Not known: x.")


def test_nodes_that_are_not_described_are_those_heard_of(site: Any) -> None:
    there = site(site.element("a/x"), site.element("b/y")).see_all()
    heard = {"n1": frozenset({"a"}), "n2": frozenset({"a", "b"}), "n3": frozenset()}
    order = ranked(there, nodes_of(heard=heard), storage_system="b")
    assert names(order) == ["n2"]
    assert [refusal.nodes for refusal in order.refused] == [("n3",), ("n1",)]
    assert "no classes of nodes" in order.notes[0]
    assert ranked(there, nodes_of()).notes == (
        "No nodes are known: the site describes none, and no agent reports.",
    )


def test_only_degraded_elements_are_used_where_there_is_nothing_else(site: Any) -> None:
    there = site(
        site.element("a/x", state=ElementState.DEGRADED), site.element("b/y", state=ElementState.ACTIVE)
    ).see_all()
    nodes = nodes_of(of("one", "n1", systems=frozenset({"a"})), of("two", "n2"))
    answer = {candidate.node: candidate.element.id for candidate in ranked(there, nodes).candidates}
    assert answer == {"n1": "a/x", "n2": "b/y"}


@pytest.mark.parametrize(("written", "reported"), [("n1", "n1.example.org"), ("n1.example.org", "n1")])
def test_a_host_is_the_same_with_and_without_its_domain(site: Any, written: str, reported: str) -> None:
    there = site(site.element("a/x"), site.element("b/y"), node_access=ByHost({written: {"a"}}.items()))
    assert site.reasons(there.decide(subject=Subject("alice", node=reported))) == {"y": "unreachable"}
    nodes = nodes_of(of("thin", written, "n2", link=300))
    busy = ranked(there, nodes, site.write(300), streams={reported: 2})
    assert names(busy) == ["n2", written]
    without = ranked(there, nodes, exclude=frozenset({reported}))
    assert (names(without), without.notes) == (["n2"], ())
    assert names(ranked(there, nodes, among=frozenset({reported}))) == [written]


def test_hosts_of_two_domains_are_two() -> None:
    known = ByHost({"n1.a.org": 1, "n1.b.org": 2, "n2.a.org": 3, "n3": 4}.items())
    asked = ("n1.a.org", "n1", "n1.c.org", "n2", "n2.b.org", "n3.c.org", "n4")
    assert [known.get(host) for host in asked] == [1, None, None, 3, None, 4, None]
    assert [host in known for host in asked] == [True, False, False, True, False, True, False]
    assert known.named("n3.c.org") == "n3"
    assert known.named("n1") == "n1"


def test_agents_of_one_host_under_two_names_count_together(site: Any) -> None:
    there = site.equal(2).see_all()
    order = ranked(there, nodes_of(of("thin", "n1", link=300)), streams={"n1": 1, "n1.example.org": 2})
    assert [candidate.open_files for candidate in order.candidates] == [3]
