"""Files on Lustre are placed by choosing from the candidate table, without asking anybody."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import lov_blobs as lov
import pytest
from built import BUILD
from fake_table import CREATED, NOT_CREATED, FakeClaims, FakeTable
from lustre_mount import LOV, layout_of, osts_of
from placed_programs import LIST, LUSTRE, POOL, Site
from ses_core.layout import Kind

WRITE = os.O_CREAT | os.O_WRONLY
OSTS = 6


@pytest.fixture
def table(site: Site) -> Iterator[FakeTable]:
    """A table of the stand-in's OSTs, two of each server, with claims of root."""
    table = FakeTable(site.socket)
    table.mount(site.lustre.path.stat().st_dev, str(site.lustre.path))
    table.system(OSTS, backend=LUSTRE)
    for row in range(OSTS):
        table.place(row, f"lfs/OST{row:04x}", index=row, form=LIST)
    table.elements()["server"][:OSTS] = [0, 0, 1, 1, 2, 2]
    table.policy()["max_stripes"] = 8
    table.user().put64(48, 0)  # nothing is staged on Lustre
    yield table
    table.close()


@pytest.fixture
def claims(table: FakeTable) -> FakeClaims:
    return table.users[0]


@pytest.mark.parametrize("flags", [WRITE, WRITE | os.O_EXCL, WRITE | os.O_TRUNC])
def test_choice_names_the_ost_and_nobody_is_asked(
    site: Site, table: FakeTable, claims: FakeClaims, flags: int
) -> None:
    table.only(5)
    assert "written=4" in site.create("file", flags)
    assert osts_of(site.lustre.path / "file") == (5,)
    (claim,) = claims.claims()
    status = (site.lustre.path / "file").stat()
    assert (claim.rows, claim.outcome, claim.inode) == ((5,), CREATED, status.st_ino)
    assert site.agent.asks == []


