"""The bench of the knowledge base runs, on both stores, and measures every column."""

import json
import sys
from pathlib import Path

import pytest
from ran import ran

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = {
    "start",
    "notice",
    "write",
    "requirement",
    "whole",
    "load",
    "one_element",
    "all_elements",
    "memory_mb",
}


@pytest.mark.parametrize("store", ["oxigraph", "fuseki"])
def test_the_bench_of_a_store_runs_and_measures_every_column(store: str, tmp_path: Path) -> None:
    output = tmp_path / "figures.json"
    words = ["--store", store, "--elements", "24", "--rounds", "2", "--output", str(output)]
    done = ran([sys.executable, ROOT / "benchmarks/knowledge/stores.py", *words])
    (figures,) = json.loads(output.read_text())
    assert (figures["store"], figures["elements"]) == (store, 24)
    assert all(figures[column] > 0 for column in COLUMNS)
    assert f"| {store} | 24 |" in done.stdout
