"""Tables of nodes: what an agent is sent of the elements, once, and only what changed."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ses_service.decision.needs import need_of
from ses_service.decision.node_tables import CHOSEN_FOR, MAX_ELEMENTS, NodeTables, TableAsked
from ses_service.decision.rows import Rows
from ses_service.model.columns import element_table, observation_table
from ses_state._state import SystemArrivals

NOW = 1_000_000.0
LOAD = [
    "row",
    "busy",
    "busy_average",
    "foreign",
    "foreign_average",
    "own",
    "server_streams",
    "free",
    "reserved",
    "age",
    "state",
    "last_placed",
    "promises",
    "promised",
    "promised_hard",
]


class Nodes:
    """What nodes of a site are answered."""

    def __init__(self, site: Any) -> None:
        self.site = site
        self.table = element_table(site.environment)
        self.rows = Rows(site.policies)
        self.arrivals = SystemArrivals()
        seen = observation_table(self.table, site.observed.values())
        self.rows.bind(self.table, (), seen, site.ledger.counts, NOW)
        self.tables = NodeTables(self.rows, self.arrivals, "s1", 2.0)
        self.needs = [need_of((), ())]

    def ask(self, node: str = "n1", now: float = NOW, **have: Any) -> dict[str, Any]:
        self.rows.follow(self.site.ledger.counts, self.site.ledger.counter.take_changed())
        text = self.tables.update_for(node, TableAsked("union", **have), self.needs, now)
        assert text is not None
        answer: dict[str, Any] = json.loads(text)
        return answer

    def again(self, before: dict[str, Any], node: str = "n1", now: float = NOW) -> dict[str, Any]:
        return self.ask(node, now, revision=before["revision"], version=before["version"])


def names(answer: dict[str, Any]) -> list[str]:
    return [element["element"] for element in answer["elements"]]


def test_the_first_answer_says_everything_of_each_element(site: Any) -> None:
    answer = Nodes(site.equal(3).see_all(write=50, age=0.5)).ask()
    assert sorted(names(answer)) == ["union/b0", "union/b1", "union/b2"]
    first = answer["elements"][0]
    assert (first["read_rate"], first["size"], first["server_rate"]) == (1e8, 1e12, None)
    load = dict(zip(LOAD, answer["loads"][0], strict=True))
    assert (load["row"], load["busy"], load["free"], load["age"]) == (0, 0.5, 5e11, 0.5)
    assert (answer["total"], answer["max_age_seconds"], answer["rate_window_seconds"]) == (3, 10.0, 2.0)
    assert answer["policy"]["saturation"] == 0.97


def test_the_link_of_a_server_is_sent_with_the_streams_on_it(site: Any) -> None:
    there = site(
        *(site.element(name, server="s1", server_rate=1e9) for name in ("a", "b")), site.element("c")
    )
    nodes = Nodes(there.see_all())
    first = nodes.ask()
    rates = {element["element"]: element["server_rate"] for element in first["elements"]}
    assert rates == {"union/a": 1e9, "union/b": 1e9, "union/c": None}
    nodes.site.ledger.restore(nodes.site.placement(nodes.table.elements[0]))
    changed = {
        names(first)[load[0]]: (load[LOAD.index("own")], load[LOAD.index("server_streams")])
        for load in nodes.again(first)["loads"]
    }
    assert changed == {"union/a": (1, 1), "union/b": (0, 1)}


def test_afterwards_only_rows_that_changed_are_sent(site: Any) -> None:
    nodes = Nodes(site.equal(3).see_all())
    first = nodes.ask()
    assert nodes.again(first)["loads"] == []
    nodes.site.ledger.restore(nodes.site.placement(nodes.table.elements[1]))
    second = nodes.again(first)
    assert second["elements"] is None
    place = names(first).index("union/b1")
    assert [(load[0], load[5]) for load in second["loads"]] == [(place, 1.0)]
    assert nodes.again(second)["loads"] == []


def test_what_is_not_seen_is_sent_as_null(site: Any) -> None:
    load = dict(zip(LOAD, Nodes(site.equal(1)).ask()["loads"][0], strict=True))
    assert (load["busy"], load["free"], load["age"]) == (None, None, None)


def test_other_facts_are_another_revision(site: Any) -> None:
    nodes = Nodes(site(site.element("b0", read=None, write=None)).see("b0", write_capability=1e8))
    first = nodes.ask()
    nodes.site.see("b0", write_capability=2e8)
    seen = observation_table(nodes.table, nodes.site.observed.values())
    nodes.rows.observe(seen, nodes.site.ledger.counts, NOW)
    second = nodes.again(first)
    assert second["revision"] != first["revision"]
    assert second["elements"][0]["write_rate"] == 2e8


def test_each_node_has_the_elements_in_an_order_of_its_own_and_keeps_it(site: Any) -> None:
    nodes = Nodes(site.equal(8))
    orders = {node: names(nodes.ask(node)) for node in ("n1", "n2", "n3", "n4")}
    assert len({order[0] for order in orders.values()}) == 4
    assert {node: names(nodes.ask(node, NOW + 3600)) for node in orders} == orders


def test_an_element_has_the_same_number_on_all_nodes(site: Any) -> None:
    nodes = Nodes(site.equal(100))
    numbers: dict[str, set[int]] = {}
    for node in ("n1", "n2", "n3"):
        for element in nodes.ask(node)["elements"]:
            numbers.setdefault(element["element"], set()).add(element["number"])
    order = [element.id for element in nodes.table.elements]
    assert numbers == {name: {order.index(name)} for name in numbers}


def test_the_rate_is_that_of_other_nodes_in_the_system(site: Any) -> None:
    nodes = Nodes(site.equal(2))
    for node in ("n1", "n2", "n2"):
        nodes.arrivals.count("union", node, NOW)
    nodes.arrivals.count("other", "n3", NOW)
    rates = [nodes.ask(node)["rate"] for node in ("n1", "n2", "n3")]
    assert rates == [pytest.approx(2 / 5), pytest.approx(1 / 5), pytest.approx(3 / 5)]
    assert nodes.ask("n3", NOW + 60)["rate"] == pytest.approx(0, abs=1e-3)


def test_a_node_is_sent_nothing_of_systems_it_does_not_mount_or_that_are_not_there(site: Any) -> None:
    elsewhere = Nodes(site(site.element("b0"), node_access={"n1": frozenset()}))
    assert elsewhere.tables.update_for("n1", TableAsked("union"), elsewhere.needs, NOW) is None
    assert elsewhere.tables.update_for("n2", TableAsked("union"), elsewhere.needs, NOW) is not None
    assert elsewhere.tables.update_for("n2", TableAsked("lustre"), elsewhere.needs, NOW) is None


def many(site: Any, fast: int) -> Any:
    """A thousand elements, the last few of which are fast."""
    return site(*(site.element(f"b{n:03}", write=300 if n >= 1000 - fast else 100) for n in range(1000)))


def test_of_many_elements_each_need_has_its_part_and_nodes_have_different_ones(site: Any) -> None:
    nodes = Nodes(many(site, fast=40).see_all())
    nodes.needs.append(need_of([site.write(250)], ()))
    first, second = names(nodes.ask("n1")), names(nodes.ask("n2"))
    assert len(first) == len(set(first)) == MAX_ELEMENTS
    for order in (first, second):
        assert sum(name >= "union/b960" for name in order) >= MAX_ELEMENTS // 2
        assert sum(name < "union/b960" for name in order) >= MAX_ELEMENTS // 4
    assert first != second


def test_elements_of_a_node_are_kept_as_long_as_they_do(site: Any) -> None:
    nodes = Nodes(many(site, fast=0).see_all())
    first = nodes.ask()
    assert nodes.again(first, now=NOW + 2 * CHOSEN_FOR)["elements"] is None
    for row in np.flatnonzero(np.isin([element.id for element in nodes.table.elements], names(first)))[:40]:
        nodes.rows.elements["state"][row] = 1
    assert nodes.again(first, now=NOW + 2 * CHOSEN_FOR + 1)["elements"] is None  # they hold for a while
    changed = nodes.again(first, now=NOW + 3 * CHOSEN_FOR + 2)
    assert len(set(names(changed)) & set(names(first))) <= 24


@pytest.mark.parametrize("creates", [True, False])
def test_a_node_that_creates_files_gets_less_used_elements(site: Any, creates: bool) -> None:
    """They are chosen anew at most twice a second, and only where its own are used more than others.

    Those of a union are kept for ten seconds.
    """
    nodes = Nodes(many(site, fast=0).see_all())
    systems = nodes.table.environment.systems
    systems["union"] = replace(systems["union"], backend="lustre")
    first = nodes.ask()
    for second in range(5 * creates):
        nodes.arrivals.count("union", "n1", NOW + second)
    assert nodes.again(first, now=NOW + 5)["elements"] is None  # they are used as little as all others
    own = np.isin([element.id for element in nodes.table.elements], names(first))
    nodes.rows.elements["own"][own] = 1
    assert nodes.again(first, now=NOW + 5.25)["elements"] is None
    changed = nodes.again(first, now=NOW + 5.5)["elements"]
    assert (changed is not None) == creates
    if changed is not None:
        assert not {row["element"] for row in changed} & set(names(first))
        systems["union"] = replace(systems["union"], backend="mergerfs")
        nodes.rows.elements["own"][:900] = 1
        assert nodes.ask(now=NOW + 6, revision=nodes.ask(now=NOW + 6)["revision"])["elements"] is None


def test_a_need_that_nothing_meets_gets_the_elements_that_are_nearest_and_an_empty_one_none(
    site: Any,
) -> None:
    nodes = Nodes(many(site, fast=0).see_all())
    nodes.needs = [need_of([site.write(250)], ())]
    assert len(names(nodes.ask())) == MAX_ELEMENTS
    nodes.needs = [need_of([site.write(250, hard=True)], ())]
    assert names(nodes.ask("n2")) == []


def test_tables_nobody_asked_for_recently_are_forgotten_where_there_are_many(site: Any) -> None:
    nodes = Nodes(site.equal(1))
    for number in range(1001):
        nodes.ask(f"n{number}")
    nodes.tables.forget(NOW + 60)
    assert len(nodes.tables._of_nodes) == 1001
    nodes.ask("n5", NOW + 3600)
    nodes.tables.forget(NOW + 3600)
    assert list(nodes.tables._of_nodes) == [("n5", "union")]
