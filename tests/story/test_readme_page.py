"""Every block of README.md, from the page itself, on a machine of its own.

The site there is made as docs/site.md says.  Who installs is root, who uses it are alice, and bob, who states
what he needs in his programs only.  What no test here can see is a machine without packages: checkout and
packages are those of the tests.  `make demo` and what it prints: tests/demo/test_demo.py.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from own_machine import ROOT, Machine, machine
from pages import blocks, patient, shell

PAGE = ROOT / "README.md"
UNION = Path("/srv/union")
OUTPUT = UNION / "alice/output.dat"
#: How each block begins.
DEMO = ("apt-get update", "dd (root, zeros.dat)")
INSTALL, RUN, STATE = "make install-demo", "ses-run", "ses requirements"
CPP, COMPILE, PYTHON = "#include <ses/ses.hpp>", "c++", "from ses.api"

PROGRAM = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) {
  static char data[1 << 20];
  int file = open(getenv("OUTPUT"), O_WRONLY | O_CREAT | O_EXCL, 0644);
  if (file < 0) { perror(getenv("OUTPUT")); return 1; }
  return write(file, data, sizeof data) != sizeof data || fsync(file) != 0 || close(file) != 0;
}
"""


def text_of(beginning: str) -> str:
    """The block of the page that begins so."""
    (text,) = [block.text for block in blocks(PAGE) if block.text.startswith(beginning)]
    return text


@dataclass(frozen=True)
class Site:
    """The machine, and where commands are found after the page's installation."""

    machine: Machine
    path: str

    def run(self, script: str, user: str = "alice", directory: Path = ROOT) -> str:
        """Run a script that must succeed; return what it printed."""
        done = self.machine.run(f"export PATH={self.path}\n{script}", user=user, directory=directory)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-8000:]
        return done.stdout

    def placed(self, file: Path) -> dict[str, Any]:
        """What is recorded of a file that was placed and lies where it was placed."""
        answer = json.loads(self.run(f"until_well ses explain {file} --json", file.parent.name))
        assert answer["verified"]
        assert answer["doubt"] is None, "the record is of another file of this name"
        placement: dict[str, Any] = answer["placement"]
        assert placement["subject"]["user"] == file.parent.name
        return placement


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """What README.md installs, running as docs/site.md starts it, and a user."""
    with machine(tmp_path_factory.mktemp("readme"), "3T") as own:
        installed = own.run(text_of(INSTALL) + 'echo "PATH is $PATH"')
        assert installed.returncode == 0, installed.stdout[-4000:] + installed.stderr[-8000:]
        match = re.search(r"^PATH is (.*)$", installed.stdout, re.MULTILINE)
        assert match
        made = Site(own, match[1])
        first_file = "ses requirements set user root"
        pages = takewhile(lambda command: first_file not in command, shell(ROOT / "docs/site.md"))
        assert "Every link holds." in made.run(patient("".join(pages)), "root")
        for user in ("alice", "bob"):
            home = own.home(user)
            made.run(f"useradd --no-log-init --create-home --home-dir {home} {user}", "root")
            made.run(f"install -d -o {user} {UNION}/{user}", "root")
        yield made


def test_every_block_of_the_page_is_one_that_is_tried_here_or_with_the_demonstration() -> None:
    known = (*DEMO, INSTALL, RUN, STATE, CPP, COMPILE, PYTHON)
    unknown = [block.text for block in blocks(PAGE) if not block.text.startswith(known)]
    assert not unknown
    assert len(blocks(PAGE)) == len(known)


@pytest.mark.root
def test_packages_that_the_demonstration_begins_with_are_those_of_the_distribution(site: Site) -> None:
    """All are on this machine already, so that apt-get needs no network: a wrong name is not found."""
    packages, demonstration = text_of(DEMO[0]).splitlines()
    assert demonstration == "make demo"
    no_network = site.machine.work / "apt.conf"
    no_network.write_text('Dir::Etc::SourceList "/dev/null";\nDir::Etc::SourceParts "/dev/null";\n')
    said = site.run(f"export APT_CONFIG={no_network}\n{packages}", "root")
    assert "0 newly installed" in said


@pytest.mark.root
def test_installing_puts_everything_where_the_page_says(site: Site) -> None:
    said = site.run("command -v ses-run ses-agent ses ses-service; ls /usr/local/share/man/man1", "root")
    below = {Path(line).name: str(Path(line).parent) for line in said.splitlines()}
    assert below["ses-run"] == "/usr/local/bin"
    assert below["ses-agent"] == "/usr/local/sbin"
    assert below["ses"] == below["ses-service"] == str(ROOT / ".venv/bin")
    assert "ses-run.1" in below


