"""The metrics of the parts in Python, as their sources declare them to prometheus_client."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_KINDS = {
    "Counter": "counter", "CounterMetricFamily": "counter",
    "Gauge": "gauge", "GaugeMetricFamily": "gauge",
    "Histogram": "histogram", "Summary": "summary", "SummaryMetricFamily": "summary",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Metric:
    """One family of metrics."""

    name: str
    kind: str
    labels: tuple[str, ...]
    help: str


def metrics_of(folder: Path) -> list[Metric]:
    """Return the families that the sources below ``folder`` declare, by name; raises ValueError for none."""
    metrics = {
        entry.name: entry
        for path in folder.rglob("*.py")
        for entry in _declared(ast.parse(path.read_text("utf-8")))
    }
    if not metrics:
        raise ValueError(f"{folder} declares no metrics")
    return [metrics[name] for name in sorted(metrics)]


def _declared(tree: ast.Module) -> Iterator[Metric]:
    named = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        texts = [arg.value for arg in node.args[:2] if isinstance(arg, ast.Constant)]
        if node.func.id not in _KINDS or len(texts) != 2:
            continue
        given = {key.arg: key.value for key in node.keywords}
        labels = given.get("labels") or given.get("labelnames") or next(iter(node.args[2:]), None)
        if isinstance(labels, ast.Name):
            labels = named[labels.id]
        kind = _KINDS[node.func.id]
        name = str(texts[0])
        if kind == "counter" and not name.endswith("_total"):
            name += "_total"
        yield Metric(name, kind, tuple(ast.literal_eval(labels)) if labels is not None else (), str(texts[1]))
