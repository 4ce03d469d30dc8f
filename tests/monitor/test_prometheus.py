"""Prometheus can read what the repository configures for it and what the monitor publishes."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from ran import ran
from smed_monitor.config.settings import ElementSettings, Settings, Target
from smed_monitor.http.app import create_app
from smed_monitor.scraping.monitor import Monitor

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "packaging" / "prometheus" / "prometheus.yml"


@pytest.fixture
def promtool() -> str:
    path = shutil.which("promtool")
    if path is None:
        pytest.skip("promtool is not installed (Debian package prometheus)")
    return path


def test_promtool_accepts_the_configuration(promtool: str, tmp_path: Path) -> None:
    shutil.copy(CONFIG.with_name("rules.yml"), tmp_path)
    (tmp_path / "ca.pem").touch()  # it looks whether there is one
    text = CONFIG.read_text().replace("/run/qstorman-authority", str(tmp_path))
    assert str(tmp_path) in text
    (tmp_path / "prometheus.yml").write_text(text)
    checked = ran([promtool, "check", "config", tmp_path / "prometheus.yml"])
    assert "SUCCESS" in checked.stdout


def test_promtool_accepts_the_rules_and_they_say_what_is_meant(promtool: str) -> None:
    for arguments in (["check", "rules", "rules.yml"], ["test", "rules", "rules_test.yml"]):
        checked = ran([promtool, *arguments], cwd=CONFIG.parent)
        assert "SUCCESS" in checked.stdout


def test_every_query_of_the_dashboard_is_promql_on_metrics_that_exist(promtool: str, tmp_path: Path) -> None:
    dashboard = json.loads((ROOT / "packaging" / "grafana" / "elements.json").read_text())
    queries = [each["expr"] for panel in dashboard["panels"] for each in panel["targets"]]
    assert len(queries) > 8
    rules = {
        "groups": [
            {"name": "g", "rules": [{"record": f"q{n}", "expr": query} for n, query in enumerate(queries)]}
        ]
    }
    (tmp_path / "queries.yml").write_text(yaml.safe_dump(rules))
    ran([promtool, "check", "rules", tmp_path / "queries.yml"])
    rules_file = yaml.safe_load((CONFIG.parent / "rules.yml").read_text())
    expressions = [rule["expr"] for group in rules_file["groups"] for rule in group["rules"]]
    recorded = {
        rule["record"] for group in rules_file["groups"] for rule in group["rules"] if "record" in rule
    }
    source = (ROOT / "smed-monitor" / "smed_monitor" / "http/metrics.py").read_text()
    named = {
        name
        for text in [*queries, *expressions]
        for name in re.findall(r"\bsmed_[a-z_]+|element:[a-z0-9_:]+", text)
    }
    assert len(named) > 10
    for name in named:
        known = name in recorded or re.sub(r"_(total|sum|count)$", "", name) in source
        assert known, f"nothing publishes {name}"


def test_promtool_finds_no_fault_in_the_metrics(
    promtool: str, exporter: Any, answer_whole: Any, page: Callable[[str], bytes]
) -> None:
    exporter.answer = answer_whole(page("before"))
    down = Target(name="n2", collector="node_exporter", url="http://127.0.0.1:1/metrics")
    monitor = Monitor(
        Settings(
            target=(Target(name="n1", collector="node_exporter", url=exporter.url, timeout_seconds=10), down),
            element=(
                ElementSettings(id="union/b1", target="n1", mount_point="/srv/qstorman/b1"),
                ElementSettings(id="union/b2", target="n2", mount_point="/srv/qstorman/b2"),
            ),
        )
    )
    monitor.scrape_once()
    metrics = create_app(monitor).test_client().get("/metrics")
    assert metrics.content_type.startswith("text/plain; version=")
    checked = subprocess.run(
        [promtool, "check", "metrics"], input=metrics.data, capture_output=True, timeout=60
    )
    assert checked.returncode == 0, checked.stdout.decode() + checked.stderr.decode()


def test_every_scraped_host_is_a_compose_service_on_the_port_it_listens_on() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    targets = [
        target
        for job in yaml.safe_load(CONFIG.read_text())["scrape_configs"]
        for group in job["static_configs"]
        for target in group["targets"]
    ]
    assert {"smed-monitor:8631", "ses-service:8630", "node-exporter:9100"} <= set(targets)
    for target in targets:
        service, _, port = target.partition(":")
        stated = str(compose["services"][service].get("command", "")) + str(
            compose["services"][service].get("healthcheck", "")
        )
        assert f":{port}" in stated, f"nothing in docker-compose.yml says that {service} listens on {port}"