@pytest.fixture(scope="module")
def programs(site: Site) -> dict[str, Path]:
    """Folders with a program that writes the file $OUTPUT: one that loads libraries, one that loads none."""
    home = site.machine.home("alice")
    for how, option in (("dynamic", ""), ("static", "-static")):
        build = f"cc -x c {option} - -o {how}/dataIntensiveApplication"
        site.run(f"mkdir {how}\n{build} <<'END'\n{PROGRAM}END", directory=home)
    return {"dynamic": home / "dynamic", "static": home / "static"}


@pytest.fixture(scope="module")
def output(site: Site, programs: dict[str, Path]) -> Path:
    """The file that the page explains, made as the page says."""
    run, *_ = text_of(RUN).splitlines()
    site.run(f"export OUTPUT={OUTPUT}\n{run}", directory=programs["dynamic"])
    return OUTPUT


@pytest.mark.root
def test_a_program_is_run_as_it_is_and_its_file_is_placed(site: Site, output: Path) -> None:
    assert site.placed(output)["subject"]["application"] == "dataIntensiveApplication"


@pytest.mark.root
def test_a_program_is_checked_and_not_run(site: Site, programs: dict[str, Path]) -> None:
    _, check, _ = text_of(RUN).splitlines()
    checked = f"export OUTPUT={UNION}/alice/checked\n{check}"
    assert "the preload library places its files" in site.run(checked, directory=programs["dynamic"])
    site.run(f"! {checked.splitlines()[1]}", directory=programs["static"])
    site.run(f"test ! -e {UNION}/alice/checked")


@pytest.mark.root
def test_a_program_that_loads_no_library_is_supervised_and_its_file_is_placed(
    site: Site, programs: dict[str, Path]
) -> None:
    *_, supervise = text_of(RUN).splitlines()
    site.run(f"export OUTPUT={UNION}/alice/supervised\n{supervise}", directory=programs["static"])
    assert site.placed(UNION / "alice/supervised")["subject"]["application"] == "dataIntensiveApplication"


@pytest.mark.root
def test_needs_are_stated_and_every_question_is_answered(site: Site, output: Path) -> None:
    answers = [site.run(patient(line)) for line in text_of(STATE).splitlines()]
    said = dict(zip(("user", "application", "rank", "nodes", "explain", "doctor"), answers, strict=True))
    assert "user alice, revision 0 -> 1" in said["user"]
    assert "application alice:dd, revision 0 -> 1" in said["application"]
    assert "average-read-rate>=50MB/s  (user alice)" in said["rank"]
    assert "current-write-rate>=80MB/s  (application alice:dd)" in said["rank"]
    assert re.search(r"^ *1 \| union/disk[12] \| +0\.000 ", said["rank"], re.MULTILINE)
    assert re.search(r"^1 \| store1 \| ", said["nodes"], re.MULTILINE)
    assert re.search(r"^  bytes +/srv/disk[12], as chosen$", said["explain"], re.MULTILINE)
    assert "/usr/local/lib/libses-wrapper.so loads" in said["doctor"]
    assert said["doctor"].endswith("Every link holds.\n")


@pytest.mark.root
def test_the_program_in_c_plus_plus_places_its_file(site: Site) -> None:
    include, _, body = text_of(CPP).partition("\n")
    program = f"{include}\nint main() {{\n{body}\nreturn descriptor < 0;\n}}\n"
    built = f"{text_of(COMPILE)}./program"
    site.run(f"cat >program.cpp <<'END'\n{program}END\n{built}", "bob", UNION / "bob")
    assert what_the_program_stated(site.placed(UNION / "bob/fileName.dat"))


@pytest.mark.root
def test_the_program_in_python_places_its_file(site: Site) -> None:
    site.run("rm -f fileName.dat", "bob", UNION / "bob")
    site.run(f"python3 - <<'END'\n{text_of(PYTHON)}END", "bob", UNION / "bob")
    assert what_the_program_stated(site.placed(UNION / "bob/fileName.dat"))


def what_the_program_stated(placement: dict[str, Any]) -> bool:
    """Whether a file was placed by what the programs of the page state."""
    needs = {
        (requirement["level"], requirement["kind"], requirement["minimum"], requirement["unit"])
        for requirement in placement["requirements"]
    }
    return needs == {
        ("explicit", "average-read-rate", 50.0, "MB/s"),
        ("explicit", "free-capacity", 100.0, "GB"),
    }
