"""Services that share one PostgreSQL database: each counts, finds and explains what the others carry."""

import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from announcing_node import Node, carried, check_of, options, placements
from files_opened import decision
from files_opened import opened as file_opened
from patience import wait_until
from service_process import Running

KNOWN_AGAIN = 5.0  # seconds; a busy machine may make some rounds slow, but not all


class Site:
    """Services on one database; each that is begun gets a folder of its own."""

    def __init__(self, folder: Path, server: Any) -> None:
        self.server = server
        self._folder = folder
        self._begun: list[Running] = []

    def begin(self) -> Running:
        folder = self._folder / f"service-{len(self._begun)}"
        folder.mkdir()
        self._begun.append(Running(folder, *options(f"--database-url={self.server.url}")))
        return self._begun[-1]

    def pair(self) -> tuple[Running, Running]:
        """Two services that are begun at once."""
        first, second = self.begin(), self.begin()
        for service in (first, second):
            service.wait_ready()
            wait_until(
                lambda service=service: (
                    check_of(service, "database")["ok"] and check_of(service, "other-services")["ok"]
                )
            )
        return first, second

    def end(self) -> None:
        for service in self._begun:
            service.end(signal.SIGKILL)


@pytest.fixture(scope="module")
def site(postgresql: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("services"), postgresql)
    yield made
    made.end()


@pytest.fixture(scope="module")
def pair(site: Site) -> tuple[Running, Running]:
    """Two services, at which each test ends the files it began."""
    return site.pair()


def metric(service: Running, name: str) -> float:
    text = service.http.request("GET", f"{service.url}/metrics").data.decode()
    return float(next(line.rpartition(" ")[2] for line in text.splitlines() if line.startswith(f"{name} ")))


def own(service: Running) -> float:
    return metric(service, 'ses_ledger_placements{state="open"}')


def of_peers(service: Running) -> float:
    return metric(service, 'ses_ledger_placements{state="others"}')


def explained(service: Running, placement_id: str) -> Any:
    status, answer = service.call("GET", f"/v1/placements/{placement_id}")
    return {**answer, "lease_until": None} if status == 200 else None


def speaking(*nodes: tuple[Node, Running], holds: Callable[[], bool]) -> None:
    """Wait until something is so; a node counts as gone after a while without a word."""

    def now() -> bool:
        for node, service in nodes:
            node.announce(service, [], [])
        return holds()

    wait_until(now)


def test_what_one_carries_the_other_counts_lists_and_explains(pair: tuple[Running, Running]) -> None:
    first, second = pair
    node, other, third = Node("n1"), Node("n2"), Node("n3")
    node.announce(first, node.begin(20), [])
    other.announce(second, other.begin(8), [])
    placement = secrets.token_hex(8)
    path = f"/union/{placement}"
    third.announce_file(
        first,
        file_opened(placement, element="union/b1", path=path, inode=4711, decision={"id": 4}),
        decision(4, "union/b1", "union/b3"),
    )
    everybody = (node, first), (other, second), (third, first)

    def is_told() -> bool:
        return carried(first) == carried(second) == 29 and explained(second, placement) is not None

    speaking(*everybody, holds=is_told)
    assert (own(first), of_peers(first), own(second), of_peers(second)) == (21, 8, 8, 21)
    assert explained(second, placement) == explained(first, placement)
    assert explained(second, placement)["candidates"]
    for query in (f"path={path}", "device=5&inode=4711", "element=union/b1&limit=1000"):
        filtered = second.call("GET", f"/v1/placements?{query}")[1]["placements"]
        assert placement in [file["placement_id"] for file in filtered], query
    listed = second.call("GET", "/v1/files?state=open&limit=100")[1]["files"]
    assert {file["placement_id"] for file in listed} == {*node.open, *other.open, placement}
    for each, service in everybody:
        each.announce(service, [], sorted(each.open))
    speaking(*everybody, holds=lambda: carried(first) == carried(second) == 0)
    wait_until(lambda: second.call("GET", f"/v1/files/{placement}")[1].get("ended_at") is not None)
    assert second.call("GET", f"/v1/files/{placement}")[1] == first.call("GET", f"/v1/files/{placement}")[1]

    def sizes(service: Running) -> set[tuple[str, int, float]]:
        listed = service.call("GET", "/v1/sizes?user=alice")[1]["sizes"]
        return {(size["pattern"], size["count"], size["median_bytes"]) for size in listed}

    wait_until(lambda: max(count for _, count, _ in sizes(second)) == 29 and sizes(first) == sizes(second))


