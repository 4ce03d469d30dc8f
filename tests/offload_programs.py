"""libses-offload installed, and programs linked with it, for plain users to run."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from site import getsitepackages

import pytest
from extras_built import skip_without_extras
from ran import ran

ROOT = Path(__file__).parents[1]
PLAIN = 65534
PATIENCE = 60


@pytest.fixture(scope="session")
def prefix() -> Iterator[Path]:
    """Where the library and the programs are, for every user to read."""
    skip_without_extras()
    folder = Path(tempfile.mkdtemp(prefix="ses-offload-", dir="/tmp"))
    folder.chmod(0o755)
    command = ["cmake", "--install", ROOT / "build/libses", "--component", "offload", "--prefix", folder]
    subprocess.run(command, check=True, capture_output=True)
    pkg = {**os.environ, "PKG_CONFIG_PATH": str(next(folder.glob("lib*/**/pkgconfig")))}

    def flags_of(package: str) -> list[str]:
        argv = ["pkg-config", "--cflags", "--libs", package]
        return ran(argv, env=pkg).stdout.split()

    library = next(folder.glob("lib*/**/libses-offload.so")).parent
    own = [*flags_of("ses-offload"), f"-Wl,-rpath,{library}"]
    programs = {
        "libses/extras/examples/offload/text.c": own,
        "libses/extras/examples/offload/scan.c": [*own, *flags_of("libpq")],
        "tests/extras/offload/chained.c": own,
        "tests/extras/offload/probe.c": own,
        "tests/extras/offload/stranger.c": ["-lzmq"],
        "tests/extras/offload/values.cpp": own,
    }
    for source, linked in programs.items():
        compiler = ["gcc", "-std=gnu11"] if source.endswith(".c") else ["g++", "-std=c++17", "-Wpedantic"]
        program = folder / Path(source).stem
        subprocess.run(
            [*compiler, "-Wall", "-Wextra", "-Werror", ROOT / source, "-o", program, *linked], check=True
        )
    yield folder
    shutil.rmtree(folder)


def build_near_fdw(prefix: Path, folder: Path) -> None:
    """Build the extension of PostgreSQL into a folder, against the installed library."""
    source = ROOT / "libses/extras/offload/postgresql"
    flags = [f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror -O2"]
    for argv in (["-S", source, "-B", folder, *flags], ["--build", folder]):
        subprocess.run(["cmake", *argv], check=True, capture_output=True)


def run(*argv: str | Path, user: int = PLAIN, **more: str) -> subprocess.CompletedProcess[str]:
    return ran(argv, code=None, cwd="/", user=user, group=user, extra_groups=[], env={**os.environ, **more})


def ses_as_plain_user(*words: str | Path, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Call `ses` as a plain user in a folder; Debian's Python, as that of the tests may be in a home."""
    paths = [ROOT / "libses/python", ROOT / "ses-service/client", *(Path(name) for name in getsitepackages())]
    listed = ":".join(map(str, paths))
    program = ("/usr/bin/python3", "-c", "from ses.cli import main; main()")
    return run("sh", "-c", 'cd "$0" && exec "$@"', folder, *program, *words, PYTHONPATH=listed, **more)


def answers(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    assert done.returncode == 0, done.stderr
    return dict(line.split("=", 1) for line in done.stdout.splitlines())


@contextmanager
def client(prefix: Path, *words: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start the probe as a plain user, which opens a domain, calls and then stays until it is killed."""
    with subprocess.Popen(
        [prefix / "probe", *words], cwd="/", user=PLAIN, group=PLAIN, extra_groups=[],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            yield process
        except BaseException:
            process.kill()
            raise


def part_of(client: subprocess.Popen[bytes]) -> int:
    """Return the process that serves it."""
    return int(said_by(client).split("=")[1])


def calls_again(client: subprocess.Popen[bytes]) -> bool:
    """Let it call once more; tells whether that went well."""
    assert client.stdin is not None
    client.stdin.write(b".")
    client.stdin.flush()
    return said_by(client) == "again=0"


def said_by(client: subprocess.Popen[bytes]) -> str:
    assert client.stdout is not None
    return client.stdout.readline().decode().strip()
