"""Figure 3, built as its head says against what is installed, finds the library when it starts."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from stranger_programs import run

FIGURE = Path(__file__).parents[3] / "examples/figure3.cpp"
NOT_PLACED = "fileName.dat was not placed: "
IN_THE_SYSTEM = """
mount -t tmpfs tmpfs /usr/local
mount -t tmpfs tmpfs "$2"
cp -a /etc/. "$2"
mount --bind "$2" /etc
cmake --install "$1" --component api >install.log
grep -F "Programs find /usr/local/" install.log >/dev/null
sh -euc "$3"
./figure3
"""


def the_command_of_its_head() -> str:
    """Return how the example says it is built."""
    match = re.search(r"^ \*     (c\+\+ .*)$", FIGURE.read_text(), re.MULTILINE)
    assert match
    return match[1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A directory with the example, as somebody else has it."""
    shutil.copy(FIGURE, tmp_path)
    return tmp_path


def test_what_an_installation_below_a_prefix_of_ones_own_says_is_enough(folder: Path, build: Path) -> None:
    prefix = folder / "prefix"
    said = run(["cmake", "--install", build, "--component", "api", "--prefix", prefix])
    flag = re.search(r"link programs with (\S+),", said)
    assert flag, said
    (package,) = prefix.rglob("ses.pc")
    environment = {**os.environ, "PKG_CONFIG_PATH": str(package.parent)}
    built = f"{the_command_of_its_head()} {flag[1]}"
    subprocess.run(["sh", "-euc", built], cwd=folder, env=environment, timeout=180, check=True)
    assert run([folder / "figure3"], folder).startswith(NOT_PLACED)
    assert (folder / "fileName.dat").read_text() == "data\n"


def test_a_package_that_is_made_touches_no_linker(folder: Path, build: Path) -> None:
    command = ["env", f"DESTDIR={folder}/package", "cmake", "--install", build, "--component", "api"]
    said = run(command)
    assert "libses.so.0" in said
    assert "Programs " not in said


@pytest.mark.root
def test_installed_in_the_system_it_runs_with_nothing_more(folder: Path, build: Path) -> None:
    """In a mount namespace, where /usr/local and /etc are copies."""
    if os.geteuid() != 0:
        pytest.skip("needs root: mounts")
    etc = folder / "etc"
    etc.mkdir()
    said = run(
        ["unshare", "--mount", "--propagation", "private", "env", "-u", "LD_LIBRARY_PATH",
         "sh", "-euc", IN_THE_SYSTEM, "sh", build, etc, the_command_of_its_head()],
        folder,
    )  # fmt: skip
    assert said.startswith(NOT_PLACED)
    assert (folder / "fileName.dat").read_text() == "data\n"