def test_a_node_that_goes_over_is_counted_once_and_ends_at_the_other(pair: tuple[Running, Running]) -> None:
    first, second = pair
    node = Node("n4")
    placement = secrets.token_hex(8)
    file = file_opened(placement, element="union/b1", path="/u/told", decision={"id": 4})
    node.announce_file(first, file, decision(4, "union/b1", "union/b3"))
    node.announce(first, node.begin(20), [])
    before = explained(first, placement)
    assert before["candidates"]
    speaking((node, first), holds=lambda: carried(second) == 21)
    node.move(second)

    def has_gone_over() -> bool:
        return (own(first), of_peers(first), own(second), of_peers(second)) == (0, 21, 21, 0)

    speaking((node, second), holds=has_gone_over)
    assert carried(first) == carried(second) == 21
    node.announce(second, [], [placement, *sorted(node.open)[:5]])
    speaking((node, second), holds=lambda: carried(first) == carried(second) == 21 - len(node.ended))
    wait_until(lambda: explained(first, placement)["state"] == "ended")
    for service in pair:
        after = explained(service, placement)
        same = {key: value for key, value in before.items() if after[key] == value}
        assert {
            "candidates",
            "refused",
            "distance",
            "predicted",
            "rank",
            "batch_number",
            "notes",
        } <= same.keys()
    node.move(first)
    speaking((node, first), holds=lambda: (own(first), own(second)) == (21 - len(node.ended), 0))
    node.announce(first, [], sorted(node.open))
    speaking((node, first), holds=lambda: carried(first) == carried(second) == 0)
    node.settle(first)
    for placement_id in node.ended:
        assert {explained(service, placement_id)["end_reason"] for service in pair} == {"closed"}


def test_the_database_is_killed_and_comes_back(site: Site, pair: tuple[Running, Running]) -> None:
    first, second = pair
    node, other = Node("n5"), Node("n6")
    node.announce(first, node.begin(10), [])
    speaking((node, first), holds=lambda: carried(second) == 10)
    site.server.stop()
    try:
        for service in pair:
            wait_until(lambda service=service: not check_of(service, "other-services")["ok"])
        node.announce(first, node.begin(10), sorted(node.open)[:5])
        other.announce(second, other.begin(4), [])
        assert own(first) == 15, "nobody waits for the database"
    finally:
        site.server.start()
    both = (node, first), (other, second)
    speaking(*both, holds=lambda: carried(first) == carried(second) == 19)
    for each, service in both:
        each.settle(service)
    assert (own(first), own(second)) == (15, 4)
    for each, service in both:
        each.announce(service, [], sorted(each.open))
    speaking(*both, holds=lambda: carried(first) == carried(second) == 0)


def cut_listener(server: Any, service: Running) -> None:
    """End the session by which a service hears others, and no other; it is the one that has asked nothing."""
    listens = (
        "from pg_stat_activity a where query in ('select', 'listen ses_ledger')"
        f" and application_name like 'ses-service, process {service.process.pid} on %'"
    )
    writes = "select 1 from pg_locks l where l.pid = a.pid and l.locktype = 'advisory'"
    assert server.sql(f"select count(*), count(*) filter (where exists ({writes})) {listens}") == ["1|0"]
    assert server.sql(f"select pg_terminate_backend(pid) {listens}") == ["t"]


