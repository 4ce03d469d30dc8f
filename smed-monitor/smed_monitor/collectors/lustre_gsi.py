"""GSI-HPC/lustre_exporter, the maintained fork: the names of its ancestor, but sizes are called kibibytes.

Versions before the renaming of sizes are understood too.
"""

from smed_monitor.collectors.lustre_series import COMMON, Dialect

GSI = Dialect(
    "GSI-HPC/lustre_exporter",
    {
        **COMMON,
        "lustre_available_kibibytes": "free",
        "lustre_capacity_kibibytes": "size",
        "lustre_degraded": "degraded",
    },
)
