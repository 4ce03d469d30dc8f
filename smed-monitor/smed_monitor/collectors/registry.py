"""The collectors a target may name.  To add one: write its file, add its line here, capture a fixture."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from smed_monitor.collectors.base import Collector
from smed_monitor.collectors.node_exporter import NodeExporter

COLLECTORS: Mapping[str, Collector[Any]] = MappingProxyType(
    {
        "node_exporter": NodeExporter(),
    }
)
