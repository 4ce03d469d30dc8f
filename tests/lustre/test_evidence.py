"""A file counts as placed where its objects' OSTs prove it, whatever name of a pool its layout has."""

import os

import lov_blobs as lov
import pytest
from layout_library import LIST, OFFSET, POOL, LayoutLibrary
from lustre_mount import LOV, layout_of, osts_of
from placed_programs import Site

DOM_PART = lov.Part(lov.plain(pattern=lov.MDT, count=0, size=1 << 20), 0, 1 << 20, lov.INIT)


def behind_dom(blob: bytes, *more: lov.Part) -> bytes:
    """Data on the metadata target first, then a component without objects; MORE is a second mirror."""
    return lov.composite([DOM_PART, lov.Part(blob, 1 << 20, lov.EOF), *more], mirrors=2 if more else 1)


@pytest.mark.parametrize(
    ("layout", "osts", "proven"),
    [
        (lov.plain(pool="fast", osts=[1, 2]), (), True),
        (lov.plain(pool="other", osts=[1]), (), True),  # it is the OSTs that count
        (lov.plain(pool="fast", osts=[1, 70]), (), True),
        (lov.plain(pool="fast", osts=[1, 3]), (), False),
        (lov.plain(pool="fast", osts=[6]), (), False),
        (lov.plain(pool="fast", osts=[300]), (), False),
        (lov.plain(pool="fast", osts=[0xFFFFFFFF]), (), False),
        (lov.plain(osts=[4, 5]), (5, 4), True),
        (lov.plain(osts=[4, 5]), (4,), False),
        (lov.plain(pattern=lov.RAID0 | lov.OVERSTRIPING, osts=[4, 4]), (4,), True),
        (behind_dom(lov.plain(pool="fast", count=1)), (), True),
        (behind_dom(lov.plain(pool="slow", count=1)), (), False),
        (behind_dom(lov.plain(osts=[4], specific=True)), (4,), True),
        (behind_dom(lov.plain(osts=[5], specific=True)), (4,), False),
        (behind_dom(lov.plain(count=1)), (4,), False),
        # The second mirror is not what was chosen for, and has its objects already.
        (behind_dom(lov.plain(pool="fast", count=1), lov.Part(lov.plain(osts=[5]), 0, lov.EOF)), (), True),
        (lov.composite([DOM_PART]), (4,), False),
        (b"", (4,), False),
        (b"\xd0\x0b\xd7\x0b" + bytes(60), (4,), False),
    ],
)
def test_objects_prove_the_place(
    library: LayoutLibrary, layout: bytes, osts: tuple[int, ...], proven: bool
) -> None:
    form = LIST if osts else POOL
    assert library.lies_as(layout, form, pool="fast", osts=osts, members=(0, 1, 2, 70)) is proven


def test_first_ost_that_is_only_stated_counts_until_there_are_objects(library: LayoutLibrary) -> None:
    assert library.lies_as(behind_dom(lov.plain(count=1, offset=4)), OFFSET, osts=[4])
    assert not library.lies_as(behind_dom(lov.plain(count=1, offset=3)), OFFSET, osts=[4])


def test_pool_of_which_no_member_is_known_proves_nothing(library: LayoutLibrary) -> None:
    assert not library.lies_as(lov.plain(pool="fast", osts=[1]), POOL, pool="fast")
    assert not library.lies_as(behind_dom(lov.plain(pool="fast", count=1)), POOL, pool="fast")


@pytest.mark.parametrize("pool", ["nosuch", "empty", "lustre.slow"])
def test_pool_that_lustre_stores_literally_is_not_believed(site: Site, pool: str) -> None:
    """The layout names the pool afterwards all the same, as on Lustre; the file lies anywhere."""
    site.put(POOL, pool=pool, members=(3, 4))
    named, outcomes = set(), []
    for number in range(site.lustre.osts):
        site.create(f"file{number}")
        layout = layout_of(site.lustre.path / f"file{number}")
        assert layout
        named.add(lov.read_plain(layout).pool)
        outcomes.append(1 if osts_of(site.lustre.path / f"file{number}")[0] in (3, 4) else 2)
    assert named == {pool}
    assert outcomes.count(2) == 4, "round robin over all OSTs"
    assert [report.outcome for report in site.agent.reports] == outcomes


def test_member_that_left_the_pool_meanwhile_is_no_proof(site: Site) -> None:
    site.put(POOL, pool="slow", members=(3,))
    site.lustre.trouble(3, "full")
    site.create("file")
    assert osts_of(site.lustre.path / "file") == (4,)
    assert site.report().outcome == 2


def test_layout_of_very_many_objects_is_read_whole(site: Site) -> None:
    """More than 2 KiB of it: many stripes on few OSTs."""
    default = lov.plain(pattern=lov.RAID0 | lov.OVERSTRIPING, count=120)
    os.setxattr(site.lustre.path, LOV, default)
    site.put(POOL, pool="slow")
    site.create("file")
    assert set(osts_of(site.lustre.path / "file")) == {3, 4}
    assert len(osts_of(site.lustre.path / "file")) == 120
    assert site.report().outcome == 1
