"""OSTs out of node_exporter's textfile directory, where ``smed-monitor textfile`` wrote them.

A text file never goes stale by itself: node_exporter repeats it for ever.  So every OST carries the
moment it was written, and a page in which that moment did not move is old.
"""

from smed_monitor.collectors.lustre_series import Dialect

TEXTFILE = Dialect(
    "node_exporter's textfile collector",
    {
        "smed_ost_read_bytes_total": "read_bytes",
        "smed_ost_written_bytes_total": "written_bytes",
        "smed_ost_operations_total": "operations",
        "smed_ost_busy_microseconds_total": "busy_microseconds",
        "smed_ost_in_flight": "in_flight",
        "smed_ost_available_kibibytes": "free",
        "smed_ost_size_kibibytes": "size",
        "smed_ost_degraded": "degraded",
        "smed_ost_read_only": "read_only",
        "smed_ost_no_create": "no_create",
        "smed_ost_counters_started_seconds": "started",
        "smed_ost_written_timestamp_seconds": "stamp",
    },
)
