"""GSI-HPC/lustre_exporter: the names of its ancestor, but sizes are called kibibytes."""

from __future__ import annotations

from typing import ClassVar

from smed_monitor.collectors.lustre_series import Dialect, LustreExporter


class LustreGsi(LustreExporter):
    """The maintained fork; versions before the renaming of sizes are understood too."""

    dialect: ClassVar[Dialect] = Dialect(
        who="GSI-HPC/lustre_exporter",
        fields={
            "lustre_read_bytes_total": "read_bytes",
            "lustre_write_bytes_total": "written_bytes",
            "lustre_read_samples_total": "operations",
            "lustre_write_samples_total": "operations",
            "lustre_available_kibibytes": "free",
            "lustre_capacity_kibibytes": "size",
            "lustre_available_kilobytes": "free",
            "lustre_capacity_kilobytes": "size",
            "lustre_degraded": "degraded",
        },
        operations={},
    )
