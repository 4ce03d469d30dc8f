"""node_exporter's pages are read right: captured ones from Debian 12, and broken ones."""

from collections.abc import Callable

import pytest
from prometheus_client.parser import text_string_to_metric_families
from smed_monitor.collectors import node_exporter
from smed_monitor.collectors.node_exporter import NodeExporter
from smed_monitor.config.settings import ElementSettings
from smed_monitor.core.errors import ContentError, ElementMissingError
from smed_monitor.core.model import Reading

Page = Callable[[str], bytes]


def element(mount_point: str | None = None, device: str | None = None) -> ElementSettings:
    return ElementSettings(id="union/b", target="n1", mount_point=mount_point, device=device)


def reading(body: bytes, **where: str) -> Reading:
    collector = NodeExporter()
    return collector.reading(collector.parse(body), element(**where))


def test_an_nfs_mount_has_the_load_of_its_export(page: Page) -> None:
    """After 20 MiB were written; captured in the machine of tests/nfs_machine.py."""
    seen = reading(page("nfs"), mount_point="/mnt/home")
    assert (seen.device, seen.read_bytes, seen.written_bytes) == ("nfs 10.0.2.2:/home", 0, 20 << 20)
    assert (seen.operations, seen.request_seconds) == (21, pytest.approx(17.748))
    assert (seen.busy_seconds, seen.note) == (pytest.approx(0.315), "")
    without = b"\n".join(line for line in page("nfs").split(b"\n") if b"mountstats" not in line)
    assert "--collector.mountstats" in reading(without, mount_point="/mnt/home").note


def test_a_loop_device_is_found_by_its_mount_point(page: Page) -> None:
    assert reading(page("before"), mount_point="/srv/qstorman/b1") == Reading(
        device="loop0",
        read_bytes=3_238_912,
        written_bytes=25_226_240,
        request_seconds=0.133,
        operations=240,
        busy_seconds=pytest.approx(0.015 + 0.093),
        in_flight=0,
        free_bytes=52_671_488,
        size_bytes=57_381_888,
        read_only=False,
    )


def test_eight_mebibytes_written_show_in_counter_and_space(page: Page) -> None:
    before, later = (reading(page(n), mount_point="/srv/qstorman/b1") for n in ("before", "after-8-MiB"))
    assert before.written_bytes is not None
    assert later.written_bytes is not None
    assert before.free_bytes is not None
    assert later.free_bytes is not None
    assert 8 * 2**20 <= later.written_bytes - before.written_bytes < 8.1 * 2**20
    assert before.free_bytes - later.free_bytes == 8 * 2**20


def test_a_read_only_mount_is_seen(page: Page) -> None:
    assert reading(page("before"), mount_point="/srv/qstorman/b2").read_only


def test_a_device_alone_gives_rates_without_space(page: Page) -> None:
    seen = reading(page("before"), device="loop0")
    assert seen.written_bytes == 25_226_240
    assert seen.free_bytes is None


@pytest.mark.parametrize("name", ["before", "after-8-MiB", "default-flags"])
def test_every_wanted_sample_is_read_as_the_prometheus_library_reads_it(page: Page, name: str) -> None:
    body = page(name)
    sample = NodeExporter().parse(body)
    compared = 0
    for family in text_string_to_metric_families(body.decode()):
        for s in family.samples:
            if s.name in node_exporter.DISK_SERIES:
                assert sample.disks[s.labels["device"]][s.name] == s.value
            elif s.name in node_exporter.SPACE_SERIES:
                assert sample.spaces[s.labels["mountpoint"]][s.name] == s.value
                assert sample.mounted[s.labels["mountpoint"]] == (s.labels["device"], s.labels["fstype"])
            else:
                continue
            compared += 1
    assert compared > 15
    assert compared == sum(len(v) for v in (*sample.disks.values(), *sample.spaces.values()))


def test_with_debians_flags_a_loop_device_has_space_and_the_cure_for_missing_rates(page: Page) -> None:
    seen = reading(page("default-flags"), mount_point="/srv/qstorman/b1")
    assert seen.free_bytes == 44_282_880
    assert seen.read_bytes is None
    assert seen.written_bytes is None
    assert "no disk loop0" in seen.note
    assert "--collector.diskstats.device-exclude=" in seen.note


def test_with_debians_flags_a_mount_below_mnt_is_missing_and_the_cure_is_named(page: Page) -> None:
    with pytest.raises(
        ElementMissingError, match=r"/mnt/qstorman/b3.*--collector\.filesystem\.mount-points-exclude="
    ):
        reading(page("default-flags"), mount_point="/mnt/qstorman/b3")


def test_a_device_nobody_reports_is_missing_and_the_cure_is_named(page: Page) -> None:
    with pytest.raises(ElementMissingError, match=r"no disk loop0.*--collector\.diskstats\.device-exclude="):
        reading(page("default-flags"), device="loop0")


SPACE = 'node_filesystem_size_bytes{device="%s",fstype="ext4",mountpoint="%s"} 1e+09\n'


def test_a_device_mapper_name_leads_to_its_kernel_device() -> None:
    body = (
        SPACE % ("/dev/mapper/vg-data", "/data") + 'node_disk_written_bytes_total{device="dm-2"} 42\n'
        'node_disk_device_mapper_info{device="dm-2",name="vg-data",uuid=""} 1\n'
    ).encode()
    seen = reading(body, mount_point="/data")
    assert (seen.device, seen.written_bytes) == ("dm-2", 42)


