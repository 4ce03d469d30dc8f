"""What the site or a run excludes is excluded under the supervisor too: for the program that calls."""

from collections.abc import Callable
from pathlib import Path

import pytest
from fake_rules import FakeRules
from mergerfs_union import Union

BUSYBOX = "/bin/busybox"


def placed(union: Union, ses_run: Path, script: str, *options: str, **extra: str) -> int:
    """Run a script under the supervisor, in the union; how many of its files were placed."""
    before = len(union.agent.asks)
    union.run(ses_run, "--supervise", *options, "/bin/sh", "-ec", script, library=False, **extra)
    return len(union.agent.asks) - before


def test_programs_are_excluded_by_their_own_name(
    union: Union, ses_run: Path, publish: Callable[..., FakeRules]
) -> None:
    publish(programs="busy*:other")
    assert placed(union, ses_run, f"{BUSYBOX} touch a") == 0
    assert placed(union, ses_run, f"touch b; {BUSYBOX} touch c") == 1
    assert placed(union, ses_run, f"{BUSYBOX} touch d", "--application", "weather") == 1


def test_name_of_the_supervisor_is_nobodys(
    union: Union, ses_run: Path, publish: Callable[..., FakeRules]
) -> None:
    publish(programs="ses-supervisor")
    assert placed(union, ses_run, f"{BUSYBOX} touch a") == 1


@pytest.mark.parametrize("way", ["run", "site"])
def test_patterns_are_about_the_path_the_program_says(
    union: Union, ses_run: Path, publish: Callable[..., FakeRules], way: str
) -> None:
    (union.path / "out/deep").mkdir(parents=True)
    (union.path / "link").symlink_to("out")
    exclude = f"*.tmp:{union.path}/out/**"
    extra = {} if way == "site" else {"SES_EXCLUDE": exclude}
    if way == "site":
        publish(exclude=exclude)
    for script, expected in (
        ("> a.tmp", 0),
        ("> out/a", 0),
        (f"> {union.path}/out//b", 0),
        ("cd out; > c", 0),
        ("cd out/deep; > ../d", 0),
        ("cd out/deep; > ../../e", 1),
        ("> link/f", 1),
        (f"> {union.path}/./g", 1),
        ('cd out; python3 -c \'import os; os.open("h", 65, dir_fd=os.open(".", 0))\'', 0),
    ):
        assert placed(union, ses_run, script, **extra) == expected, script


def test_only_what_is_included_is_placed(union: Union, ses_run: Path) -> None:
    include = {"SES_INCLUDE": f"{union.path}/in/*:*.dat"}
    assert placed(union, ses_run, "mkdir in; > in/a; > b.dat; > c; cd in; > d", **include) == 3


def test_path_below_another_root_is_the_one_seen_there(union: Union, ses_run: Path) -> None:
    (union.path / "root/out").mkdir(parents=True)
    (union.path / "root/busybox").write_bytes(Path(BUSYBOX).read_bytes())
    (union.path / "root/busybox").chmod(0o755)
    script = "chroot root /busybox sh -c '> /out/a; cd out; > b; cd ..; > c'"
    assert placed(union, ses_run, script, SES_EXCLUDE="/out/*") == 1
