"""Promises of a service whose store is away: it decides from what it knows, tells its age, loses nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
from ses_service.api.app import create_app
from ses_service.knowledge.errors import StoreUnavailableError
from ses_service.knowledge.knowledge_base import KnowledgeBase
from ses_service.knowledge.last_known import LastKnown
from ses_service.knowledge.store.store import HttpStore
from ses_service.knowledge.terms import SITE_GRAPH
from ses_service.model.entities import Kind, Level, Requirement, RequirementSet
from ses_service.process.runtime import Runtime, ServiceConfig, runtime

AWAY = "the knowledge base at http://kb.example:3030/kb/sparql does not answer: refused"
SELECTION = {"subject": {"user": "alice"}}
STATED = [{"kind": "current-write-rate", "minimum": 20, "unit": "MB/s"}]
SET = "/v1/requirements/user/alice"


class Switched(HttpStore):
    """A store with a switch, that notes every question."""

    away = False
    asked: list[str]

    def _request(self, *given: Any) -> bytes:
        self.asked.append(given[2].decode())
        if self.away:
            raise StoreUnavailableError(AWAY)
        return super()._request(*given)


@pytest.fixture
def switched(store: HttpStore, union_site: str) -> Switched:
    """A store that holds a site and one requirement."""
    client = Switched("", "", "")
    client.__dict__ = {**store.__dict__, "asked": []}
    knowledge = KnowledgeBase(client)
    knowledge.load_site(union_site, source="site")
    knowledge.replace_requirements(
        RequirementSet(Level.USER, "alice", (Requirement(Kind.CURRENT_WRITE_RATE, 10e6),)),
        author="alice",
        now=1.0,
    )
    return client


class Service:
    """A service in this process, on one store and one state directory."""

    def __init__(self, store: HttpStore, state: Path, now: float = 1000.0) -> None:
        self.now = now
        knowledge = KnowledgeBase(store, LastKnown(state / "site.json"))
        config = ServiceConfig(knowledge=knowledge, trust_loopback=True, clock=lambda: self.now)
        self.app = create_app(config)
        self.client = self.app.test_client()
        self.runtime: Runtime = runtime(self.app)
        self.site_manager = self.runtime.site_manager
        self.site_manager.step()


def test_a_thousand_selections_ask_the_store_nothing(switched: Switched, tmp_path: Path) -> None:
    service = Service(switched, tmp_path)
    switched.asked.clear()
    for _ in range(1000):
        assert service.client.post("/v1/selections", json=SELECTION).status_code == 200
    assert switched.asked == []
    for _ in range(3):
        service.site_manager.step()
    assert len(switched.asked) == 3
    assert len(set(switched.asked)) == 1  # only whether anything changed


def test_a_changed_requirement_does_not_have_the_site_read_again(switched: Switched, tmp_path: Path) -> None:
    service = Service(switched, tmp_path)
    table = service.runtime.state._table
    other = KnowledgeBase(switched)
    for bound in (20e6, 30e6):
        other.replace_requirements(
            RequirementSet(Level.USER, "alice", (Requirement(Kind.CURRENT_WRITE_RATE, bound),)),
            author="alice",
            now=1.0,
        )
        switched.asked.clear()
        service.site_manager.step()
        assert len(switched.asked) == 3  # whether anything changed, of which site, and the requirements
        assert service.client.get(SET).get_json()["requirements"][0]["minimum"] == bound / 1e6
        assert service.runtime.state._table is table
    plan = other.exchange.plan_undo(4, author="alice", now=2.0)
    other.exchange.apply(plan)
    switched.asked.clear()
    service.site_manager.step()
    assert len(switched.asked) == 3
    assert service.client.get(SET).get_json()["requirements"][0]["minimum"] == 20


def test_a_changed_site_is_read_again(switched: Switched, tmp_path: Path, union_site: str) -> None:
    service = Service(switched, tmp_path)
    other = KnowledgeBase(switched)
    other.load_site(union_site.replace("90.0e0", "91.0e0"), source="site")
    service.site_manager.step()
    assert 91e6 in {element.nominal_write_rate for element in service.runtime.state.environment.elements}
    other.exchange.apply(other.exchange.plan_undo(3, author="alice", now=2.0))
    service.site_manager.step()
    assert 91e6 not in {element.nominal_write_rate for element in service.runtime.state.environment.elements}


def test_a_site_nobody_counts_the_changes_of_is_read_each_time(store: HttpStore, union_site: str) -> None:
    knowledge = KnowledgeBase(store)
    for rate in ("90.0e0", "91.0e0"):
        store.put_graph(SITE_GRAPH, union_site.replace("90.0e0", rate))
        read = {element.nominal_write_rate for element in knowledge.environment().elements}
        assert float(rate) * 1e6 in read


def test_the_last_known_site_decides_while_the_store_is_away(switched: Switched, tmp_path: Path) -> None:
    service = Service(switched, tmp_path)
    switched.away = True
    service.now += 90
    service.site_manager.step()
    answer = service.client.post("/v1/selections", json=SELECTION).get_json()
    assert answer["requirements"][0]["level"] == "user"
    assert any("90 s old" in note and "kb.example" in note for note in answer["notes"])
    base = service.client.get("/v1/elements").get_json()["knowledge_base"]
    assert (base["reachable"], base["age_seconds"]) == (False, 90)


@pytest.mark.usefixtures("_gives_up_at_once")
def test_a_write_while_the_store_is_away_fails_clearly_and_loses_nothing(
    switched: Switched, tmp_path: Path
) -> None:
    service = Service(switched, tmp_path)
    before = service.client.get(SET).get_json()
    switched.away = True
    answer = service.client.put(SET, json={"requirements": STATED})
    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"]) > 0
    assert "http://kb.example:3030/kb" in answer.get_json()["detail"]
    assert service.client.get(SET).get_json() == before  # nor is it used
    switched.away = False
    service.site_manager.step()
    assert service.client.get(SET).get_json() == before
    assert service.client.put(SET, json={"requirements": STATED}).status_code == 200
    assert service.client.get(SET).get_json()["revision"] == before["revision"] + 1


def test_a_start_without_the_store_uses_what_was_read_before(switched: Switched, tmp_path: Path) -> None:
    Service(switched, tmp_path, now=1000.0)
    assert (tmp_path / "site.json").stat().st_mode & 0o077 == 0
    switched.away = True
    later = Service(switched, tmp_path, now=4600.0)
    answer = later.client.post("/v1/selections", json=SELECTION).get_json()
    assert answer["requirements"][0]["level"] == "user"
    assert any("3600 s old" in note for note in answer["notes"])
    assert len(later.client.get("/v1/elements").get_json()["elements"]) == 8
    switched.away = False
    KnowledgeBase(switched).replace_requirements(RequirementSet(Level.USER, "alice"), author="alice", now=1.0)
    later.site_manager.step()
    base = later.client.get("/v1/elements").get_json()["knowledge_base"]
    assert (base["reachable"], base["age_seconds"]) == (True, 0)
    assert later.client.get(SET).get_json()["requirements"] == []


@pytest.mark.parametrize("harm", ["nothing", "cut off", "not JSON", "other questions", "not a reading"])
def test_a_copy_that_cannot_be_used_is_not(switched: Switched, tmp_path: Path, harm: str) -> None:
    Service(switched, tmp_path)
    copy = tmp_path / "site.json"
    text = copy.read_text()
    held = json.loads(text)
    copy.write_text(
        {
            "nothing": "",
            "cut off": text[: len(text) // 2],
            "not JSON": "\x00" * 500,
            "other questions": json.dumps({**held, "answers": {"SELECT ?x {}": []}}),
            "not a reading": "[1]",
        }[harm]
    )
    switched.away = True
    later = Service(switched, tmp_path)
    assert later.client.post("/v1/selections", json=SELECTION).status_code == 503


def test_a_copy_that_cannot_be_written_does_not_matter(switched: Switched, tmp_path: Path) -> None:
    service = Service(switched, tmp_path / "missing")
    assert service.client.post("/v1/selections", json=SELECTION).status_code == 200


def test_what_changes_is_kept_again(switched: Switched, tmp_path: Path) -> None:
    service = Service(switched, tmp_path)
    assert service.client.put(SET, json={"requirements": STATED}).status_code == 200
    service.site_manager.step()
    recalled = LastKnown(tmp_path / "site.json").recall()
    assert recalled is not None
    assert recalled.sets == KnowledgeBase(switched).requirement_sets()
    assert recalled.environment == KnowledgeBase(switched).environment()
