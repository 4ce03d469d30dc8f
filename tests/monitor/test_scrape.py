"""From page to page: what is kept of an element when its target, device or mount comes and goes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import pytest
from smed_monitor.collectors.base import Reply
from smed_monitor.collectors.node_exporter import NodeExporter
from smed_monitor.config.settings import ElementSettings, Target
from smed_monitor.core.errors import CollectorError, UnreachableError
from smed_monitor.core.model import Moment, Outcome, Record
from smed_monitor.core.rates import Windows
from smed_monitor.scraping.scrape import Scraper

Page = Callable[[str], bytes]
WINDOWS = Windows(current=2.0, average=60.0, max_gap=3.0)


@dataclass
class Script:
    """A source that plays back replies and failures."""

    replies: list[Reply | Exception] = field(default_factory=list)

    def read(self) -> Reply:
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    def close(self) -> None:
        pass


class Scripted(NodeExporter):
    """The real collector, reading from a script."""

    def __init__(self, replies: Iterable[Reply | Exception]) -> None:
        super().__init__()
        self.script = Script(list(replies))

    def open(self, _target: Target) -> Script:
        return self.script


def play(
    *replies: tuple[float, bytes | Exception], wall: Callable[[float], float] = lambda at: at + 1.8e9
) -> list[Outcome]:
    """The outcomes of scraping union/b1 at the given monotonic seconds."""
    script = [
        body if isinstance(body, Exception) else Reply(body, Moment(at, wall(at))) for at, body in replies
    ]
    target = Target(name="n1", collector="node_exporter", url="http://n1:9100/metrics")
    element = ElementSettings(id="union/b1", target="n1", mount_point="/srv/qstorman/b1")
    scraper = Scraper(target, [element], Scripted(script), WINDOWS)
    return [scraper.scrape() for _ in replies]


def text(written: float, *, device: str = "loop0", mounted: bool = True, free: float = 1e9) -> bytes:
    lines = f'node_disk_written_bytes_total{{device="{device}"}} {written}\n'
    if mounted:
        lines += (
            f'node_filesystem_avail_bytes{{device="/dev/{device}",mountpoint="/srv/qstorman/b1"}} {free}\n'
        )
    return lines.encode()


def last(outcomes: list[Outcome]) -> Record:
    (record,) = outcomes[-1].records
    return record


def test_two_captured_pages_a_second_apart_give_the_rate_between_them(page: Page) -> None:
    record = last(play((10.0, page("before")), (11.0, page("after-8-MiB"))))
    assert record.write.current == 33_626_112 - 25_226_240
    assert record.write.average == pytest.approx(33_626_112 - 25_226_240)
    assert record.read.current == 2048
    assert record.queue_depth == pytest.approx(0.05)
    assert (record.device, record.free_bytes, record.read_only) == ("loop0", 44_282_880, False)
    assert not record.missing
    assert record.detail == ""


def test_samples_are_as_far_apart_as_the_shorter_of_the_last_two_gaps() -> None:
    late = play(*((at, text(at)) for at in (10, 11, 12.5, 60, 61, 62)))
    intervals = [outcome.records[0].interval for outcome in late]
    assert intervals == [None, 1.0, 1.0, 1.5, 1.0, 1.0]


def test_a_page_that_lacks_an_element_does_not_change_how_far_apart_its_samples_are() -> None:
    gone = play((10, text(1)), (11, text(2)), (12, text(2, mounted=False)), (13, text(3)))
    assert last(gone).interval == 1.0


def test_the_first_page_gives_space_but_no_rates(page: Page) -> None:
    record = last(play((10.0, page("before"))))
    assert record.free_bytes == 52_671_488
    assert (record.write.current, record.write.average, record.queue_depth) == (None, None, None)


def test_a_restarted_exporter_continues_where_the_kernel_counts(page: Page) -> None:
    gone = UnreachableError("cannot be reached: Connection refused")
    outcomes = play((0, text(0)), (1, text(5e6)), (2, gone), (2.5, text(12.5e6)), (3.5, text(17.5e6)))
    assert outcomes[2].error == "cannot be reached: Connection refused"
    assert outcomes[2].reason == "unreachable"
    assert outcomes[2].records == ()
    assert last(outcomes).write.current == pytest.approx(5e6)
    assert last(outcomes).write.average == pytest.approx(5e6)


def test_after_a_reboot_rates_continue_from_the_counters_new_start() -> None:
    outcomes = play((0, text(9e12)), (1, text(9e12 + 4e6)), (60, text(8e6)), (61, text(12e6)))
    rebooted, record = outcomes[2].records[0], last(outcomes)
    assert rebooted.write.current is None
    assert record.write.current == pytest.approx(4e6)
    assert record.write.average is not None
    assert 0 < record.write.average <= 4e6


def test_a_missing_element_has_no_figures_and_says_when_it_was_seen_last() -> None:
    outcomes = play((0, text(0)), (1, text(5e6)), (2, text(6e6, mounted=False)))
    record = last(outcomes)
    assert record.missing
    assert "/srv/qstorman/b1" in record.detail
    assert record.at == Moment(1, 1.8e9 + 1)
    assert (record.write.current, record.write.average, record.free_bytes) == (None, None, None)


def test_an_element_that_comes_back_starts_its_current_rate_afresh() -> None:
    there, gone = (0, text(0)), (2, text(9e9, mounted=False))
    assert last(play(there, (1, text(5e6)), gone, (3, text(9e9)))).write.current is None
    back = play(there, (1, text(5e6)), gone, (3, text(9e9)), (4, text(9e9 + 1e6)))
    assert last(back).write.current == pytest.approx(1e6)


def test_a_path_that_is_lost_takes_no_load_with_it() -> None:
    """Of an NVMe namespace whose paths do the counting: 1 MB/s on one, and 5 TB so far on the other."""

    def page(at: float, *, both: bool) -> bytes:
        counted = {"nvme0n1": 0.0, "nvme0c0n1": 9e12 + at * 1e6} | ({"nvme0c1n1": 5e12} if both else {})
        lines = (
            f'node_disk_written_bytes_total{{device="{name}"}} {value}\n' for name, value in counted.items()
        )
        space = 'node_filesystem_avail_bytes{device="/dev/nvme0n1",mountpoint="/srv/qstorman/b1"} 1e9\n'
        return ("".join(lines) + space).encode()

    outcomes = play(*((at, page(at, both=at < 3)) for at in range(5)))
    steady = pytest.approx(1e6)
    rates = [outcome.records[0].write for outcome in outcomes]
    assert [rate.current for rate in rates] == [None, steady, steady, None, steady]
    assert rates[-1].average == steady
    assert last(outcomes[:3]).device == "nvme0n1 (nvme0c0n1, nvme0c1n1)"


def test_counters_of_another_device_are_not_taken_for_progress() -> None:
    moved = play(
        (0, text(0)), (1, text(5e6)), (2, text(7e12, device="loop5")), (3, text(7e12, device="loop5"))
    )
    assert moved[2].records[0].write.current is None
    assert last(moved).write.current == 0
    assert last(moved).device == "loop5"


@pytest.mark.parametrize(
    ("pages", "blind"),
    [
        ([(0, 5, 1e9), (1, 5, 9e8), (41, 5, 9e8)], True),  # used up since second 1
        ([(0, 5, 1e9), (1, 5, 9e8), (40, 5, 9e8)], False),  # still on the way to the device, maybe
        ([(0, 5, 1e9), (60, 5, 1e9), (61, 5, 9e8)], False),
        ([(0, 5, 1e9), (1, 5, 9e8), (30, 6, 9e8), (50, 6, 9e8), (90, 6, 9e8)], False),
        ([(0, 5, 1e9), (1, 5, 9e8), (41, 5, 9e8), (42, 6, 9e8)], False),
        ([(0, 5, 9e8), (1, 5, 1e9), (41, 5, 1e9)], False),  # given back: nothing was written
        ([(0, 5, 1e9), (1, 5, 1e9 - 1e6), (90, 5, 1e9 - 1e6)], False),
    ],
)
def test_counters_that_stand_still_while_space_is_used_up_are_not_an_idle_disk(
    pages: list[tuple[float, float, float]], blind: bool
) -> None:
    record = last(play(*((at, text(written, free=free)) for at, written, free in pages)))
    assert ("the counters of loop0 stand still" in record.detail) == blind
    assert (record.write.average is None) == blind
    assert record.free_bytes == pages[-1][2]


@pytest.mark.parametrize("step", [-86_400.0, 86_400.0])
def test_a_step_of_the_wall_clock_changes_no_rate(step: float) -> None:
    replies = [(float(second), text(second * 3e6)) for second in range(6)]
    record = last(play(*replies, wall=lambda at: 1.8e9 + at + (step if at >= 3 else 0)))
    assert record.write.current == pytest.approx(3e6)
    assert record.write.average == pytest.approx(3e6)


def test_wrong_content_is_a_failure_of_the_scrape_not_of_the_monitor() -> None:
    (outcome,) = play((0, b"<html>"))
    assert outcome.reason == "content"
    assert "is not node_exporter's page" in outcome.error


def test_a_fault_inside_a_collector_is_reported_as_one() -> None:
    (outcome,) = play((0, ZeroDivisionError("oops")))
    assert outcome.reason == "internal"
    assert "ZeroDivisionError" in outcome.error


def test_every_failure_by_name_has_a_reason_for_the_metrics() -> None:
    reasons = {kind.reason for kind in CollectorError.__subclasses__()}
    assert reasons == {"unreachable", "timeout", "reply", "content"}
