"""whamcloud/lustrefs-exporter: the names of the others with an ``operation`` label, and start times.

It knows when counters were reset, and how long operations took.  Its counters may be typed as gauges and
carry timestamps; neither matters here.
"""

from smed_monitor.collectors.lustre_series import COMMON, Dialect

WHAMCLOUD = Dialect(
    "whamcloud/lustrefs-exporter",
    {**COMMON, "lustre_stats_start_time": "started"},
    {
        ("lustre_stats_time_total", "read"): "busy_microseconds",
        ("lustre_stats_time_total", "write"): "busy_microseconds",
    },
)
