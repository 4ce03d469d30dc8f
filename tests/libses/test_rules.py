"""What is excluded, by the site or for one run, is the original call; everything else is placed."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fake_rules import FakeRules
from mergerfs_union import NOBODY, Union
from segments import RETIRED

CREATE = "import sys\nfor path in sys.argv[1:]:\n    open(path, 'x').close()\n"


@pytest.fixture
def publish(union: Union) -> Iterator[Callable[..., FakeRules]]:
    made: list[FakeRules] = []

    def make(**fields: object) -> FakeRules:
        made.append(FakeRules(union.socket, **fields))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for rules in made:
        rules.close()


def create(union: Union, *paths: str | Path, cwd: Path | None = None, **extra: str) -> int:
    """Create files, in the union or relative to it; how many were placed."""
    before = len(union.agent.asks)
    union.run(sys.executable, "-c", CREATE, *paths, cwd=cwd, **extra)
    for path in paths:
        assert ((cwd or union.path) / path).is_file()
    assert union.agent.leftovers() == []
    return len(union.agent.asks) - before


FITS = [
    *(("*.tmp", "a/b.tmp"), ("b?c", "a/bxc"), ("b*", "b"), ("*", ".hidden"), (".*", ".hidden")),
    *(("%/a/*", "a/b"), ("%/**", "a/b/c"), ("%/a/**/d", "a/b/c/d"), ("%/*/b/c*", "a/b/cd")),
    *(("[a-c]x", "bx"), ("[!a-c]x", "dx"), ("[]]x", "]x"), ("[x", "[x"), (r"\*x", "*x"), (r"a\[b", "a[b")),
    *(("no:*.tmp", "b.tmp"), (":::b", "b"), ("**/b", "a/b"), ("%/**.x", "a/b/c.x"), ("a*b*c", "a-b-b-c")),
    *(("%/a/b", "a//b"), ("%/a/b", "a/./b"), ("%/a/b", "./a/b"), ("%/a/b", "a/b/../b"), ("%/a/b", "%/a/b")),
    *(("%/a/b", "%/a//./b"), ("%/a/b", "%/a/b/../b"), ("%/**/x*y", "a/xxxy"), ("%/**a**b", "xa/xb")),
]
FITS_NOT = [
    *(("*.tmp", "b.tmpx"), ("b?c", "bc"), ("%/a/*", "a/b/c"), ("%/*", "a/b"), ("a", "a/b"), ("%", "a")),
    *(("[a-c]x", "dx"), ("[!a-c]x", "bx"), (r"\*x", "ax"), ("", "a"), (":", "a"), ("%/a?b", "a/b")),
    *(("%/a[/]b", "a/b"), ("%/**/a", "a"), ("/elsewhere/**", "a"), ("B", "b"), ("a*b*c", "a-b-c-d")),
    *(("%/a*c", "a/b/c"), ("%/a/b", "b"), ("%/a/*x", "a/b/x")),
]


def there(union: Union, text: str) -> str:
    return text.replace("%", str(union.path))


@pytest.mark.parametrize("way", ["run", "site"])
@pytest.mark.parametrize(
    ("fits", "pattern", "path"), [*((True, *p) for p in FITS), *((False, *p) for p in FITS_NOT)]
)
def test_patterns(
    union: Union, publish: Callable[..., FakeRules], fits: bool, pattern: str, path: str, way: str
) -> None:
    if ".." in path:
        path = path.replace("b/../b", "way/../b")
        (union.path / "a/way").mkdir(parents=True)
    path = there(union, path)
    (union.path / path).parent.mkdir(parents=True, exist_ok=True)
    pattern = there(union, pattern)
    if way == "site" and pattern:
        publish(exclude=pattern)
        assert create(union, path) == (0 if fits else 1)
    else:
        assert create(union, path, SES_EXCLUDE=pattern) == (0 if fits else 1)


def test_only_what_is_included_by_everybody_is_placed(
    union: Union, publish: Callable[..., FakeRules]
) -> None:
    publish(include="*.dat:*.txt", exclude="secret*")
    run = {"SES_INCLUDE": "*.dat:*.out", "SES_EXCLUDE": "*.old.dat"}
    assert create(union, "a.dat", **run) == 1
    assert create(union, "a.txt", "a.out", "secret.dat", "a.old.dat", "none", **run) == 0
    assert create(union, "b.txt", "b.dat") == 2


def test_directory_of_the_process_counts_for_a_relative_path(union: Union) -> None:
    (union.path / "in/deep").mkdir(parents=True)
    pattern = {"SES_EXCLUDE": f"{union.path}/in/**"}
    assert create(union, "file", cwd=union.path / "in/deep", **pattern) == 0
    assert create(union, "../../file", cwd=union.path / "in/deep", **pattern) == 1
    assert create(union, "file2", **pattern) == 1


def test_path_relative_to_a_descriptor_is_known(union: Union) -> None:
    (union.path / "in").mkdir()
    code = (
        "import os\n"
        "fd = os.open('in', os.O_RDONLY)\n"
        "assert os.open('file', os.O_CREAT | os.O_EXCL | os.O_WRONLY, dir_fd=fd) == fd + 1\n"
    )
    union.run(sys.executable, "-c", code, SES_EXCLUDE=f"{union.path}/in/*")
    assert union.agent.asks == []
    (union.path / "in/file").unlink()
    union.run(sys.executable, "-c", code, SES_EXCLUDE=f"{union.path}/out/*")
    assert len(union.agent.asks) == 1


def test_path_that_is_too_long_to_be_told_is_not_placed(union: Union) -> None:
    deep = "/".join(["d" * 200] * 4)
    (union.path / deep).mkdir(parents=True)
    assert create(union, "file", cwd=union.path / deep, SES_EXCLUDE="/elsewhere/*") == 0
    assert create(union, "file2", cwd=union.path / deep, SES_EXCLUDE="elsewhere") == 1


@pytest.mark.parametrize(
    "fields", [{"mode": 0o666}, {"owner": NOBODY}, {"size": 8192}, {"magic": 1}, {"version": 99}]
)
def test_rules_that_are_not_the_sites_are_not_believed(
    union: Union, publish: Callable[..., FakeRules], fields: dict[str, int]
) -> None:
    publish(exclude="*", **fields)
    assert create(union, "file") == 1


def test_rules_that_are_withdrawn_hold_no_longer(union: Union, publish: Callable[..., FakeRules]) -> None:
    rules = publish(exclude="*")
    code = (
        "import sys\n"
        "for name in 'ab':\n"
        "    open(name, 'x').close()\n"
        "    print(flush=True)\n"
        "    sys.stdin.readline()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env=union.environment(),
        cwd=union.path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as program:
        assert program.stdin
        assert program.stdout
        assert program.stdout.readline() == b"\n"
        assert union.agent.asks == []
        rules.set_state(RETIRED)
        program.stdin.write(b"\n")
        program.stdin.flush()
        assert program.stdout.readline() == b"\n"
        program.communicate(b"\n", timeout=60)
    union.agent.settle()
    assert len(union.agent.asks) == 1


def test_programs_that_the_site_excludes_can_still_be_named(
    union: Union, publish: Callable[..., FakeRules]
) -> None:
    publish(programs="scratch:tou*")
    union.run("touch", "a")
    assert union.agent.asks == []
    union.run("touch", "b", SES_APPLICATION="touch")
    assert len(union.agent.asks) == 1
    union.run("cp", "/etc/passwd", "c")
    assert len(union.agent.asks) == 2


def test_programs_that_create_nothing_are_left_alone(union: Union, tmp_path: Path) -> None:
    source = (Path(__file__).parents[2] / "libses/src/settings/system_tools.c").read_text()
    names = re.findall(r'"(.+?)"', source.split("names[][12] = {")[1].split("};")[0])
    present = [name for name in names if Path("/usr/bin", name).exists()]
    assert len(present) > 60
    touch = shutil.copy("/usr/bin/touch", tmp_path / "touch")
    script = ""
    for name in present:
        script += f"mount --bind {touch} '/usr/bin/{name}' && '/usr/bin/{name}' 'as {name}' || exit 1\n"
    script += f"SES_APPLICATION=true /usr/bin/true named; /bin/true asleep; {touch} elsewhere"
    union.run("unshare", "--mount", "bash", "-ec", script)
    assert (union.path / "as true").exists()
    assert (union.path / "asleep").exists()
    asked = [ask.application for ask in union.agent.asks]
    assert len(asked) == 2, asked  # for "named" and "elsewhere"
    assert asked[0] == "true"
