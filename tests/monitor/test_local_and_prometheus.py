"""This node's file systems, the branches of a union, and a Prometheus server are read right."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from ses_client.devices import stat_of
from smed_monitor.collectors.base import Reply
from smed_monitor.collectors.http import HttpSource
from smed_monitor.collectors.local import disk, in_time
from smed_monitor.collectors.mergerfs import Mergerfs
from smed_monitor.collectors.prometheus import QUERIES, Prometheus
from smed_monitor.collectors.statvfs import Statvfs
from smed_monitor.config.settings import ElementSettings, Settings, Target
from smed_monitor.core.errors import ContentError, DeadlineError, ElementMissingError, UnreachableError
from smed_monitor.core.model import now
from smed_monitor.http.answer import observations_json
from smed_monitor.scraping.monitor import Monitor


def test_a_file_system_of_this_node_has_space(tmp_path: Path) -> None:
    collector = Statvfs()
    gone = tmp_path / "gone"
    target = Target(name="here", collector="statvfs", paths=(str(tmp_path), str(gone)), timeout_seconds=10)
    sample = collector.parse(collector.open(target).read().body)
    element = ElementSettings(id="u/b", target="here", mount_point=str(tmp_path))
    seen = collector.reading(sample, element)
    assert seen.size_bytes is not None
    assert seen.free_bytes is not None
    assert 0 <= seen.free_bytes <= seen.size_bytes
    assert list(collector.names(sample)) == [str(tmp_path)]
    with pytest.raises(ElementMissingError, match="No such file"):
        collector.reading(sample, ElementSettings(id="u/c", target="here", mount_point=str(gone)))


def test_the_counters_of_a_block_device_are_read_in_the_kernels_order() -> None:
    counters = disk("1 0 16 40 2 0 24 60 3 20 30 0 0 0 0 0 0\n")
    assert counters == (16 * 512, 24 * 512, 3, 0.1, 0.03, 3)
    with pytest.raises(ValueError, match="11 numbers"):
        disk("1 2 3")


@pytest.mark.parametrize(
    ("device", "sectors"),
    [("8:1", 24), ("9:0", 30), ("259:1", 7 + 5), ("259:2", 7 + 5), ("0:44", None)],
    ids=["partition", "md", "nvme with two paths", "its partition", "btrfs or zfs"],
)
def test_counters_of_a_device_are_its_own_or_those_of_its_paths(
    tmp_path: Path, device: str, sectors: int | None
) -> None:
    """A sysfs as of Linux 6.1: paths to an NVMe are hidden disks, which have no number."""
    (tmp_path / "dev/block").mkdir(parents=True)
    for number, name, written in (
        ("8:0", "sda", 99), ("8:1", "sda/sda1", 24), ("9:0", "md0", 30), ("259:1", "nvme0n1", 0),
        ("259:2", "nvme0n1/nvme0n1p1", 0), ("", "nvme0c0n1", 7), ("", "nvme0c1n1", 5), ("", "nvme1c0n1", 9),
    ):  # fmt: skip
        (folder := tmp_path / "block" / name).mkdir(parents=True)
        (folder / "stat").write_text(f"0 0 0 0 0 0 {written} 0 0 0 0 0 0 0 0 0 0\n")
        if number:
            (tmp_path / "dev/block" / number).symlink_to(folder)
    stat = stat_of(tmp_path, device)["stat"]
    assert (disk(stat).written_bytes if stat else None) == (None if sectors is None else sectors * 512)


def test_a_read_that_hangs_is_left_behind_and_not_started_again() -> None:
    release, calls = threading.Event(), []

    def hang() -> bytes:
        calls.append(1)
        release.wait(60)
        return b""

    stuck: list[threading.Thread] = []
    with pytest.raises(DeadlineError, match="within"):
        in_time(hang, 0.05, stuck)
    with pytest.raises(DeadlineError, match="still hangs"):
        in_time(hang, 0.05, stuck)
    assert len(calls) == 1
    release.set()
    stuck[0].join(60)
    assert in_time(lambda: b"fine", 30, stuck) == b"fine"


@pytest.mark.parametrize("collector", [Mergerfs(), Statvfs()])
def test_a_branch_that_is_another_file_system_than_described_is_not_seen(
    collector: Mergerfs | Statvfs,
) -> None:
    facts = {"free": 1, "size": 2, "read_only": False, "device": "0:1", "stat": "", "file_system": "ext4 1"}
    sample = collector.parse(json.dumps({"/a": facts}).encode())
    element = ElementSettings(id="u/x", target="here", mount_point="/a", file_system="ext4 2")
    with pytest.raises(ElementMissingError, match="not the file system that was described"):
        collector.reading(sample, element)
    assert collector.reading(sample, element.model_copy(update={"file_system": ""})).free_bytes == 1


def test_what_may_be_created_on_branches_of_a_union() -> None:
    facts = {"free": 1, "size": 2, "read_only": False, "device": "0:1", "stat": ""}
    body = json.dumps({"/a": facts | {"mode": "NC"}, "/b": facts | {"mode": "RO"}}).encode()
    collector = Mergerfs()
    sample = collector.parse(body)
    a, b = (
        collector.reading(sample, ElementSettings(id="u/x", target="here", mount_point=path))
        for path in ("/a", "/b")
    )
    assert (a.no_create, a.read_only, b.no_create, b.read_only) == (True, False, False, True)


def test_a_union_that_is_not_mounted_is_said_once(tmp_path: Path) -> None:
    target = Target(name="here", collector="mergerfs", paths=(str(tmp_path),))
    with pytest.raises(UnreachableError, match=f"^{tmp_path} is not the mount point of a mergerfs union"):
        Mergerfs().open(target).read()


def vectors(**values: float) -> list[bytes]:
    """Prometheus's answers to QUERIES, for one OST."""
    return [
        json.dumps(
            {
                "status": "success",
                "data": {
                    "resultType": "vector",
                    "result": [{"metric": {"target": "fs-OST0000"}, "value": [1.5, str(values[name])]}]
                    if name in values
                    else [],
                },
            }
        ).encode()
        for name in QUERIES
    ]


