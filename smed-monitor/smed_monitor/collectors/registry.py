"""The collectors a target may name.  To add one: write its file, add its line here, capture a fixture."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from smed_monitor.collectors.base import Collector
from smed_monitor.collectors.directories import Directories
from smed_monitor.collectors.lustre_files import LustreFiles
from smed_monitor.collectors.lustre_gsi import LustreGsi
from smed_monitor.collectors.lustre_hpe import LustreHpe
from smed_monitor.collectors.lustre_whamcloud import LustreWhamcloud
from smed_monitor.collectors.mergerfs import Mergerfs
from smed_monitor.collectors.node_exporter import NodeExporter
from smed_monitor.collectors.prometheus import Prometheus
from smed_monitor.collectors.sampler import Sampler
from smed_monitor.collectors.statvfs import Statvfs
from smed_monitor.collectors.textfile import Textfile

COLLECTORS: Mapping[str, Collector[Any]] = MappingProxyType(
    {
        "node_exporter": NodeExporter(),
        "lustre_hpe": LustreHpe(),
        "lustre_gsi": LustreGsi(),
        "lustre_whamcloud": LustreWhamcloud(),
        "lustre_files": LustreFiles(),
        "textfile": Textfile(),
        "sampler": Sampler(),
        "prometheus": Prometheus(),
        "statvfs": Statvfs(),
        "mergerfs": Mergerfs(),
        "directories": Directories(),
    }
)
