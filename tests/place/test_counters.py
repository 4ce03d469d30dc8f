"""How busy devices are, from texts as the kernel writes them."""

import os
from pathlib import Path

import pytest
from ses.place import samples
from ses.place.claims import boot
from ses.place.samples import Counters, Sample, counters_of, measure
from ses_client.devices import Served, device_of, file_system_of, parse_mountstats
from ses_client.mounts import Mount

# As fs/nfs/super.c and net/sunrpc/stats.c of Linux 6.1 print it: two exports of a server, one mounted twice.
MOUNTSTATS = """\
device rootfs mounted on / with fstype rootfs
device nas:/home mounted on /home with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2,rsize=1048576,wsize=1048576,hard,proto=tcp,timeo=600,retrans=2,sec=sys
\tage:\t5160
\tcaps:\tcaps=0x3fffdf,wtmult=512,dtsize=1048576,bsize=0,namlen=255
\tevents:\t52 226 0 0 1 24 298 0 0 0 0 2 0 2 2 0 0 2 0 0 0 0 0 0 0 0 0
\tbytes:\t1207640230 0 0 0 1210214218 500 295483 0
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
\txprt:\ttcp 832 0 1 0 11 6428 6428 0 12154 0 24 26 5726
\tper-op statistics
\t        NULL: 1 1 0 44 24 0 0 0 0
\t        READ: 1298 1298 0 207680 1210292152 6 79386 79407 0
\t       WRITE: 10 10 0 2000 1000 1 20 30 0
\t      COMMIT: 1 1 0 200 100 1 4 5 0
\t     GETATTR: 9000 9000 0 2000 1000 1 900000 900000 0

device nas:/home mounted on /mnt/home with fstype nfs4 statvers=1.1
\tbytes:\t1207640230 0 0 0 1210214218 500 295483 0
\tper-op statistics
\t        READ: 1298 1298 0 207680 1210292152 6 79386 79407 0
\t       WRITE: 10 10 0 2000 1000 1 20 30 0
\t      COMMIT: 1 1 0 200 100 1 4 5 0
device nas:/scratch mounted on /scratch with fstype nfs statvers=1.1
\tbytes:\t0 0 0 0 0 1000 0 0
\tper-op statistics
\t       WRITE: 10 10 0 2000 1000 1 100 200 0
device [fe80::1]:/data mounted on /data with fstype nfs4 statvers=1.1
\tper-op statistics
\t        READ: broken
"""
BLOCK = "  100 0 8000 50 200 0 16000 150 0 120 200 0 0 0 0 9 9\n"


def mount(device: str, type_: str, source: str) -> Mount:
    return Mount("30", device, "/", "/mnt", type_, source)


def test_exports_of_a_server_are_added_up_and_a_second_mount_is_not(tmp_path: Path) -> None:
    assert parse_mountstats(MOUNTSTATS) == {
        "nas": Served(1210214218, 500 + 1000, 1309 + 10, 79386 + 20 + 4 + 100, 79407 + 30 + 5 + 200),
        "[fe80::1]": Served(),
    }
    stats = tmp_path / "mountstats"
    stats.write_text(MOUNTSTATS)
    (tmp_path / "mountinfo").write_text("")
    counted = counters_of(["nfs nas", "nfs other"], tmp_path, stats)
    assert counted == {"nfs nas": Counters(79510, 79642, 1210214218 + 500 + 1000)}


def test_mounts_of_one_server_are_one_device_and_file_systems_of_their_own() -> None:
    home, scratch = mount("0:50", "nfs4", "nas:/home"), mount("0:51", "nfs", "nas:/scratch")
    systems = [file_system_of(home, os.makedev(0, 50)), file_system_of(scratch, os.makedev(0, 51))]
    assert systems == ["0:50", "0:51"]
    assert {device_of(home, "0:50"), device_of(scratch, "0:51")} == {"nfs nas"}


def test_a_partition_and_what_is_mapped_to_it_are_their_disk(tmp_path: Path) -> None:
    disk = tmp_path / "devices/sda"
    for folder, number in ((disk, "8:0"), (disk / "sda1", "8:1"), (tmp_path / "devices/dm-0", "253:0")):
        (folder / "slaves").mkdir(parents=True)
        (folder / "dev").write_text(f"{number}\n")
        (tmp_path / "dev/block").mkdir(parents=True, exist_ok=True)
        (tmp_path / "dev/block" / number).symlink_to(folder)
    (disk / "sda1/partition").write_text("1\n")
    (tmp_path / "devices/dm-0/slaves/sda1").symlink_to(disk / "sda1")
    for number in ("253:0", "8:1", "8:0"):
        assert device_of(mount(number, "xfs", "/dev/x"), number, tmp_path) == "8:0"
    (disk / "stat").write_text(BLOCK)
    assert counters_of(["8:0", "0:45"], tmp_path) == {"8:0": Counters(120, 200, 24000 * 512)}
    (disk / "stat").write_text("0 " * 17)
    assert counters_of(["8:0"], tmp_path) == {}, "what never counted is not idle"


@pytest.mark.parametrize("text", ["", "1 2 3", "a b c d e f g h i j k l"])
def test_a_text_that_is_none_is_no_idle_device(tmp_path: Path, text: str) -> None:
    (tmp_path / "dev/block/8:0").mkdir(parents=True)
    (tmp_path / "dev/block/8:0/stat").write_text(text)
    assert counters_of(["8:0"], tmp_path) == {}


def test_an_nvme_that_leaves_the_counting_to_its_paths_is_seen(tmp_path: Path) -> None:
    (tmp_path / "dev/block").mkdir(parents=True)
    (tmp_path / "dev/block/259:0").symlink_to(tmp_path / "block/nvme0n1")
    for name, text in (("nvme0n1", "0 " * 17), ("nvme0c0n1", BLOCK), ("nvme0c1n1", BLOCK)):
        (tmp_path / "block" / name).mkdir(parents=True)
        (tmp_path / "block" / name / "stat").write_text(text)
    assert counters_of(["259:0"], tmp_path) == {"259:0": Counters(240, 400, 2 * 24000 * 512)}


def test_a_sample_that_is_kept_saves_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(samples.time, "sleep", waited.append)
    now = [100.0]
    monkeypatch.setattr(samples, "clock", lambda: now[0])
    counted = {"8:0": Counters(500, 3000, 7_000_000)}

    def look(_: object) -> dict[str, Counters]:
        return dict(counted)

    kept = {"8:0": Sample(at=98.0, busy_ms=0, queue_ms=1000, moved=1_000_000)}
    measured = measure(["8:0"], kept, look)["8:0"]
    assert (measured.use, measured.queue, measured.rate, measured.own) == (0.25, 1.0, 3e6, 0.0)
    now[0] = 100.05
    assert measure(["8:0"], {"8:0": measured}, look) == {"8:0": measured}, "two at a moment share a sample"
    assert waited == []
    now[0] = 200.0
    measure(["8:0"], {"8:0": measured}, look)
    counted["8:0"] = Counters(1, 1, 1)
    now[0] = 101.0
    measure(["8:0"], {"8:0": measured}, look)
    assert len(waited) == 2, "one too old, and one of counters that began again"
    assert boot()
