"""Targets are scraped in an even rhythm, and none of them can hold up the others."""

import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any, cast

import pytest
from patience import wait_until
from smed_monitor.config.settings import Target
from smed_monitor.core.model import Outcome
from smed_monitor.scraping.scheduler import Scheduler, first_due, next_due
from smed_monitor.scraping.scrape import Scraper


class FakeScraper:
    """Counts its scrapes; while ``hang`` is set each of them lasts until it is cleared."""

    def __init__(self, name: str, *, hangs: bool = False) -> None:
        self.target = Target(name=name, collector="node_exporter", url="http://n/metrics")
        self.go_on = threading.Event()
        self.reason = ""
        self.under_way = 0
        self.most_under_way = 0
        if not hangs:
            self.go_on.set()

    def ask(self) -> int | None:
        return None

    def scrape(self) -> Outcome:
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        self.go_on.wait()
        self.under_way -= 1
        return Outcome(self.target.name, 0.0, reason=self.reason, error=self.reason)

    def close(self) -> None:
        pass


class Harness:
    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self.scrapers: list[FakeScraper] = []
        self.scheduler: Scheduler | None = None
        self.refuses = ""

    def start(self, *scrapers: FakeScraper, interval: float = 0.02, concurrent: int = 4) -> None:
        self.scrapers = list(scrapers)
        self.scheduler = Scheduler(
            cast("list[Scraper]", scrapers),
            interval_seconds=interval,
            concurrent_scrapes=concurrent,
            publish=self._publish,
            skip=lambda name: self.skipped.update([name]),
        )
        self.scheduler.start()

    def stop(self) -> None:
        for scraper in self.scrapers:
            scraper.go_on.set()
        if self.scheduler:
            self.scheduler.stop()

    def _publish(self, outcome: Outcome) -> None:
        self.outcomes[outcome.target] += 1
        if outcome.target == self.refuses:
            raise RuntimeError("no room")


@pytest.fixture
def harness() -> Iterator[Harness]:
    harness = Harness()
    yield harness
    harness.stop()


@pytest.mark.parametrize(
    ("due", "moment", "expected"),
    [(10.0, 10.0, 11.0), (10.0, 10.3, 11.0), (10.0, 11.0, 11.0), (10.0, 14.2, 15.0)],
)
def test_turns_stay_on_their_grid_and_late_ones_are_not_made_up_for(
    due: float, moment: float, expected: float
) -> None:
    assert next_due(due, moment, 1.0) == expected


def test_targets_are_spread_evenly_over_the_interval() -> None:
    assert first_due(100.0, 2.0, 4) == [100.0, 100.5, 101.0, 101.5]


def test_every_target_is_scraped_again_and_again(harness: Harness) -> None:
    harness.start(*(FakeScraper(name) for name in "abc"))
    wait_until(lambda: all(harness.outcomes[name] >= 5 for name in "abc"), "five scrapes of each")


def test_a_hanging_target_does_not_hold_up_the_others(harness: Harness) -> None:
    stuck = FakeScraper("stuck", hangs=True)
    harness.start(stuck, FakeScraper("a"), FakeScraper("b"))
    wait_until(lambda: min(harness.outcomes["a"], harness.outcomes["b"]) >= 20, "20 scrapes beside it")
    assert harness.outcomes["stuck"] == 0
    assert stuck.most_under_way == 1
    assert harness.skipped["stuck"] > 0


def test_however_many_targets_time_out_the_others_keep_half_of_the_pool(harness: Harness) -> None:
    stuck = [FakeScraper(f"stuck{number}") for number in range(12)]
    for scraper in stuck:
        scraper.reason = "timeout"
    harness.start(*stuck, FakeScraper("a"), FakeScraper("b"), concurrent=4)
    wait_until(lambda: all(harness.outcomes[s.target.name] for s in stuck), "all have timed out once")
    for scraper in stuck:
        scraper.go_on.clear()
    wait_until(lambda: sum(s.under_way for s in stuck) == 2, "they hold their half")
    before = harness.outcomes["a"]
    wait_until(lambda: harness.outcomes["a"] >= before + 20, "20 more scrapes beside them")
    assert sum(s.under_way for s in stuck) == 2


def test_a_target_that_hung_is_scraped_as_before_once_it_answers(harness: Harness) -> None:
    stuck = FakeScraper("stuck", hangs=True)
    stuck.reason = "timeout"
    harness.start(stuck, FakeScraper("a"))
    wait_until(lambda: harness.skipped["stuck"] > 2, "turns are skipped")
    stuck.reason = ""
    stuck.go_on.set()
    wait_until(lambda: harness.outcomes["stuck"] >= 10, "it is scraped again")


def test_stopping_ends_the_threads(harness: Harness) -> None:
    harness.start(FakeScraper("a"))
    scheduler = cast("Any", harness.scheduler)
    wait_until(lambda: harness.outcomes["a"] > 2, "it runs")
    assert scheduler.running
    harness.stop()
    assert not scheduler.running
    count = harness.outcomes["a"]
    assert not [t for t in threading.enumerate() if t.name.startswith(("scrape", "scheduler"))]
    assert harness.outcomes["a"] == count


def test_an_outcome_nobody_could_take_does_not_end_the_scraping(harness: Harness) -> None:
    harness.refuses = "a"
    harness.start(FakeScraper("a"), FakeScraper("b"), concurrent=2)
    wait_until(lambda: harness.outcomes["a"] >= 5, "more refusals than there are threads")
    before = harness.outcomes["b"]
    wait_until(lambda: harness.outcomes["b"] >= before + 5, "the other is scraped on")
