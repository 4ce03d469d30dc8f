"""A page read by the layout of the one before says what it says by itself, whatever changed."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from smed_monitor.collectors import exposition
from smed_monitor.collectors.base import Collector
from smed_monitor.collectors.layout import Layout, Pages
from smed_monitor.collectors.lustre_hpe import HPE
from smed_monitor.collectors.lustre_series import LustreExporter
from smed_monitor.collectors.node_exporter import IN_FLIGHT, READ, SIZE, NodeExporter, NodeSample, _form
from smed_monitor.core.errors import ContentError

DISK = b'node_disk_read_bytes_total{device="sd%c"} %d\n'
SPACE = b'node_filesystem_size_bytes{device="/dev/sda",fstype="xfs",mountpoint="%s"} %d\n'
FIRST = b"# HELP node_disk_read_bytes_total Bytes read.\ngo_threads 7\n" + b"".join(
    (DISK % (b"a", 5), DISK % (b"b", 6), SPACE % (b"/a b", 1000), SPACE % (b"/c", 2000))
)


def said(parse: Callable[[bytes], Any], body: bytes) -> Any:
    """What ``parse`` makes of ``body``: a sample or the words of its refusal."""
    try:
        return parse(body)
    except ContentError as error:
        return str(error)


def both(collector: Collector[Any], *pages: bytes) -> list[Any]:
    """What is said of ``pages`` one after the other, which is what is said of each alone."""
    unused = [deepcopy(collector) for _ in pages]
    one_by_one = collector.parser()
    found = [said(one_by_one, page) for page in pages]
    assert found == [said(each.parse, page) for each, page in zip(unused, pages, strict=True)]
    return found


def test_only_the_values_move_and_the_page_is_not_understood_again() -> None:
    understood = 0

    def plain(body: bytes) -> NodeSample:
        nonlocal understood
        understood += 1
        return collector.parse(body)

    collector = NodeExporter()
    pages = Pages(collector._reader, plain, _form)
    for n in range(5):
        moved = FIRST.replace(b"} 5\n", b"} %d\n" % (10**n)).replace(b"threads 7", b"threads %d" % n)
        assert pages.parse(moved).disks["sda"][READ] == 10**n
        assert pages.parse(moved).spaces["/a b"][SIZE] == 1000
    assert understood == 1


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(DISK % (b"b", 8) + DISK % (b"a", 9) + SPACE % (b"/c", 1), id="another order"),
        pytest.param(FIRST + DISK % (b"c", 9), id="a series more"),
        pytest.param(DISK % (b"c", 9) + FIRST, id="a series more in front"),
        pytest.param(FIRST.replace(DISK % (b"b", 6), b""), id="a series less"),
        pytest.param(FIRST + DISK % (b"a", 99), id="a series twice"),
        pytest.param(FIRST.replace(b'"/c"', b'"/d"'), id="another label"),
        pytest.param(FIRST.replace(b"/dev/sda", b"/dev/sdb", 1), id="another device mounted"),
        pytest.param(FIRST.replace(b"go_threads", IN_FLIGHT.encode() + b'{device="a"}'), id="a wanted one"),
        pytest.param(FIRST.replace(b"} 5\n", b"} NaN\n"), id="not a number"),
        pytest.param(FIRST.replace(b"} 5\n", b"} +Inf\n").replace(b"} 6", b"} -Inf"), id="infinite"),
        pytest.param(FIRST.replace(b"} 5\n", b"} 5 1795226168000\n"), id="a time behind"),
        pytest.param(FIRST.replace(b"} 5\n", b"}  5\n"), id="two spaces"),
        pytest.param(FIRST.replace(b"} 5\n", b"} 5\r\n"), id="a carriage return"),
        pytest.param(FIRST.replace(b"} 5\n", b"} many\n"), id="garbage as a value"),
        pytest.param(FIRST.replace(b"} 5\n", b"} \n"), id="no value"),
        pytest.param(FIRST.replace(b"} 5\n", b"}\n"), id="no value and no space"),
        pytest.param(FIRST.replace(b"} 5\n", b"} 5 "), id="two lines in one"),
        pytest.param(FIRST.replace(b"/a b", b"/a\nb"), id="a line broken"),
        pytest.param(FIRST[:-30], id="cut off"),
        pytest.param(FIRST.rstrip(), id="no line feed at the end"),
        pytest.param(b"", id="empty"),
        pytest.param(b"<html><body>It works!</body></html>", id="another page altogether"),
        pytest.param(b"\x1f\x8b\x08\x00\xff\xfe", id="not text"),
    ],
)
def test_a_page_that_differs_says_what_it_says_by_itself(second: bytes) -> None:
    both(NodeExporter(), FIRST, second, FIRST, FIRST, second, second, FIRST)


def test_the_last_of_a_series_given_twice_counts() -> None:
    twice = [DISK % (b"a", n) + DISK % (b"a", n + 1) for n in range(3)]
    assert [sample.disks["sda"][READ] for sample in both(NodeExporter(), *twice)] == [1, 2, 3]


def test_series_that_mean_the_same_are_added_up() -> None:
    page = b"".join(
        b'lustre_read_bytes_total{component="ost",jobid="%c",target="fs-OST0000"} %%d\n' % job
        for job in b"abc"
    )
    found = both(LustreExporter(HPE), page % (1, 2, 3), page % (10, 20, 30), page % (1, 2, 4))
    assert [sample["fs-OST0000"]["read_bytes"] for sample in found] == [6, 60, 7]


def test_no_series_is_lost_when_more_are_shown_than_can_be_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exposition, "MAX_REMEMBERED", 3)
    line = b'lustre_read_bytes_total{component="ost",jobid="%c",target="fs-OST0000"} 1\n'
    pages = [b"".join(line % job for job in jobs) for jobs in (b"ab", b"abcdefg", b"gfedcbah")]
    found = both(LustreExporter(HPE), *pages)
    assert [sample["fs-OST0000"]["read_bytes"] for sample in found] == [2, 7, 8]


def test_captured_pages_are_read_alike(page: Callable[[str], bytes]) -> None:
    names = ["before", "after-8-MiB", "after-8-MiB", "default-flags", "before"]
    found = both(NodeExporter(), *(page(name) for name in names))
    assert all(isinstance(each, NodeSample) for each in found)


def test_a_layout_is_only_remembered_where_the_last_word_is_the_value() -> None:
    reader = NodeExporter()._reader
    for body, remembered in (
        (FIRST, True),
        (FIRST.replace(b"} 5\n", b"} 5 17\n"), False),
        (b"go 1\n", False),
    ):
        reader.read(body)
        assert isinstance(reader.layout(body), Layout) is remembered


labels = st.text(alphabet='a/ }"{\\', max_size=4).map(
    lambda text: text.replace("\\", "\\\\").replace('"', '\\"').encode()
)
values = st.sampled_from([b"0", b"1", b"2.5e9", b"-0", b"NaN", b"+Inf", b"x", b"", b"1 17", b"1e308"])
disks = st.builds(
    lambda name, device, value: b'node_disk_%s{device="%s"} %s' % (name, device, value),
    st.sampled_from([b"io_now", b"read_bytes_total", b"info"]),
    labels,
    values,
)
spaces = st.builds(
    lambda mount, kind, value: (
        b'node_filesystem_size_bytes{device="d",fstype="%s",mountpoint="%s"} %s' % (kind, mount, value)
    ),
    labels,
    st.sampled_from([b"a", b"b"]),
    values,
)
odd = st.sampled_from([b"", b"# TYPE a b", b"go_threads 5", b"node_disk_io_now", b"a b c d", b'up{j="1"} 1'])
lines = st.lists(st.one_of(disks, spaces, odd), max_size=6)


@given(st.lists(lines, min_size=1, max_size=4), st.data())
def test_any_pages_in_any_order_are_read_alike(pages: list[list[bytes]], data: st.DataObject) -> None:
    turns = data.draw(st.lists(st.tuples(st.sampled_from(pages), values), max_size=8))
    bodies = [
        b"\n".join([*page[:-1], page[-1].rpartition(b" ")[0] + b" " + end] if page else page)
        for page, end in turns
    ]
    both(NodeExporter(), *(b"\n".join(page) for page in pages), *bodies)