def disk(device: str, read: float, written: float) -> str:
    return "".join(
        f'node_disk_{what}_total{{device="{device}"}} {value}\n'
        for what, value in (
            ("read_bytes", read), ("written_bytes", written),
            ("reads_completed", read / 4096), ("writes_completed", written / 4096),
        )
    )  # fmt: skip


BTRFS = 'node_btrfs_device_size_bytes{device="%s",uuid="%s"} 1e+09\n'
ONE, TWO = BTRFS % ("sda", "u1") + BTRFS % ("sdb", "u2"), BTRFS % ("sda", "u1") + BTRFS % ("sdb", "u1")
SDA, BEHIND = disk("sda", 8e6, 4e6), disk("nvme0c0n1", 8e6, 4e6)
BLIND = "nvme0n1 has counted nothing since the start"


@pytest.mark.parametrize(
    ("source", "page", "written", "note"),
    [
        ("/dev/md0", disk("md0", 1e6, 5e6) + SDA, 5e6, ""),
        ("/dev/bcache0", disk("bcache0", 1e6, 5e6) + SDA, 5e6, ""),
        # NVMe with several paths: those may count, or the namespace, or nobody that is seen.
        ("/dev/nvme0n1", disk("nvme0n1", 0, 0) + BEHIND + disk("nvme0c1n1", 1, 1e6), 5e6, ""),
        ("/dev/nvme0n1p1", disk("nvme0n1p1", 0, 0) + BEHIND + disk("nvme1c0n1", 1, 1e6), 4e6, ""),
        ("/dev/nvme0n1", disk("nvme0n1", 3e6, 2e6) + BEHIND, 2e6, ""),
        ("/dev/nvme0n1", disk("nvme0n1", 0, 0) + disk("nvme1n1", 8e6, 4e6), None, BLIND),
        ("/dev/sda", SDA + ONE, 4e6, ""),
        ("/dev/sda", SDA + TWO, None, "btrfs of several devices (sda, sdb)"),
        ("tank/data", SDA, None, "tank/data is not the name of a block device"),
    ],
)
def test_load_adds_up_over_devices_or_is_said_not_to_be_seen(
    source: str, page: str, written: float | None, note: str
) -> None:
    seen = reading((page + SPACE % (source, "/data")).encode(), mount_point="/data")
    assert seen.written_bytes == written
    assert note in seen.note
    assert bool(note) == bool(seen.note)


@pytest.mark.parametrize(
    ("described", "source", "is_same"),
    [
        ("", "/dev/sdb1", True),
        ("ext4 a9d1f0c2b7e34488", "/dev/sdb1", True),
        ("xfs a9d1f0c2b7e34488a9d1f0c2b7e34488", "/dev/sdb1", False),
        ("nfs4 server:/export", "/dev/sdb1", True),  # the same disk, as a client sees it
        ("ext4 server:/export", "server:/other", False),
    ],
)
def test_another_type_than_described_is_not_seen(described: str, source: str, is_same: bool) -> None:
    collector = NodeExporter()
    sample = collector.parse((SPACE % (source, "/data")).encode())
    wanted = element("/data").model_copy(update={"file_system": described})
    if is_same:
        assert collector.reading(sample, wanted).size_bytes == 1e9
    else:
        with pytest.raises(ElementMissingError, match="not the file system that was described"):
            collector.reading(sample, wanted)


def test_escapes_braces_and_timestamps_in_a_line_are_understood() -> None:
    body = rb'node_filesystem_avail_bytes{device="/dev/sdb1",mountpoint="/a \"b\" } \\c"} 7 1795226168000'
    assert reading(body, mount_point='/a "b" } \\c').free_bytes == 7


def test_a_file_system_without_block_device_has_space_and_says_why_there_are_no_rates() -> None:
    seen = reading((SPACE % ("tmpfs", "/scratch")).encode(), mount_point="/scratch")
    assert seen.size_bytes == 1e9
    assert "tmpfs is not the name of a block device" in seen.note


def test_a_file_system_that_cannot_be_read_is_missing() -> None:
    body = b'node_filesystem_device_error{device="/dev/sdb1",fstype="ext4",mountpoint="/data"} 1\n'
    with pytest.raises(ElementMissingError, match="is the mount hanging"):
        reading(body, mount_point="/data")


def test_a_value_that_is_not_a_number_says_nothing() -> None:
    body = b'node_disk_read_bytes_total{device="sdb"} NaN\nnode_disk_written_bytes_total{device="sdb"} 5\n'
    seen = reading(body, device="sdb")
    assert (seen.read_bytes, seen.written_bytes) == (None, 5)


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (b"", "is not node_exporter's page"),
        (b"<html><body>It works!</body></html>", "it begins with '<html>"),
        (b'go_goroutines 7\nup{job="x"} 1\n', "is not node_exporter's page"),
        (b'node_disk_read_bytes_total{device="sda"}\n', "line 1 is not Prometheus text"),
        (b'# x\nnode_disk_read_bytes_total{device="sda"} many\n', "line 2 is not Prometheus text"),
        (b'node_disk_read_bytes_total{device="sda 5\n', "line 1 is not Prometheus text"),
        (b'node_disk_read_bytes_total{disk="sda"} 5\n', "line 1 is not Prometheus text"),
        (b"\x1f\x8b\x08\x00\xff\xfe", "is not node_exporter's page"),
        (b'node_disk_read_bytes_total{device="\xff"} 1\n', "is not text"),
    ],
)
def test_wrong_content_is_refused_with_its_reason(body: bytes, complaint: str) -> None:
    with pytest.raises(ContentError, match=complaint):
        NodeExporter().parse(body)