def test_rate_that_one_ost_does_not_give_is_put_together_of_several_servers(
    site: Site, claims: FakeClaims
) -> None:
    claims.need(0, (Kind.CURRENT_WRITE, False, False, 2.5e8, 1.0))
    site.create("file")
    (claim,) = claims.claims()
    assert sorted(row // 2 for row in claim.rows) == [0, 1, 2]
    assert osts_of(site.lustre.path / "file") == claim.rows
    assert [claims.claimed()[row] for row in claim.rows] == [1, 1, 1]
    assert claims.total() == 3
    site.create("next")
    assert set(claims.claims()[1].rows).isdisjoint(claim.rows)


def test_new_file_is_not_looked_for_before_it_is_made(site: Site, table: FakeTable, tmp_path: Path) -> None:
    """The create says whether the name exists: a look before it would be one more question to the server."""
    trace = tmp_path / "trace"
    site.create("file", before=("strace", "-o", trace, "-e", "trace=statx,openat,fsetxattr,newfstatat"))
    names = re.findall(r'^(\w+)\([^"]*"file"', trace.read_text(), re.MULTILINE)
    assert names == ["openat"]


def test_file_that_exists_is_opened_and_the_claim_comes_to_nothing(site: Site, claims: FakeClaims) -> None:
    (site.lustre.path / "file").write_text("    content")
    before = layout_of(site.lustre.path / "file")
    assert "written=4" in site.create("file")
    assert (site.lustre.path / "file").read_text() == "textcontent"
    assert layout_of(site.lustre.path / "file") == before
    (claim,) = claims.claims()
    assert (claim.outcome, claim.error) == (NOT_CREATED, 17)


def test_pool_of_an_element_is_written(site: Site, table: FakeTable, claims: FakeClaims) -> None:
    """The file system takes care of the stripes."""
    claims.need(0, (Kind.CURRENT_WRITE, False, False, 2.5e8, 1.0))
    table.place(2, "lfs/slow", form=POOL, pool="slow", members=(3, 4))
    table.only(2)
    site.create("file")
    layout = layout_of(site.lustre.path / "file")
    assert layout
    assert lov.read_plain(layout).pool == "slow"
    (claim,) = claims.claims()
    assert (claim.rows, claim.outcome) == ((2,), CREATED)


@pytest.mark.parametrize("form", [LIST, POOL])
@pytest.mark.parametrize("osts", [1, 2, 4])
def test_file_is_as_wide_as_its_directory_says(
    site: Site, table: FakeTable, claims: FakeClaims, osts: int, form: int
) -> None:
    """The width is the site's, the OSTs are the chosen ones, which may each have a pool of their own."""
    for row in range(OSTS):
        table.place(row, f"lfs/OST{row:04x}", index=row, form=form, pool=f"only{row}", members=(row,))
        site.lustre.pool(f"only{row}", row)
    os.setxattr(site.lustre.path, LOV, lov.plain(count=osts))
    site.create("file")
    (claim,) = claims.claims()
    assert (claim.outcome, len(claim.rows)) == (CREATED, osts)
    assert osts_of(site.lustre.path / "file") == claim.rows


def test_file_is_wider_than_its_directory_says_where_the_need_is(site: Site, claims: FakeClaims) -> None:
    os.setxattr(site.lustre.path, LOV, lov.plain(count=2))
    claims.need(0, (Kind.CURRENT_WRITE, False, False, 2.5e8, 1.0))
    site.create("file")
    (claim,) = claims.claims()
    assert (claim.outcome, len(claim.rows)) == (CREATED, 3)
    assert osts_of(site.lustre.path / "file") == claim.rows


@pytest.mark.parametrize(
    "default", [lov.plain(count=lov.ALL), lov.plain(pattern=lov.RAID0 | lov.OVERSTRIPING, count=12)]
)
def test_file_that_is_to_lie_everywhere_is_left_to_the_site(
    site: Site, claims: FakeClaims, default: bytes
) -> None:
    os.setxattr(site.lustre.path, LOV, default)
    assert "written=4" in site.create("file")
    assert set(osts_of(site.lustre.path / "file")) == set(range(OSTS))
    assert (claims.claims(), site.agent.asks) == ([], [])


def test_refused_list_of_a_choice_becomes_its_pool(site: Site, table: FakeTable, claims: FakeClaims) -> None:
    site.lustre.trouble(4, "full")
    table.place(4, "lfs/OST0004", index=4, form=LIST, pool="slow")
    table.only(4)
    assert "written=4" in site.create("file")
    assert osts_of(site.lustre.path / "file") == (3,)
    (claim,) = claims.claims()
    assert (claim.outcome, claim.error) == (NOT_CREATED, 28)


@pytest.mark.parametrize("call", [("open", str(WRITE | os.O_EXCL), "0644", "022"), ("fopen", "wx", "022")])
def test_exclusive_create_of_a_name_that_exists_is_one_create(
    site: Site, claims: FakeClaims, tmp_path: Path, call: tuple[str, ...]
) -> None:
    (site.lustre.path / "file").write_text("content")
    trace = tmp_path / "trace"
    once = (site.probe, *call, "file")
    placed = site.run("strace", "-o", trace, "-e", "trace=openat,open,creat,statx", *once)
    assert placed == site.run(*once, library=False)
    assert "errno=17" in placed
    assert len(re.findall(r'"file"', trace.read_text())) == 1
    (claim,) = claims.claims()
    assert (claim.outcome, claim.error) == (NOT_CREATED, 17)


def test_exclusive_create_by_the_c_interface_of_a_name_that_exists_is_one_create(
    site: Site, claims: FakeClaims, tmp_path: Path
) -> None:
    library = BUILD / "libses.so"
    (site.lustre.path / "file").write_text("content")
    script = (
        "import ctypes, os; library = ctypes.CDLL(os.environ['LIBRARY'], use_errno=True);"
        "result = ctypes.create_string_buffer(4096);"
        f"made = library.ses_create_at(-100, b'file', {WRITE | os.O_EXCL}, 0o644, None, result);"
        "print(made, ctypes.get_errno())"
    )
    trace = tmp_path / "trace"
    strace = ("strace", "-o", trace, "-e", "trace=openat,open,creat,statx")
    output = site.run(*strace, "/usr/bin/python3", "-I", "-c", script, library=False, LIBRARY=str(library))
    assert output == "-1 17\n"
    assert len(re.findall(r'"file"', trace.read_text())) == 1
    (claim,) = claims.claims()
    assert (claim.outcome, claim.error) == (NOT_CREATED, 17)