def test_only_the_connection_that_listens_is_lost_and_nothing_is(
    site: Site, pair: tuple[Running, Running]
) -> None:
    first, second = pair
    node, other, comes = Node("n13"), Node("n14"), Node("n15")
    node.announce(first, node.begin(10), [])
    comes.announce(first, comes.begin(5), [])
    other.announce(second, other.begin(4), [])
    everybody = [(node, first), (other, second), (comes, first)]
    speaking(*everybody, holds=lambda: (of_peers(first), of_peers(second)) == (4, 15))
    failures = [metric(service, "ses_database_failures_total") for service in pair]

    def each_is_counted_once() -> bool:
        in_all = sum(len(speaker.open) for speaker, _ in everybody)
        return carried(first) == carried(second) == in_all == own(first) + own(second)

    waited = []
    for number in range(5):
        cut_listener(site.server, second)
        assert of_peers(second) >= 5, "what is known of others stays"
        node.announce(first, node.begin(10), sorted(node.open)[:7])
        other.announce(second, other.begin(3), sorted(other.open)[:2])
        if number == 2:
            comes.move(second)
            everybody[2] = comes, second
        cut_at = time.monotonic()
        speaking(*everybody, holds=each_is_counted_once)
        waited.append(time.monotonic() - cut_at)
        assert (of_peers(first), of_peers(second)) == (own(second), own(first))
    assert min(waited) < KNOWN_AGAIN, waited
    assert [metric(service, "ses_database_failures_total") for service in pair] == failures, (
        "the writers lived on"
    )
    for each, service in everybody:
        each.settle(service)
        assert each.open <= set(placements(service, "open"))
        each.announce(service, [], sorted(each.open))
    speaking(*everybody, holds=lambda: carried(first) == carried(second) == 0)


def test_one_is_killed_under_load_and_nothing_is_lost_or_counted_twice(
    site: Site, pair: tuple[Running, Running]
) -> None:
    first, second = pair
    nodes, lost, stays = [Node("n7"), Node("n8")], Node("n9"), Node("n10")
    lost.announce(first, lost.begin(7), [])
    lost.settle(first)
    stays.announce(second, stays.begin(5), [])
    storms = [threading.Thread(target=node.storm, args=(first,)) for node in nodes]
    for storm in storms:
        storm.start()
    try:
        wait_until(lambda: all(node.answers >= 4 for node in nodes))
    finally:
        first.end(signal.SIGKILL)
        for storm in storms:
            storm.join()
    for node in nodes:
        node.move(second)
        node.settle(second)
    # What a node ended last was perhaps not answered, and is said again.
    is_open = {placement for node in (*nodes, lost, stays) for placement in node.open} - set(
        placements(second, "ended")
    )
    everybody = [(node, second) for node in (*nodes, stays)]

    def all_is_taken_over() -> bool:
        return of_peers(second) == 0 and is_open <= set(placements(second, "open"))

    speaking(*everybody, holds=all_is_taken_over)
    listed = placements(second, "open")
    assert len(listed) == len(set(listed)), "each once"
    ended = set(placements(second, "ended"))
    assert all(node.ended <= ended for node in nodes)
    assert carried(second) == own(second) == len(listed)
    later = site.begin()
    speaking(*everybody, holds=lambda: metric(second, "ses_services_heard") == 1)
    later.wait_ready()
    for node in nodes:
        node.announce(second, [], sorted(node.open)[:5])

    def counts_what_is_there() -> bool:
        return carried(later) == carried(second) == own(second) and own(later) == 0

    speaking(*everybody, holds=counts_what_is_there)


def test_files_of_a_service_that_begins_again_end_though_their_node_speaks_with_another(site: Site) -> None:
    """And though nobody knows of their ends any more."""
    first, second = site.pair()
    node = Node("n13")
    node.announce(first, node.begin(20), [])
    node.settle(first)
    files = set(node.open)
    node.forget(sorted(files)[:15])
    first.end(signal.SIGKILL)
    node.move(second)
    again = site.begin().wait_ready()

    def both_know_what_is_open() -> bool:
        return all(
            files.intersection(placements(service, "open")) == node.open for service in (second, again)
        )

    speaking((node, second), holds=both_know_what_is_open)
    node.announce(second, [], sorted(node.open))
    speaking((node, second), holds=both_know_what_is_open)


def test_who_begins_when_all_others_are_gone_takes_over_what_they_left(site: Site) -> None:
    first, second = site.pair()
    node, other = Node("n11"), Node("n12")
    node.announce(first, node.begin(20), [])
    other.announce(second, other.begin(8), [])
    node.settle(first)
    other.settle(second)
    site.end()
    again = site.begin().wait_ready()
    wait_until(lambda: check_of(again, "database")["ok"])
    assert {*node.open, *other.open} <= set(placements(again, "open"))
