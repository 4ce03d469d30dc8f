"""The site manager: reads again what changed, keeps the last while the knowledge base is away."""

import threading
from dataclasses import replace
from typing import Any

import pytest
from ses_service.knowledge.errors import InvalidDescriptionError, KnowledgeBaseError, StoreUnavailableError
from ses_service.model.entities import Level
from ses_service.threads.loop import Loop

Service = Any


def test_nothing_is_read_again_while_the_revision_stays(service: Service) -> None:
    for _ in range(5):
        service.runtime.site_manager.refresh()
    assert service.knowledge.readings == 1


def test_a_changed_site_is_used_and_open_placements_stay(service: Service, site: Any) -> None:
    service.open(element="union/b0")
    service.knowledge.site = replace(
        service.knowledge.site, elements=(site.element("b9"), *service.knowledge.site.elements)
    )
    service.knowledge.changes += 1
    service.runtime.site_manager.refresh()
    listed = service.get("/v1/elements").get_json()["elements"]
    assert {element["id"]: element["open_placements"] for element in listed} == {
        "union/b9": 0,
        "union/b0": 1,
        "union/b1": 0,
        "union/b2": 0,
    }


def test_requirements_changed_elsewhere_are_noticed(service: Service, site: Any) -> None:
    service.knowledge.put(Level.SITE, "default", site.write(3))
    service.runtime.site_manager.refresh()
    body = service.get("/v1/requirements/effective?user=anyone").get_json()
    assert body["requirements"][0]["level"] == "site"


def test_what_was_read_stays_in_use_while_the_knowledge_base_is_away(service: Service, clock: Any) -> None:
    service.knowledge.broken = StoreUnavailableError("connection refused")
    clock.time += 30
    assert service.runtime.site_manager.step() > 0
    body = service.get("/v1/elements").get_json()
    assert len(body["elements"]) == 3
    assert body["knowledge_base"] == {
        "url": "memory:",
        "reachable": False,
        "age_seconds": 30,
        "revision": "0",
    }
    service.knowledge.broken = None
    service.runtime.site_manager.step()
    assert service.get("/v1/elements").get_json()["knowledge_base"]["reachable"]


def test_preparation_runs_until_it_succeeds_and_then_never_again(serve: Any) -> None:
    outcomes: list[Exception | None] = [StoreUnavailableError("not up yet"), None]
    tried: list[int] = []

    def prepare() -> None:
        tried.append(1)
        outcome = outcomes[len(tried) - 1]
        if outcome is not None:
            raise outcome

    service = serve(1, prepare=prepare)
    for _ in range(4):
        service.runtime.site_manager.step()
    assert len(tried) == 2
    assert service.get("/readyz").status_code == 200


def test_a_wrong_site_description_is_told_to_who_starts_the_service(serve: Any) -> None:
    def prepare() -> None:
        raise InvalidDescriptionError("site.ttl", ["element b1 has no target"])

    service = serve(1, prepare=prepare)
    with pytest.raises(InvalidDescriptionError, match="no target"):
        service.runtime.site_manager.refresh()


def test_a_service_without_a_knowledge_base_says_so(serve: Any) -> None:
    service = serve(1, knowledge=None)
    with pytest.raises(KnowledgeBaseError, match="no knowledge base"):
        service.runtime.site_manager.refresh()
    service.put("/v1/requirements/user/a", {"requirements": []}, code=503)


def test_a_thread_survives_an_error_nobody_expected() -> None:
    calls: list[int] = []
    twice = threading.Event()

    def step() -> float:
        calls.append(1)
        if len(calls) > 1:
            twice.set()
        raise RuntimeError("unexpected")

    loop = Loop("test", step)
    loop.start()
    assert twice.wait(60)
    loop.stop()
