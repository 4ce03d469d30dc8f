"""Alerts and dashboard of the selection service: on metrics it has, each fired by a test of its own.

What promtool says of the rules is asked in tests/monitor/test_prometheus.py, for all of them.
"""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from ran import ran

ROOT = Path(__file__).resolve().parents[2]
PROMETHEUS = ROOT / "packaging" / "prometheus"
GROUPS: list[dict[str, Any]] = yaml.safe_load((PROMETHEUS / "rules.yml").read_text())["groups"]
ALERTS: list[dict[str, Any]] = next(group["rules"] for group in GROUPS if group["name"] == "qstorman-service")
DASHBOARD = json.loads((ROOT / "packaging" / "grafana" / "service.json").read_text())
QUERIES = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]


def _published() -> set[str]:
    source = (ROOT / "ses-service" / "ses_service" / "process" / "metrics.py").read_text()
    return {re.sub(r"_total$", "", name) for name in re.findall(r'"(ses_[a-z_]+)"', source)}


@pytest.mark.parametrize("expression", [*QUERIES, *(alert["expr"] for alert in ALERTS)])
def test_what_is_asked_for_is_published(expression: str) -> None:
    named = set(re.findall(r"\bses_[a-z_]+", expression))
    assert named or 'up{job="ses-service"' in expression
    assert {re.sub(r"_(total|bucket|sum|count)$", "", name) for name in named} <= _published()


def test_what_somebody_is_woken_for() -> None:
    by_name = {alert["alert"]: alert for alert in ALERTS}
    assert {
        "SelectionServiceDown", "SelectionServiceBlind", "SelectionServiceRefuses", "KnowledgeBaseAway",
        "LedgerNotStored", "DatabaseRefuses", "NodesSilent",
    } <= by_name.keys()  # fmt: skip
    for alert in ALERTS:
        assert alert["labels"]["severity"] in ("warning", "critical")
        assert alert["annotations"]["summary"], alert
        assert alert["annotations"]["description"], alert


def test_each_alert_is_fired_by_the_made_up_minutes() -> None:
    tests = (PROMETHEUS / "rules_test.yml").read_text()
    match = re.search(r"count\(count by \(alertname\).*\n.*\n.*value: (\d+)", tests)
    assert match
    assert int(match[1]) == len(ALERTS)


def test_every_query_of_the_dashboard_is_promql(tmp_path: Path) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian package prometheus)")
    assert len(QUERIES) > 12
    rules = [{"record": f"q{number}", "expr": query} for number, query in enumerate(QUERIES)]
    file = tmp_path / "queries.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "g", "rules": rules}]}))
    ran([promtool, "check", "rules", file])


def test_panels_lie_beside_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
