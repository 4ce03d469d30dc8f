"""Files on Lustre are placed by tickets of the plan without asking anybody."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import lov_blobs as lov
import pytest
from lustre_mount import layout_of, osts_of
from placed_programs import LIST, LUSTRE, POOL, Site
from plan_double import CREATED, NOT_CREATED, PlanDouble

WRITE = os.O_CREAT | os.O_WRONLY


@pytest.fixture
def plan(site: Site) -> Iterator[PlanDouble]:
    """The plan of root, with a default entry for the stand-in."""
    plan = PlanDouble(site.socket)
    plan.entry(0, site.lustre.path.stat().st_dev)
    yield plan
    plan.close()


def ost(plan: PlanDouble, index: int, pool: str = "") -> int:
    return plan.element(f"lfs/OST{index:04x}", backend=LUSTRE, index=index, form=LIST, pool=pool)


@pytest.mark.parametrize("flags", [WRITE, WRITE | os.O_EXCL, WRITE | os.O_TRUNC])
def test_ticket_names_the_stripes_and_nobody_is_asked(site: Site, plan: PlanDouble, flags: int) -> None:
    plan.ticket(0, 4711, ost(plan, 5), ost(plan, 1))
    assert "written=4" in site.create("file", flags)
    assert osts_of(site.lustre.path / "file") == (5, 1)
    (report,) = plan.reports()
    status = (site.lustre.path / "file").stat()
    assert (report.placement_id, report.outcome, report.inode) == (4711, CREATED, status.st_ino)
    assert site.agent.asks == []


def test_new_file_is_not_looked_for_before_it_is_made(site: Site, plan: PlanDouble, tmp_path: Path) -> None:
    """The create says whether the name exists: a look before it would be one more question to the server."""
    plan.ticket(0, 1, ost(plan, 2))
    trace = tmp_path / "trace"
    site.create("file", before=("strace", "-o", trace, "-e", "trace=statx,openat,fsetxattr,newfstatat"))
    names = re.findall(r'^(\w+)\([^"]*"file"', trace.read_text(), re.MULTILINE)
    assert names == ["openat"]


def test_file_that_exists_is_opened_and_the_ticket_comes_back(site: Site, plan: PlanDouble) -> None:
    (site.lustre.path / "file").write_text("    content")
    before = layout_of(site.lustre.path / "file")
    plan.ticket(0, 1, ost(plan, 2))
    plan.ticket(0, 2, ost(plan, 2))
    assert "written=4" in site.create("file")
    assert (site.lustre.path / "file").read_text() == "textcontent"
    assert layout_of(site.lustre.path / "file") == before
    (report,) = plan.reports()
    assert (report.outcome, report.error) == (NOT_CREATED, 17)


def test_pool_of_an_element_is_written(site: Site, plan: PlanDouble) -> None:
    plan.ticket(0, 1, plan.element("lfs/slow", backend=LUSTRE, form=POOL, pool="slow"))
    site.create("file")
    layout = layout_of(site.lustre.path / "file")
    assert layout
    assert lov.read_plain(layout).pool == "slow"


def test_refused_list_of_a_ticket_becomes_its_pool(site: Site, plan: PlanDouble) -> None:
    site.lustre.trouble(4, "full")
    plan.ticket(0, 1, ost(plan, 4, "slow"))
    assert "written=4" in site.create("file")
    assert osts_of(site.lustre.path / "file") == (3,)
    (report,) = plan.reports()
    assert (report.outcome, report.error) == (NOT_CREATED, 28)
