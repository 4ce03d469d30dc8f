"""Lustre's own text is understood: captured from 2.17.0, and in the shapes of earlier versions."""

from pathlib import Path
from typing import Any

import pytest
from smed_monitor.collectors.lustre_files import LustreFiles
from smed_monitor.collectors.lustre_text import Counter, parameters, statistics
from smed_monitor.config.settings import ElementSettings, Target
from smed_monitor.core.capability import Best
from smed_monitor.core.errors import ContentError, ElementMissingError, ReplyError, UnreachableError
from smed_monitor.core.model import Reading
from smed_monitor.core.rates import Windows

FIXTURES = Path(__file__).parent / "fixtures"


def captured(name: str) -> str:
    """Text of Lustre 2.17.0, built from source and run on one node."""
    return (FIXTURES / f"lustre-2.17.0-{name}.txt").read_text()


def ost(name: str) -> ElementSettings:
    return ElementSettings(id="lustre/x", target="oss1", ost=name)


def server() -> bytes:
    return "".join(captured(n) for n in ("obdfilter-stats", "obdfilter-kbytes", "osd-kbytes")).encode()


def test_every_ost_of_the_captured_server_is_found() -> None:
    collector = LustreFiles()
    assert list(collector.names(collector.parse(server()))) == [f"lustre-OST000{n}" for n in range(6)]


def test_counters_space_and_times_of_a_captured_ost() -> None:
    collector = LustreFiles()
    assert collector.reading(collector.parse(server()), ost("lustre-OST0000")) == Reading(
        device="lustre-OST0000",
        read_bytes=41_943_040,
        written_bytes=58_720_323,
        operations=72,
        busy_seconds=pytest.approx(0.473378),
        request_seconds=pytest.approx(0.473378),
        free_bytes=3_803_536 * 1024,
        size_bytes=4_076_320 * 1024,
        started=1795214806.816963564,
    )


def test_flags_are_read_from_all_parameters_of_one_ost() -> None:
    collector = LustreFiles()
    text = captured("obdfilter-OST0000")
    plain = collector.reading(collector.parse(text.encode()), ost("lustre-OST0000"))
    assert (plain.degraded, plain.read_only, plain.no_create) == (False, False, False)
    for flag, field in (("degraded", "degraded"), ("readonly", "read_only"), ("no_create", "no_create")):
        changed = text.replace(f"OST0000.{flag}=0", f"OST0000.{flag}=1")
        assert changed != text
        assert getattr(collector.reading(collector.parse(changed.encode()), ost("lustre-OST0000")), field)


def test_counters_of_jobs_are_not_taken_for_those_of_the_ost() -> None:
    stats = LustreFiles().parse(captured("obdfilter-OST0000").encode()).stats["lustre-OST0000"]
    assert stats.counters["write_bytes"] == Counter(59, "bytes", 58_720_323)


@pytest.mark.parametrize(
    ("header", "started"),
    [
        pytest.param("snapshot_time             1575.5 secs.nsecs\n", None, id="2.12"),
        pytest.param("snapshot_time 1575.5 secs.nsecs\nstart_time 1500.25 secs.nsecs\n", 1500.25, id="2.15"),
        pytest.param("", None, id="2.16-without-header"),
    ],
)
def test_headers_of_other_versions(header: str, started: float | None) -> None:
    counters = statistics(header + "write_bytes  3 samples [bytes] 1 4096 8192\ncreate 7 samples [reqs]\n")
    assert counters.started == started
    assert counters.total("write_bytes") == 8192
    assert counters.samples("create") == 7


def test_an_idle_ost_has_no_counter_lines_and_counts_zero() -> None:
    body = b"obdfilter.fs-OST0001.stats=\nsnapshot_time 1.5 secs.nsecs\nobdfilter.fs-OST0001.kbytesavail=10\n"
    collector = LustreFiles()
    seen = collector.reading(collector.parse(body), ost("fs-OST0001"))
    assert (seen.read_bytes, seen.written_bytes, seen.free_bytes) == (0, 0, 10240)


def test_what_unprivileged_readers_of_2_17_get_mangled_is_not_used() -> None:
    by_root, by_user = (
        next(
            statistics(v)
            for k, v in parameters(captured(f"{who}-osc-stats")).items()
            if k.startswith("osc.lustre-OST0000-osc-ffff")
        )
        for who in ("root", "unprivileged")
    )
    assert by_user.counters.keys() == by_root.counters.keys()
    assert len(by_user.counters) >= 3
    assert by_user.started == by_root.started


def test_an_ost_that_is_not_here_is_missing_with_the_likely_cause() -> None:
    collector = LustreFiles()
    with pytest.raises(ElementMissingError, match="mounted on another server"):
        collector.reading(collector.parse(server()), ost("lustre-OST0042"))


@pytest.mark.parametrize("body", [b"", b"\xff\xfe\x00", b"osc.x.stats=\n", b"<html>"])
def test_garbage_is_refused(body: bytes) -> None:
    with pytest.raises(ContentError, match="has no OST"):
        LustreFiles().parse(body)


