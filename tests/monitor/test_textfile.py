"""What an OSS writes for node_exporter is read back from node_exporter's page, and goes stale."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from smed_monitor.cli import main
from smed_monitor.collectors.base import Reply
from smed_monitor.collectors.lustre_series import LustreExporter
from smed_monitor.collectors.textfile import TEXTFILE
from smed_monitor.config.settings import ElementSettings, Target
from smed_monitor.core.model import Moment
from smed_monitor.core.rates import Windows
from smed_monitor.scraping.scrape import Scraper

OST = ElementSettings(id="fs/OST0000", target="oss1", ost="fs-OST0000")


def server(root: Path) -> None:
    folder = root / "proc/fs/lustre/obdfilter/fs-OST0000"
    folder.mkdir(parents=True)
    (folder / "stats").write_text("snapshot_time 2.0 secs.nsecs\nwrite_bytes 2 samples [bytes] 5 5 10 50\n")
    (folder / "kbytesavail").write_text("7\n")


def test_what_is_written_is_what_is_read_back(tmp_path: Path) -> None:
    server(tmp_path)
    output = tmp_path / "smed.prom"
    ran = CliRunner().invoke(main, ["textfile", "--once", "--root", str(tmp_path), "--output", str(output)])
    assert ran.exit_code == 0, ran.output
    collector = LustreExporter(TEXTFILE)
    found = collector.reading(collector.parse(output.read_bytes()), OST)
    assert (found.written_bytes, found.read_bytes, found.free_bytes) == (10, 0, 7168)
    assert found.stamp == pytest.approx(output.stat().st_mtime, abs=60)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_server_without_lustre_writes_nothing_and_says_why(tmp_path: Path) -> None:
    output = tmp_path / "smed.prom"
    ran = CliRunner().invoke(main, ["textfile", "--once", "--root", str(tmp_path), "--output", str(output)])
    assert ran.exit_code == 1
    assert "is Lustre started here" in ran.output
    assert not output.exists()


def test_a_file_nobody_writes_any_more_grows_old() -> None:
    target = Target(name="oss1", collector="textfile", url="http://oss1:9100/metrics")
    scraper = Scraper(target, [OST], LustreExporter(TEXTFILE), Windows(2, 60, 3))
    page = 'smed_ost_written_timestamp_seconds{component="ost",target="fs-OST0000"} %d\n'

    class Script:
        at = 0.0
        stamp = 5

        def read(self) -> Reply:
            return Reply((page % self.stamp).encode(), Moment(self.at, self.at))

        def close(self) -> None: ...

    script = Script()
    scraper._source = script
    ages = []
    for script.at, script.stamp in ((1.0, 5), (2.0, 5), (3.0, 5), (4.0, 9)):
        at = scraper.scrape().records[0].at
        assert at is not None
        ages.append(script.at - at.monotonic)
    assert ages == [0, 1, 2, 0]