def test_prometheus_is_asked_once_for_each_metric(exporter: Any, answer_whole: Any) -> None:
    answers = vectors(read_bytes=5, written_bytes=7, free=2, size=4, stamp=99.0)
    left = list(answers)
    exporter.answer = lambda connection: answer_whole(left.pop(0))(connection)
    url = exporter.url.removesuffix("/metrics")
    collector = Prometheus()
    source = collector.open(Target(name="p", collector="prometheus", url=url, timeout_seconds=20))
    sample = collector.parse(source.read().body)
    source.close()
    seen = collector.reading(sample, ElementSettings(id="fs/o", target="p", ost="fs-OST0000"))
    assert (seen.read_bytes, seen.written_bytes, seen.free_bytes, seen.stamp) == (5, 7, 2048, 99.0)
    assert exporter.requests == len(QUERIES)


def test_all_queries_to_prometheus_have_one_time_out_together(monkeypatch: pytest.MonkeyPatch) -> None:
    deadlines = []

    def read(_source: HttpSource, deadline: float) -> Reply:
        deadlines.append(deadline)
        return Reply(b"{}", now())

    monkeypatch.setattr(HttpSource, "read", read)
    before = now().monotonic
    Prometheus().open(Target(name="p", collector="prometheus", url="http://h", timeout_seconds=7)).read()
    assert len(deadlines) == len(QUERIES)
    assert before + 7 <= deadlines[0] == deadlines[-1]


def test_an_ost_whose_first_sample_arrives_between_two_queries_is_not_taken_for_idle() -> None:
    before, after = vectors(), vectors(read_bytes=5, written_bytes=7, free=2, size=4, stamp=99.0)
    collector = Prometheus()
    for asked in range(1, len(QUERIES)):
        sample = collector.parse(b"\n".join(before[:asked] + after[asked:]))
        assert list(collector.names(sample)) == []


def test_an_ost_whose_exporter_died_is_missing_and_refusals_are_reported() -> None:
    collector = Prometheus()
    sample = collector.parse(b"\n".join(vectors(read_bytes=5)))
    with pytest.raises(ElementMissingError, match="is its exporter scraped"):
        collector.reading(sample, ElementSettings(id="fs/o", target="p", ost="fs-OST0000"))
    with pytest.raises(ContentError, match="refused a query: too many"):
        collector.parse(b'{"status":"error","error":"too many"}')
    with pytest.raises(ContentError, match="is not Prometheus's answer"):
        collector.parse(b"<html>")


def test_what_prometheus_says_of_itself_is_told_as_far_as_an_answer_can(monkeypatch) -> None:
    """Half a pair of surrogates, and more than anybody reads, of one target among others."""
    body = b'{"status": "error", "error": "half \\ud83d%b"}' % (b"x" * 100_000)
    monkeypatch.setattr(HttpSource, "read", lambda _source, _deadline: Reply(body, now()))
    target = {"name": "p", "collector": "prometheus", "url": "http://h"}
    element = {"id": "fs/o", "target": "p", "ost": "fs-OST0000"}
    monitor = Monitor(Settings.model_validate_json(json.dumps({"target": [target], "element": [element]})))
    monitor.scrape_once()
    answer = observations_json(monitor.table.snapshot(), monitor.windows)
    (seen,) = json.loads(answer)["observations"]
    assert "http://h refused a query: half ?xxx" in seen["detail"]
    assert len(answer) < 2000
