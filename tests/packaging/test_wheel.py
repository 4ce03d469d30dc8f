"""The wheel of ``ses`` works in a fresh environment, with nothing else of a checkout."""

import os
import sys
from pathlib import Path

import pytest
from ran import ran

ROOT = Path(__file__).resolve().parents[2]
SYSTEM_PYTHON = "/usr/bin/python3"
CREATE = """
import ses.api
with ses.api.open("file", ses.api.StoragePolicy(capacity="1GB"), "w") as file:
    file.write("stored")
    print(file.result.reason.name)
print(ses.api.__file__)
"""


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """Run a command outside of any Python environment; what it printed."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environment |= {"SES_LIBRARY": str(ROOT / "build/libses/libses.so.0"), "SES_SYNC_MS": "0"}
    parts = [str(part) for part in command]
    done = ran(parts, cwd=cwd, env=environment)
    return done.stdout


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment of the distribution's Python and libraries, in which pip installed the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    offline = ("--no-index", "--no-build-isolation", "--no-deps")
    run(*pip, "wheel", *offline, "-w", folder, ROOT / "libses/python", ROOT / "ses-service/client")
    run(SYSTEM_PYTHON, "-m", "venv", "--system-site-packages", "--without-pip", folder / "venv")
    python = folder / "venv/bin/python"
    run(*pip, "--python", python, "install", "--no-index", "--find-links", folder, "qstorman-ses")
    return folder / "venv"


def test_the_command_starts_and_its_manual_page_is_there(fresh: Path) -> None:
    assert run(fresh / "bin/ses", "--version") == "ses 0.1.0\n"
    assert "explain" in run(fresh / "bin/ses", "--help")
    assert (fresh / "share/man/man1/ses.1").is_file()


@pytest.mark.parametrize("name", ["experiment", "simulate"])
def test_a_command_of_the_laboratory_says_in_a_line_what_to_install(fresh: Path, name: str) -> None:
    done = ran([fresh / "bin/ses", name, "any", "--option", "1"], code=1)
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert f"ses {name} is not installed" in line
    assert f"benchmarks/{name}" in line
    assert "make install" in line


def test_a_program_creates_a_file_by_a_policy(fresh: Path, tmp_path: Path) -> None:
    reason, module = run(fresh / "bin/python", "-c", CREATE, cwd=tmp_path).split()
    assert reason == "NOT_PLACED_NOT_MANAGED"
    assert Path(module).is_relative_to(fresh)
    assert (tmp_path / "file").read_text() == "stored"
