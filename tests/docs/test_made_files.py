"""Files that are made from the code say what the code says, and declarations agree with what is read."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from ran import ran

ROOT = Path(__file__).resolve().parents[2]
LONGEST_PAGE = 250
MADE = (
    "docs/commands/", "docs/reference/", "libses/share/", "libses/extras/share/share/",
    "libses/extras/sampler/share/", "libses/python/share/", "ses-service/share/", "smed-monitor/share/",
    "webface/share/",
)  # fmt: skip
READS = re.compile(
    r"""(?:getenv\(|environ\.get\(|environ\[|envvar=|envname\(|_path\()\s*"(SES_[A-Z_]+)"
    | \[([A-Z_]+)\]\ =\ "\2="  # as settings.c looks through the environment
    """,
    re.VERBOSE,
)
READERS = {
    "library": ("libses/src", "libses/api", "libses/run"),
    "ses-agent": ("libses/agent",),
    "ses.api": ("libses/python/ses/api",),
    "ses.offload": ("libses/python/ses/offload",),
    "ses.share": ("libses/python/ses/share",),
    "ses": ("libses/python/ses", "ses-service/client"),
    "ses-service": ("ses-service/ses_service",),
    "smed-monitor": ("smed-monitor",),
    "ses-webface": ("webface/ses_webface", "ses-service/client"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all files as they are made now."""
    folder = tmp_path_factory.mktemp("made")
    subprocess.run([sys.executable, ROOT / "packaging/pages", folder], check=True, timeout=600)
    return folder


def files(folder: Path) -> dict[str, str]:
    """Return the text of every file below a folder, by its path."""
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_made_files_are_as_new(made: Path) -> None:
    new = files(made)
    assert len(new) > 10
    old = {name: (ROOT / name).read_text() for name in new if (ROOT / name).exists()}
    stale = sorted(name for name in new if old.get(name) != new[name])
    assert not stale, f"run: make pages    {', '.join(stale)} is not what the code says"


def test_no_file_lies_where_files_are_made_that_is_not_made(made: Path) -> None:
    tracked = ran(["git", "ls-files", *MADE], cwd=ROOT).stdout.split()
    assert tracked
    assert set(tracked) == {name for name in files(made) if name.startswith(MADE)}


def test_no_made_page_is_longer_than_one_reads() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for folder in MADE
        for path in (ROOT / folder).rglob("*.md")
        for lines in [len(path.read_text().splitlines())]
        if lines > LONGEST_PAGE
    }
    assert not long


def declared() -> dict[str, set[str]]:
    """Return the readers of each variable in the declaration."""
    tree = tomllib.loads((ROOT / "packaging/pages/variables.toml").read_text())
    return {name: set(variable["read_by"]) for name, variable in tree.items()}


def read(reader: str) -> set[str]:
    """Return the variables that the sources of a reader ask for; those of MPI and schedulers are not ours."""
    others = [ROOT / folder for name, folders in READERS.items() if name != reader for folder in folders]
    variables: set[str] = set()
    for folder in READERS[reader]:
        paths = [path for path in (ROOT / folder).rglob("*") if path.suffix in (".c", ".cpp", ".py")]
        assert paths, f"{folder} has no sources"
        own = [other for other in others if (ROOT / folder) in other.parents]
        for path in paths:
            if path.name != "job_rank.c" and not any(inner in path.parents for inner in own):
                variables |= {whole or f"SES_{rest}" for whole, rest in READS.findall(path.read_text())}
    return variables


@pytest.mark.parametrize("reader", READERS)
def test_each_variable_is_declared_for_those_who_read_it_and_back(reader: str) -> None:
    assert read(reader) == {name for name, readers in declared().items() if reader in readers}


def test_the_header_of_libses_names_every_variable_of_programs_that_link_it() -> None:
    text = (ROOT / "libses/include/ses/ses.h").read_text()
    paragraph = re.search(r"Environment, read once.*?\n \*\n", text, re.DOTALL)
    assert paragraph
    named = set(re.findall(r"SES_[A-Z_]+", paragraph[0]))
    library = {name for name, readers in declared().items() if "library" in readers}
    assert named == library - {"SES_LUSTRE_STANDIN"}
