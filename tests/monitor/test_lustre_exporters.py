"""The exporters of Lustre servers are understood, each in its own dialect.

The pages are written after the names and labels each exporter's source gives its series; none of the
three runs without a Lustre server.
"""

from typing import Any

import pytest
from smed_monitor.collectors.registry import COLLECTORS
from smed_monitor.config.settings import ElementSettings
from smed_monitor.core.errors import ContentError, ElementMissingError
from smed_monitor.core.model import Reading

OST = 'component="ost",target="fs-OST0000"'
HPE = f"""lustre_read_bytes_total{{{OST}}} 100
lustre_write_bytes_total{{{OST}}} 200
lustre_read_samples_total{{{OST}}} 3
lustre_write_samples_total{{{OST}}} 4
lustre_read_bytes_total{{component="client",target="fs-ffff"}} 999
lustre_available_kilobytes{{{OST}}} 10
lustre_capacity_kilobytes{{{OST}}} 20
lustre_degraded{{{OST}}} 1
"""
WHAMCLOUD = f"""lustre_read_bytes_total{{{OST},operation="read",otel_scope_name="lustre"}} 100 1795226168000
lustre_write_bytes_total{{{OST},operation="write",otel_scope_name="lustre"}} 200 1795226168000
lustre_available_kilobytes{{{OST},otel_scope_name="lustre"}} 10
lustre_capacity_kilobytes{{{OST},otel_scope_name="lustre"}} 20
lustre_stats_start_time{{{OST}}} 1795214806
lustre_stats_time_total{{{OST},operation="read"}} 1000000
lustre_stats_time_total{{{OST},operation="write"}} 2000000
lustre_stats_time_total{{{OST},operation="destroy"}} 9000000
"""


def reading(name: str, page: str) -> Reading:
    collector: Any = COLLECTORS[name]
    element = ElementSettings(id="fs/OST0000", target="oss1", ost="fs-OST0000")
    measured: Reading = collector.reading(collector.parse(page.encode()), element)
    return measured


@pytest.mark.parametrize(
    ("name", "page"),
    [("lustre_hpe", HPE), ("lustre_gsi", HPE), ("lustre_gsi", HPE.replace("kilobytes", "kibibytes"))],
)
def test_counters_space_and_flags_of_the_go_exporters(name: str, page: str) -> None:
    seen = reading(name, page)
    assert (seen.read_bytes, seen.written_bytes, seen.operations) == (100, 200, 7)
    assert (seen.free_bytes, seen.size_bytes, seen.degraded) == (10240, 20480, True)


def test_the_rust_exporter_tells_start_and_service_time() -> None:
    seen = reading("lustre_whamcloud", WHAMCLOUD)
    assert (seen.read_bytes, seen.written_bytes, seen.free_bytes) == (100, 200, 10240)
    assert (seen.busy_seconds, seen.request_seconds, seen.started) == (3.0, 3.0, 1795214806)


def test_series_of_one_target_are_added_up_over_other_labels_and_repeats_count_once() -> None:
    line = f'lustre_read_bytes_total{{{OST},size="%s"}} %d\n'
    page = HPE + line % ("a", 5) + line % ("b", 7) + line % ("b", 7)
    assert reading("lustre_hpe", page).read_bytes == 112


def test_counters_an_idle_target_does_not_show_are_zero() -> None:
    page = "\n".join(line for line in HPE.splitlines() if "_bytes_total" not in line) + "\n"
    seen = reading("lustre_hpe", page)
    assert (seen.read_bytes, seen.written_bytes, seen.free_bytes) == (0, 0, 10240)


def test_a_target_of_another_server_is_missing() -> None:
    with pytest.raises(ElementMissingError, match="mounted on another server"):
        reading("lustre_gsi", HPE.replace("OST0000", "OST0001"))


@pytest.mark.parametrize("name", ["lustre_hpe", "lustre_gsi", "lustre_whamcloud", "textfile"])
@pytest.mark.parametrize("body", [b"", b"<html>", b"go_goroutines 7\n", b"\x00\xff"])
def test_something_else_than_the_exporter_is_refused(name: str, body: bytes) -> None:
    with pytest.raises(ContentError, match="is not the page of"):
        COLLECTORS[name].parse(body)


def test_a_line_that_breaks_off_is_refused() -> None:
    with pytest.raises(ContentError, match="is not Prometheus text"):
        COLLECTORS["lustre_hpe"].parse(HPE.encode() + b'lustre_degraded{component="ost')
