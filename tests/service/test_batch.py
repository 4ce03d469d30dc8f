"""Batches booked in parts: the choices of one go, and others between the parts."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any

import pytest
from generated_sites import build, requirements, sites
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ses_service import batch as batches
from ses_service.batch import Batch
from ses_service.beside import Beside
from ses_service.edge import Edge
from ses_service.ids import RandomIds
from ses_service.model import Element, Requirement
from ses_service.placement import EndReason
from ses_service.selection import deck
from ses_service.standing import Kept

Site = Any


@pytest.fixture
def parts_of_three(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MOST_AT_ONCE", 3)
    monkeypatch.setattr(batches, "MOST_AHEAD", 7)


def batch_of(count: int, question: Any) -> Batch:
    return Batch(question, question, None, count, 60.0, False, RandomIds())


def book(site: Site, batch: Batch, beside: Beside | None = None) -> bool:
    return batch.book(site.view, site.ledger, site.NOW, site.policies, Kept(), beside)


def names(batch: Batch) -> list[str]:
    return [one.element.label for one in batch.placed]


def in_one_go(site: Site, count: int, question: Any) -> Batch:
    whole = batch_of(count, question)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(batches, "MOST_AT_ONCE", count)
        patched.setattr(batches, "MOST_AHEAD", count)
        assert not book(site, whole)
    return whole


@given(sites, requirements, st.integers(1, 25), st.none() | st.sampled_from([0.0, 3e9, 2e11]))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.usefixtures("parts_of_three")
def test_parts_choose_what_one_go_chooses(
    site: Site, described: list[Any], wanted: list[Requirement], count: int, size: float | None
) -> None:
    in_parts, together = (build(site, described) for _ in range(2))
    question = site.question(*wanted, expected_bytes=size)
    batch = batch_of(count, question)
    goes = 1
    while book(in_parts, batch):
        goes += 1
    assert names(batch) == names(in_one_go(together, count, question))
    goes -= count > 3  # the first of several goes books nothing
    assert 3 * (goes - 1) <= len(batch.placed) <= 3 * goes
    assert [(one.turn, one.turns) for one in batch.placed] == [
        (turn, count) for turn in range(1, len(batch.placed) + 1)
    ]


@pytest.mark.usefixtures("parts_of_three")
def test_all_files_of_a_batch_have_as_many_stripes_as_the_first(site: Site) -> None:
    def targets() -> Any:
        made = site(*(site.element(f"lustre/{n}", target=str(n), server=f"o{n // 2}") for n in range(24)))
        system = made.environment.systems["lustre"]
        made.environment.systems["lustre"] = type(system)("lustre", "urn:lustre", "lustre", "lustre", "/mnt")
        return made.see_all()

    question = site.question(site.write(250), expected_bytes=10e9, limit=10)
    in_parts, together = targets(), targets()
    batch = batch_of(4, question)
    while book(in_parts, batch):
        pass
    whole = in_one_go(together, 4, question)
    assert {one.stripe_count for one in batch.placed} == {3}
    assert [one.stripes for one in batch.placed] == [one.stripes for one in whole.placed]


@pytest.mark.usefixtures("parts_of_three")
def test_a_part_knows_what_others_booked_since_the_part_before(site: Site) -> None:
    equal = site.equal(6).see_all()
    batch = batch_of(6, site.question())
    assert book(equal, batch)
    assert not batch.placed
    assert book(equal, batch)
    others = sorted({f"b{n}" for n in range(6)} - set(names(batch)))
    equal.carry(others[0], at=site.NOW)
    assert not book(equal, batch)
    assert set(names(batch)[3:5]) == set(others[1:])
    assert names(batch)[5] not in others


@pytest.mark.usefixtures("parts_of_three")
def test_all_is_ranked_again_only_when_somebody_else_booked(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid_out: list[int] = []

    def counting(*given: Any, **more: Any) -> Any:
        laid_out.append(given[4])
        return deck(*given, **more)

    monkeypatch.setattr(batches, "deck", counting)
    equal, kept = site.equal(6).see_all(), Kept()
    view, own = equal.view, batch_of(7, site.question())

    def book_next(batch: Batch) -> bool:
        return batch.book(view, equal.ledger, site.NOW, equal.policies, kept, None)

    while book_next(own):
        for placed in own.placed[:1]:
            equal.ledger.end(placed.placement_id, EndReason.CLOSED, site.NOW)
    assert laid_out == [7], "what ended makes no place worse"
    other = batch_of(7, site.question())
    assert book_next(other)
    assert book_next(other)
    equal.ledger.book(equal.placement(equal.environment.elements[0]))
    assert book_next(other)
    assert not book_next(other)
    assert laid_out == [7, 7, 4]


@pytest.mark.usefixtures("parts_of_three")
def test_a_batch_ends_when_a_part_fills_the_last_element(site: Site) -> None:
    full = site(site.element("b0", capacity_bytes=31e9)).see_all(free=31)
    batch = batch_of(9, site.question(expected_bytes=10e9))
    assert book(full, batch)
    assert book(full, batch)
    assert not book(full, batch)
    assert names(batch) == ["b0"] * 3


@pytest.mark.usefixtures("parts_of_three")
def test_beside_others_the_parts_of_a_batch_take_different_elements(site: Site) -> None:
    equal = site.equal(64).see_all()
    batch = batch_of(12, site.question())
    while book(equal, batch, Beside(20.0, 0.25)):
        pass
    assert max(Counter(names(batch)).values()) == 1


@pytest.mark.usefixtures("parts_of_three")
def test_a_size_of_the_history_that_fits_nowhere_is_left_out_for_the_whole_batch(
    make_service: Any, site: Site, clock: Any
) -> None:
    element: Element = site.element("b0", capacity_bytes=20e9)
    service = make_service(site(element).environment, clock).refresh()
    desk = service.runtime.desk
    asked = {"subject": {"user": "alice"}, "path": "/x/a.dat"}
    first = service.post("/v1/placements", asked).get_json()["placements"][0]["placement_id"]
    service.post(f"/v1/placements/{first}/end", {"reason": "closed", "bytes_written": 30e9})
    desk.books.learn()
    placed = service.post("/v1/placements", {**asked, "count": 7}).get_json()["placements"]
    assert [one["expected_bytes"] for one in placed] == [None] * 7


def test_a_large_batch_lets_others_go_first(service: Any) -> None:
    order: list[str] = []

    async def one(edge: Edge, name: str, path: str, body: Any) -> None:
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": json.dumps(body).encode()}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "query_string": b"",
            "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
            "client": ("127.0.0.1", 40000),
            "server": ("127.0.0.1", 8630),
        }
        await edge(scope, receive, send)
        assert sent[0]["status"] in (200, 201)
        order.append(name)

    async def all_at_once() -> None:
        edge = Edge(service.app)
        who = {"subject": {"user": "alice"}}
        await asyncio.gather(
            one(edge, "batch", "/v1/placements", {**who, "count": 1024}),
            *(one(edge, "selection", "/v1/selections", who) for _ in range(3)),
        )
        edge.close()

    asyncio.run(all_at_once())
    assert order == ["selection"] * 3 + ["batch"]
    assert service.runtime.desk.open_placements == 1024
