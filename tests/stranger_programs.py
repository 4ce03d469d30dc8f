"""Building programs against an installed libses, and reading what they print."""

from collections.abc import Sequence
from pathlib import Path

from ran import ran


def run(command: Sequence[str | Path], cwd: Path | None = None) -> str:
    """Run a build step for its output; what it said is the failure's text."""
    parts = [str(part) for part in command]
    done = ran(parts, cwd=cwd)
    return done.stdout


def answers(text: str) -> dict[str, str]:
    """The "name=value" lines a stranger's program prints."""
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def build_with_cmake(source: Path, into: Path, prefix: Path) -> Path:
    """Configure and build a project that finds libses under PREFIX."""
    run(["cmake", "-S", source, "-B", into, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}"])
    run(["cmake", "--build", into])
    return into
