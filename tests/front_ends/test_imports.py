"""Front ends stand at the edge: nothing of ``ses`` uses them, and ``ses`` asks for none of their packages."""

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SES = ROOT / "libses/python/ses"
NEED = {"fsspec", "dask"}


def imported(source: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def test_nothing_of_ses_uses_a_front_end() -> None:
    others = [source for source in SES.rglob("*.py") if source.parent.name != "front_ends"]
    assert len(others) > 200
    assert [str(source) for source in others if "ses.front_ends" in imported(source)] == []


def test_each_uses_the_package_it_is_for_and_ses_requires_none() -> None:
    files = {source.stem: source for source in (SES / "front_ends").glob("[a-z]*.py")}
    assert {*NEED, "snakemake", "galaxy", "shell"} <= set(files)
    for name, source in files.items():
        packages = {module.partition(".")[0] for module in imported(source)}
        assert packages & {"fsspec", "dask", "snakemake", "tpv", "galaxy"} == NEED & {name}
        assert len(source.read_text().splitlines()) <= 150
    about = tomllib.loads((ROOT / "libses/python/pyproject.toml").read_text())["project"]
    required = {re.split(r"[^a-z0-9-]", text)[0] for text in about["dependencies"]}
    assert "click" in required
    assert not required & {*NEED, "snakemake", "galaxy"}
