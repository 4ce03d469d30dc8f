"""HewlettPackard/lustre_exporter (port 9169): sizes in kilobytes, no service times of OSTs."""

from __future__ import annotations

from typing import ClassVar

from smed_monitor.collectors.lustre_series import Dialect, LustreExporter


class LustreHpe(LustreExporter):
    """The first exporter, no longer maintained but still running at many sites."""

    dialect: ClassVar[Dialect] = Dialect(
        who="HewlettPackard/lustre_exporter",
        fields={
            "lustre_read_bytes_total": "read_bytes",
            "lustre_write_bytes_total": "written_bytes",
            "lustre_read_samples_total": "operations",
            "lustre_write_samples_total": "operations",
            "lustre_available_kilobytes": "free",
            "lustre_capacity_kilobytes": "size",
            "lustre_degraded": "degraded",
        },
        operations={},
    )
