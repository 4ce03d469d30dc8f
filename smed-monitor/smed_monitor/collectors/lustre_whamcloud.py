"""whamcloud/lustrefs-exporter: the names of the others with an ``operation`` label, and start times.

Its counters may be typed as gauges and carry timestamps; neither matters here.
"""

from __future__ import annotations

from typing import ClassVar

from smed_monitor.collectors.lustre_series import Dialect, LustreExporter


class LustreWhamcloud(LustreExporter):
    """Knows when counters were reset, and how long operations took."""

    dialect: ClassVar[Dialect] = Dialect(
        who="whamcloud/lustrefs-exporter",
        fields={
            "lustre_read_bytes_total": "read_bytes",
            "lustre_write_bytes_total": "written_bytes",
            "lustre_read_samples_total": "operations",
            "lustre_write_samples_total": "operations",
            "lustre_available_kilobytes": "free",
            "lustre_capacity_kilobytes": "size",
            "lustre_stats_start_time": "started",
        },
        operations={
            ("lustre_stats_time_total", "read"): "busy_microseconds",
            ("lustre_stats_time_total", "write"): "busy_microseconds",
        },
    )
