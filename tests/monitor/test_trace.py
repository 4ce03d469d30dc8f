"""Reading by trace says what reading says, until a value that decided something changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from smed_monitor.collectors.base import Collector, Reply
from smed_monitor.collectors.lustre_hpe import LustreHpe
from smed_monitor.collectors.lustre_whamcloud import LustreWhamcloud
from smed_monitor.collectors.node_exporter import NodeExporter
from smed_monitor.config.settings import ElementSettings, Target
from smed_monitor.core.model import Moment, Reading, Record
from smed_monitor.core.rates import Windows
from smed_monitor.core.readings import numbers_of, stacked
from smed_monitor.core.trace import Decisions, Trace, traced
from smed_monitor.scraping.scrape import Scraper

finite = st.floats(min_value=-1e15, max_value=1e15)


@given(st.lists(finite, min_size=3, max_size=3), st.lists(finite, min_size=3, max_size=3))
def test_sums_and_factors_follow_the_values(first: list[float], then: list[float]) -> None:
    def read(a: float, b: float, c: float) -> Reading:
        return Reading("d", a, (a + b) * 1024.0, operations=b / 1e6 + c, free_bytes=7.0, size_bytes=None)

    decisions = Decisions()
    trace = Trace([read(*traced(first, decisions))], decisions)
    for values in (first, then):
        found = trace.readings(values)
        assert found is not None
        np.testing.assert_allclose(found.numbers, stacked([read(*values)]).numbers, rtol=1e-9, atol=1e-3)


def test_a_value_asked_whether_it_is_zero_may_move_but_not_become_zero() -> None:
    decisions = Decisions()
    (flag,) = traced([1.0], decisions)
    trace = Trace([Reading("d", free_bytes=3.0 if flag else 4.0)], decisions)
    assert trace.readings([2.0]) is not None
    assert trace.readings([0.0]) is None


@pytest.mark.parametrize(
    "made",
    [
        lambda x: x - 1,
        lambda x: 1 - x,
        lambda x: x + 1.5,
        lambda x: 2 * x,
        lambda x: x * x,
        lambda x: 1 / x,
        lambda x: -x,
        lambda x: abs(x),
        lambda x: x > 1,
        lambda x: x == 2,
        lambda x: float(x),
        lambda x: int(x),
        lambda x: round(x),
        lambda x: {2.0: 5.0}.get(x, 6.0),
        lambda x: float(f"{x}"),
    ],
)
def test_whatever_else_is_made_of_a_value_holds_only_for_that_value(
    made: Callable[[float], float],
) -> None:
    decisions = Decisions()
    (value,) = traced([2.0], decisions)
    trace = Trace([Reading("d", read_bytes=float(made(value)))], decisions)
    found = trace.readings([2.0])
    assert found is not None
    assert found.numbers[0, 0] == float(made(2.0))
    assert trace.readings([3.0]) is None


NODE = """\
node_disk_read_bytes_total{device="sda"} %d
node_disk_reads_completed_total{device="sda"} %d
node_disk_writes_completed_total{device="sda"} %d
node_filesystem_avail_bytes{device="/dev/sda",mountpoint="/e/1"} %d
node_filesystem_readonly{device="/dev/sda",mountpoint="/e/1"} %d
node_filesystem_device_error{device="/dev/sda",mountpoint="/e/1"} %d
"""
HPE = """\
lustre_read_bytes_total{component="ost",target="fs-OST0000"} %d
lustre_available_kilobytes{component="ost",target="fs-OST0000"} %d
lustre_read_samples_total{component="ost",target="fs-OST0000"} %d
lustre_capacity_kilobytes{component="ost",target="fs-OST0000"} %d
lustre_degraded{component="ost",target="fs-OST0000"} %d
lustre_inodes_free{component="ost",target="fs-OST0000"} %d
"""
MOUNTED = ElementSettings(id="u/a", target="n1", mount_point="/e/1")
OST = ElementSettings(id="u/a", target="n1", ost="fs-OST0000")


class Playing:
    """A source that plays back pages, one a second."""

    def __init__(self, pages: list[str]) -> None:
        self._pages = list(enumerate(pages))

    def read(self) -> Reply:
        second, page = self._pages.pop(0)
        return Reply(page.encode(), Moment(float(second), 1.8e9 + second))

    def close(self) -> None:
        pass


numbers = st.lists(st.integers(0, 10**6), min_size=4, max_size=4)
flags = st.tuples(st.sampled_from([0, 0, 0, 1]), st.sampled_from([0, 0, 0, 1]))


@pytest.mark.parametrize(
    ("collector", "element", "page"),
    [(NodeExporter, MOUNTED, NODE), (LustreHpe, OST, HPE), (LustreWhamcloud, OST, HPE)],
)
@given(seconds=st.lists(st.tuples(numbers, flags), min_size=1, max_size=8))
def test_pages_one_after_the_other_give_the_records_of_pages_read_afresh(
    collector: type[Collector[object]],
    element: ElementSettings,
    page: str,
    seconds: list[tuple[list[int], tuple[int, int]]],
) -> None:
    bodies = [page % (*values, *marks) for values, marks in seconds]
    target = Target(name="n1", collector="x", url="http://n1/")

    def records(*, afresh: bool) -> list[Record]:
        scraper = Scraper(target, [element], collector(), Windows(2.0, 60.0, 3.0))
        scraper._source = Playing(bodies)
        found = []
        for _ in bodies:
            if afresh:
                scraper._parser = collector().parser()
            outcome = scraper.scrape()
            assert not outcome.error
            found += [replace(each) for each in outcome.records]
        return found

    assert records(afresh=False) == records(afresh=True)


def test_every_number_of_a_reading_has_its_column() -> None:
    named = {"device", "read_only", "degraded", "no_create", "note", "server_queue"}
    fields = [name for name in Reading.__slots__ if name not in named]
    assert len(numbers_of(Reading("d"))) == len(fields) + 2
    for number, name in enumerate(fields):
        row = numbers_of(replace(Reading("d"), **{name: 1.0 + number}))  # type: ignore[arg-type]
        assert [each for each in row if each is not None] == [1.0 + number]