def tree(root: Path, **files: str) -> Target:
    """A server's files: stats in debugfs, values in sysfs, as 2.17 has them."""
    for name, content in files.items():
        folder = "sys/kernel/debug/lustre" if name == "stats" else "sys/fs/lustre"
        path = root / folder / "obdfilter" / "fs-OST0000" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return Target(name="oss1", collector="lustre_files", root=str(root), max_reply_bytes=4096)


def test_files_of_a_server_are_read_where_they_are(tmp_path: Path) -> None:
    stats = "snapshot_time 2.0 secs.nsecs\nread_bytes 1 samples [bytes] 5 5 5 25\n"
    collector = LustreFiles()
    source = collector.open(tree(tmp_path, stats=stats, kbytesavail="7\n", degraded="1\n"))
    seen = collector.reading(collector.parse(source.read().body), ost("fs-OST0000"))
    assert (seen.read_bytes, seen.free_bytes, seen.degraded) == (5, 7168, True)


def test_without_the_right_to_read_counters_space_is_still_told(tmp_path: Path) -> None:
    collector = LustreFiles()
    body = collector.open(tree(tmp_path, kbytesavail="7\n")).read().body
    seen = collector.reading(collector.parse(body), ost("fs-OST0000"))
    assert (seen.read_bytes, seen.free_bytes) == (None, 7168)
    assert "only root" in seen.note


def test_an_endless_file_is_cut_off(tmp_path: Path) -> None:
    with pytest.raises(ReplyError, match="max_reply_bytes"):
        LustreFiles().open(tree(tmp_path, stats="x" * 10_000)).read()


def test_a_node_without_lustre_says_so(tmp_path: Path) -> None:
    target = Target(name="oss1", collector="lustre_files", root=str(tmp_path))
    with pytest.raises(UnreachableError, match="is Lustre started here"):
        LustreFiles().open(target).read()


SERVICE = (
    "ost.OSS.ost_io.stats=\n"
    "req_waittime              {n} samples [usecs] 34 56914 {waited} 179966838295\n"
    "req_qdepth                {n} samples [reqs] 0 19 55 415\n"
    "req_active                {n} samples [reqs] 1 22 38200 318928\n"
    "ost_read                  3 samples [usecs] 1 2 {served} 5\n"
)


def untimed(first: int, second: int, *, waited: int, served: int) -> bytes:
    """Two OSTs of a server that times only its I/O service, as 2.12 does; operations and microseconds."""
    osts = "".join(
        f"obdfilter.fs-OST000{n}.stats=\nread_bytes {count} samples [bytes] 1 1 {count}\n"
        for n, count in ((0, first), (1, second))
    )
    return (osts + SERVICE.format(n=first + second, waited=waited, served=served)).encode()


def test_the_queue_of_a_server_is_shared_out_by_the_operations_of_its_osts(alone: Any) -> None:
    collector, windows = LustreFiles(), Windows(current=2.0, average=60.0, max_gap=10.0)
    before = collector.parse(untimed(1000, 1000, waited=0, served=0))
    after = collector.parse(untimed(1300, 1100, waited=6_000_000, served=2_000_000))
    depths = []
    for name in ("fs-OST0000", "fs-OST0001"):
        loads = alone.after(collector.reading(before, ost(name)), 100.0, windows)
        depths.append(loads.after(collector.reading(after, ost(name)), 102.0, windows).queue_depth)
    assert depths == [pytest.approx(3.0), pytest.approx(1.0)]


def test_an_ost_that_does_nothing_has_no_part_of_its_servers_queue_and_learns_nothing_from_it(
    alone: Any,
) -> None:
    collector, windows = LustreFiles(), Windows(current=2.0, average=60.0, max_gap=10.0)
    loads = alone
    for turn in range(8):
        sample = collector.parse(untimed(1000, 1000 + 50 * turn, waited=9_000_000 * turn, served=0))
        loads = loads.after(collector.reading(sample, ost("fs-OST0000")), 100.0 + turn, windows, learn=True)
    assert loads.queue_depth == 0
    assert loads.best == Best()


def test_a_server_whose_counters_began_again_gives_no_queue_below_zero(alone: Any) -> None:
    collector, windows = LustreFiles(), Windows(current=2.0, average=60.0, max_gap=10.0)
    loads = alone
    for turn, waited in enumerate((9_000_000, 10_000_000, 1_000_000)):
        sample = collector.parse(untimed(1000 + 10 * turn, 1000, waited=waited, served=0))
        loads = loads.after(collector.reading(sample, ost("fs-OST0000")), 100.0 + turn, windows)
    assert loads.queue_depth == pytest.approx(1.0)


def test_an_ost_that_times_its_operations_needs_no_server() -> None:
    sample = LustreFiles().parse(server() + SERVICE.format(n=5, waited=10, served=10).encode())
    seen = LustreFiles().reading(sample, ost("lustre-OST0000"))
    assert seen.server_queue is None
    assert seen.request_seconds == seen.busy_seconds
