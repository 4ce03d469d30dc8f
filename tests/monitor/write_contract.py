"""Writes smed-monitor/openapi.yaml from the application: .venv/bin/python tests/monitor/write_contract.py"""

from pathlib import Path
from typing import Any

import yaml
from smed_monitor.config.settings import ElementSettings, Settings, Target
from smed_monitor.http.app import create_app
from smed_monitor.scraping.monitor import Monitor

CONTRACT = Path(__file__).parents[2] / "smed-monitor" / "openapi.yaml"
HEAD = (
    "# What smed-monitor answers over HTTP. Written by tests/monitor/write_contract.py, compared by a test.\n"
)


def served_contract() -> dict[str, Any]:
    """What a running monitor shows at /openapi.json."""
    target = Target(name="n1", collector="node_exporter", url="http://127.0.0.1:9100/metrics")
    element = ElementSettings(id="union/b1", target="n1", mount_point="/srv/qstorman/b1")
    return dict(create_app(Monitor(Settings(target=(target,), element=(element,)))).spec)


if __name__ == "__main__":
    CONTRACT.write_text(
        HEAD + yaml.safe_dump(served_contract(), sort_keys=True, allow_unicode=True, width=110)
    )
