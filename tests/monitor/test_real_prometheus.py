"""The queries are ones a real Prometheus (Debian's package) understands and answers."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest
from fake_exporter import FakeExporter, whole
from patience import wait_until
from ports import free_port
from smed_monitor.collectors.prometheus import Prometheus
from smed_monitor.config.settings import ElementSettings, HistorySettings, Target
from smed_monitor.core.errors import CollectorError
from smed_monitor.core.model import Record
from smed_monitor.state.element_history import ElementHistory, element_history
from smed_monitor.state.history import Point, Ring

TEXT = "Content-Type: text/plain; version=0.0.4\r\n"
ELEMENTS = b"""\
smed_element_read_bytes_per_second{element="u/a",window="current"} 3e6
smed_element_read_bytes_per_second{element="u/a",window="average"} 9e9
smed_element_read_bytes_per_second{element="u/b",window="current"} 8e9
smed_element_write_bytes_per_second{element="u/a",window="current"} 5e6
smed_element_queue_depth{element="u/a"} 2
"""
OST = b"".join(
    b'%b{component="ost",target="fs-OST0000"} %d\n' % (name, value)
    for name, value in (
        (b"lustre_read_bytes_total", 100),
        (b"lustre_write_bytes_total", 200),
        (b"lustre_available_kibibytes", 10),
        (b"lustre_capacity_kibibytes", 20),
        (b"lustre_degraded", 1),
    )
)


needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None, reason="Debian package prometheus is not installed"
)


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Prometheus that scrapes an exporter of all of that every second."""
    exporter, folder = FakeExporter(), tmp_path_factory.mktemp("prometheus")
    exporter.answer = whole(OST + ELEMENTS, headers=TEXT)
    address = exporter.url.removeprefix("http://").removesuffix("/metrics")
    config = folder / "prometheus.yml"
    config.write_text(
        "global: {scrape_interval: 1s}\n"
        f"scrape_configs: [{{job_name: l, static_configs: [{{targets: ['{address}']}}]}}]\n"
    )
    listen = f"127.0.0.1:{free_port()}"
    server = subprocess.Popen(
        [
            "prometheus",
            f"--config.file={config}",
            f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address={listen}",
            "--log.level=error",
        ]
    )
    yield f"http://{listen}"
    server.terminate()
    server.wait(60)
    exporter.close()


@needs_prometheus
def test_an_ost_is_read_out_of_prometheus(prometheus: str) -> None:
    collector = Prometheus()
    source = collector.open(Target(name="p", collector="prometheus", url=prometheus, timeout_seconds=5))
    samples: list[Any] = []

    def scraped() -> bool:
        try:
            samples.append(collector.parse(source.read().body))
        except CollectorError:
            return False
        return list(collector.names(samples[-1])) == ["fs-OST0000"]

    wait_until(scraped, "Prometheus knows the OST")
    seen = collector.reading(samples[-1], ElementSettings(id="fs/o", target="p", ost="fs-OST0000"))
    assert (seen.read_bytes, seen.written_bytes) == (100, 200)
    assert (seen.free_bytes, seen.size_bytes, seen.degraded) == (10240, 20480, True)
    assert seen.stamp is not None
    source.close()


def history(record: Record, prometheus: str) -> list[Point]:
    """The first two known steps of a record's element, once Prometheus has them."""
    begun = time.time() - 15
    settings = HistorySettings(prometheus=prometheus if record.source != "prometheus" else None)
    settings = settings.model_copy(update={"timeout_seconds": 10.0})
    answers: list[ElementHistory] = []

    def answered() -> bool:
        answers.append(element_history(record, Ring(2), settings, begun, time.time(), 5.0))
        return answers[-1].source == "prometheus" and len(answers[-1].points) >= 2

    wait_until(answered, "Prometheus has two steps")
    return answers[-1].points


@needs_prometheus
def test_the_history_of_an_element_comes_from_the_prometheus_that_scrapes_the_monitor(
    prometheus: str,
) -> None:
    points = history(Record(element="u/a", source="statvfs", target="n1"), prometheus)
    assert {point[1:] for point in points} == {(3e6, 5e6, 2)}
    assert all(point.at % 5 == 0 for point in points)


@needs_prometheus
def test_the_history_of_an_ost_that_is_read_out_of_prometheus_comes_from_its_counters(
    prometheus: str,
) -> None:
    record = Record(element="fs/o", source="prometheus", target=prometheus, device="fs-OST0000")
    points = history(record, prometheus)
    assert {point[1:] for point in points} == {(0, 0, None)}
