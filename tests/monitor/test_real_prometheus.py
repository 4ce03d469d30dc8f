"""The queries are ones a real Prometheus (Debian's package) understands and answers."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from smed_monitor.collectors.prometheus import Prometheus
from smed_monitor.errors import CollectorError
from smed_monitor.settings import ElementSettings, Target

PAGE = b"".join(
    b'%b{component="ost",target="fs-OST0000"} %d\n' % (name, value)
    for name, value in (
        (b"lustre_read_bytes_total", 100),
        (b"lustre_write_bytes_total", 200),
        (b"lustre_available_kibibytes", 10),
        (b"lustre_capacity_kibibytes", 20),
        (b"lustre_degraded", 1),
    )
)


@pytest.mark.skipif(shutil.which("prometheus") is None, reason="Debian package prometheus is not installed")
def test_an_ost_is_read_out_of_prometheus(
    tmp_path: Path, exporter: Any, answer_whole: Any, eventually: Callable[[Callable[[], object], str], None]
) -> None:
    exporter.answer = answer_whole(PAGE, headers="Content-Type: text/plain; version=0.0.4\r\n")
    address = exporter.url.removeprefix("http://").removesuffix("/metrics")
    config = tmp_path / "prometheus.yml"
    config.write_text(
        "global: {scrape_interval: 1s}\n"
        f"scrape_configs: [{{job_name: l, static_configs: [{{targets: ['{address}']}}]}}]\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as free:
        listen = f"127.0.0.1:{free.getsockname()[1]}"
    server = subprocess.Popen(
        [
            "prometheus",
            f"--config.file={config}",
            f"--storage.tsdb.path={tmp_path}/data",
            f"--web.listen-address={listen}",
            "--log.level=error",
        ]
    )
    collector = Prometheus()
    source = collector.open(
        Target(name="p", collector="prometheus", url=f"http://{listen}", timeout_seconds=5)
    )
    samples: list[Any] = []

    def scraped() -> bool:
        try:
            samples.append(collector.parse(source.read().body))
        except CollectorError:
            return False
        return list(collector.found(samples[-1])) == ["fs-OST0000"]

    try:
        eventually(scraped, "Prometheus knows the OST")
        found = collector.reading(samples[-1], ElementSettings(id="fs/o", target="p", ost="fs-OST0000"))
        assert (found.read_bytes, found.written_bytes) == (100, 200)
        assert (found.free_bytes, found.size_bytes, found.degraded) == (10240, 20480, True)
        assert found.stamp is not None
    finally:
        source.close()
        server.terminate()
        server.wait(30)
