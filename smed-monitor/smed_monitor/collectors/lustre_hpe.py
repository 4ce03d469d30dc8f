"""HewlettPackard/lustre_exporter (port 9169): sizes in kilobytes, no service times of OSTs.

The first exporter, no longer maintained but still running at many sites.
"""

from smed_monitor.collectors.lustre_series import COMMON, Dialect

HPE = Dialect("HewlettPackard/lustre_exporter", {**COMMON, "lustre_degraded": "degraded"})
