"""The collectors a target may name.  To add one: write its file, add its line here, capture a fixture."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from smed_monitor.collectors.base import Collector
from smed_monitor.collectors.directories import Directories
from smed_monitor.collectors.lustre_files import LustreFiles
from smed_monitor.collectors.lustre_gsi import GSI
from smed_monitor.collectors.lustre_hpe import HPE
from smed_monitor.collectors.lustre_series import LustreExporter
from smed_monitor.collectors.lustre_whamcloud import WHAMCLOUD
from smed_monitor.collectors.mergerfs import Mergerfs
from smed_monitor.collectors.node_exporter import NodeExporter
from smed_monitor.collectors.prometheus import Prometheus
from smed_monitor.collectors.sampler import Sampler
from smed_monitor.collectors.statvfs import Statvfs
from smed_monitor.collectors.textfile import TEXTFILE

COLLECTORS: Mapping[str, Collector[Any]] = MappingProxyType(
    {
        "node_exporter": NodeExporter(),
        "lustre_hpe": LustreExporter(HPE),
        "lustre_gsi": LustreExporter(GSI),
        "lustre_whamcloud": LustreExporter(WHAMCLOUD),
        "lustre_files": LustreFiles(),
        "textfile": LustreExporter(TEXTFILE),
        "sampler": Sampler(),
        "prometheus": Prometheus(),
        "statvfs": Statvfs(),
        "mergerfs": Mergerfs(),
        "directories": Directories(),
    }
)
