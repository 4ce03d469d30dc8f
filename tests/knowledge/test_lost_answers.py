"""A change of the site whose answer was lost is found out, and made once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ses_service.knowledge.errors import AnswerLostError, StoreUnavailableError
from ses_service.knowledge.exchange import exchange, plans
from ses_service.knowledge.exchange.exchange import Exchange
from ses_service.knowledge.exchange.incoming import Mode
from ses_service.knowledge.knowledge_base import KnowledgeBase
from ses_service.knowledge.store.store import HttpStore

SITE = (Path(__file__).resolve().parents[2] / "ontology/examples/union-site.ttl").read_text()
FASTER = SITE.replace("90.0e0", "91.0e0")
assert FASTER != SITE


class Losing:
    """Loses the answers to requests of one sort, ``after`` the store had them or ``before``."""

    def __init__(self, store: HttpStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left: dict[tuple[str, str], int] = {}
        for sort in ("update", "put_graph", "select"):
            monkeypatch.setattr(store, sort, self._losing(sort, getattr(store, sort)))

    def lose(self, sort: str, when: str, count: int = 2) -> None:
        self.left = {(sort, when): count}

    def _losing(self, sort: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*asked: Any, **how: Any) -> Any:
            if self._takes(sort, "before"):
                raise StoreUnavailableError("nobody listens")
            answer = real(*asked, **how)
            if self._takes(sort, "after"):
                raise AnswerLostError("the connection broke")
            return answer

        return call

    def _takes(self, sort: str, when: str) -> bool:
        left = self.left.get((sort, when), 0)
        self.left[sort, when] = left - 1
        return left > 0


@pytest.fixture
def losing(store: HttpStore, monkeypatch: pytest.MonkeyPatch) -> Losing:
    return Losing(store, monkeypatch)


@pytest.fixture
def changing(knowledge: KnowledgeBase, losing: Losing) -> Exchange:
    """The exchange of a store that holds the site as change 1."""
    knowledge.load_ontology()
    site_exchange = knowledge.exchange
    assert site_exchange.apply(planned(site_exchange, SITE)) == 1
    return site_exchange


def planned(site_exchange: Exchange, text: str) -> plans.Plan:
    return site_exchange.plan_import(text, "site.ttl", Mode.REPLACE, author="root", now=1.0)


def fastest(knowledge: KnowledgeBase) -> float:
    return max(element.nominal_write_rate or 0.0 for element in knowledge.environment().elements)


def numbers(site_exchange: Exchange) -> list[int]:
    return [change.number for change in site_exchange.changes()]


@pytest.mark.parametrize("copied", [False, True], ids=["small", "copied from graphs"])
@pytest.mark.parametrize(
    ("sort", "when"),
    [("update", "after"), ("update", "before"), ("select", "before"), ("put_graph", "after")],
)
def test_a_lost_answer_is_found_out_and_not_doubled(
    changing: Exchange,
    knowledge: KnowledgeBase,
    losing: Losing,
    monkeypatch: pytest.MonkeyPatch,
    sort: str,
    when: str,
    copied: bool,
) -> None:
    if copied:
        monkeypatch.setattr(plans, "_IN_REQUEST", 0)
    plan = planned(changing, FASTER)
    losing.lose(sort, when)
    assert changing.apply(plan) == 2
    assert numbers(changing) == [2, 1]
    assert fastest(knowledge) == 91e6
    assert not planned(changing, FASTER).changes_anything


@pytest.mark.usefixtures("_gives_up_at_once")
def test_a_change_that_may_have_been_made_says_so_and_is_found_when_sent_again(
    changing: Exchange, knowledge: KnowledgeBase, losing: Losing
) -> None:
    plan = planned(changing, FASTER)
    losing.lose("update", "after", 10**6)
    with pytest.raises(AnswerLostError, match="send the same again"):
        changing.apply(plan)
    losing.lose("update", "after", 0)
    assert changing.apply(planned(changing, FASTER)) is None, "it was made already"
    assert numbers(changing) == [2, 1]


@pytest.mark.usefixtures("_gives_up_at_once")
def test_a_change_that_was_not_made_says_nothing_of_that(
    changing: Exchange, knowledge: KnowledgeBase, losing: Losing
) -> None:
    plan = planned(changing, FASTER)
    losing.lose("update", "before", 10**6)
    with pytest.raises(StoreUnavailableError) as failed:
        changing.apply(plan)
    assert not isinstance(failed.value, AnswerLostError)
    losing.lose("update", "before", 0)
    assert numbers(changing) == [1]
    assert changing.apply(plan) == 2, "the plan still holds"


@pytest.mark.usefixtures("_gives_up_at_once")
def test_a_change_that_cannot_be_read_back_may_have_been_made(changing: Exchange, losing: Losing) -> None:
    plan = planned(changing, FASTER)
    losing.lose("select", "before", 10**6)
    with pytest.raises(AnswerLostError):
        changing.apply(plan)


def test_a_change_is_made_even_if_what_it_was_copied_from_stays(
    changing: Exchange, losing: Losing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "_IN_REQUEST", 0)
    plan = planned(changing, FASTER)
    real = exchange.history.number

    def numbered(*asked: Any) -> int | None:
        losing.lose("put_graph", "before", 10**6)
        return real(*asked)

    monkeypatch.setattr(exchange.history, "number", numbered)
    assert changing.apply(plan) == 2
    losing.lose("put_graph", "before", 0)
    assert changing.apply(planned(changing, SITE)) == 3, "what stayed is replaced"


def test_an_undo_whose_answer_was_lost_is_made_once(
    changing: Exchange, knowledge: KnowledgeBase, losing: Losing
) -> None:
    changing.apply(planned(changing, FASTER))
    plan = changing.plan_undo(2, author="root", now=2.0)
    losing.lose("update", "after")
    assert changing.apply(plan) == 3
    assert fastest(knowledge) == 90e6
