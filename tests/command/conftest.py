"""What the tests of the ``ses`` command stand on: a fake service, and a way to run commands."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

sys.path.insert(0, str(Path(__file__).parent))

from fake_selection_service import TOKEN, SelectionServiceDouble, serving
from ports import free_port
from ses.cli import main
from ses.demo.mounts import unmount
from ses.demo.tools import tool

ROOT = Path(__file__).parents[2]


@pytest.fixture
def service() -> Iterator[SelectionServiceDouble]:
    with serving(SelectionServiceDouble()) as fake:
        yield fake


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    path.chmod(0o600)
    return path


@pytest.fixture
def dead_url() -> str:
    """An address where nothing listens."""
    return f"http://127.0.0.1:{free_port()}"


@dataclass
class Ses:
    """Runs ``ses`` against the fake; ``env`` is its whole environment of ours."""

    env: dict[str, str]

    def __call__(self, *args: str, code: int | None = None, **env: str) -> Result:
        runner = CliRunner()
        cleared = {name: None for name in os.environ if name.startswith("SES_")}
        result = runner.invoke(main, list(args), env={**cleared, "COLUMNS": "160", **self.env, **env})
        assert code in (None, result.exit_code), result.output
        return result

    def json(self, *args: str, code: int = 0) -> Any:
        return json.loads(self(*args, "--json", code=code).stdout)


@pytest.fixture
def ses(service: SelectionServiceDouble, token_file: Path, tmp_path: Path) -> Ses:
    return Ses({
        "SES_SERVICE_URL": service.url,
        "SES_TOKEN_FILE": str(token_file),
        "SES_AGENT_SOCKET": str(tmp_path / "no-agent.sock"),
        "HOME": str(tmp_path),
    })  # fmt: skip


@pytest.fixture
def union(tmp_path: Path) -> Iterator[tuple[Path, list[Path]]]:
    """A real mergerfs union of two branches: mount point and branches."""
    branches = [tmp_path / "b1", tmp_path / "b2"]
    mount = tmp_path / "union"
    for directory in (*branches, mount):
        directory.mkdir()
    with ExitStack() as undo:
        undo.callback(unmount, mount)
        tool(
            "mergerfs", "-o", "category.create=mfs,minfreespace=1M", ":".join(map(str, branches)), str(mount)
        )
        yield mount, branches
