"""A choice of place goes into a layout, and nothing else of the layout changes."""

import errno
import subprocess
from pathlib import Path

import lov_blobs as lov
import pytest
from layout_library import LIST, OFFSET, POOL, LayoutLibrary
from ran import ran
from write_corpus import CHOICES, DOM, FOREIGN, INSTANTIATED, LAYOUTS, MIRRORED, PFL, SEL

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "libses/src/lustre/layout.c"


def changed(before: bytes, after: bytes) -> list[int]:
    """Which components differ; their extents, ids and flags must not."""
    pairs = list(zip(lov.read_parts(before), lov.read_parts(after), strict=True))
    for was, now in pairs:
        assert (was.start, was.end, was.flags, was.id, was.gen) == (
            now.start,
            now.end,
            now.flags,
            now.id,
            now.gen,
        )
    return [number for number, (was, now) in enumerate(pairs) if was.blob != now.blob]


def test_pool_without_a_default_is_what_lustre_was_seen_to_take(library: LayoutLibrary) -> None:
    ours = library.edit(b"", POOL, pool="fast", stripe_count=1)
    seen = lov.read_plain(lov.CAPTURED_POOL)
    assert len(ours) == len(lov.CAPTURED_POOL) == 48
    assert ours[:4] == lov.CAPTURED_POOL[:4]
    assert lov.read_plain(ours) == lov.Plain(lov.V3, 0, seen.size, seen.count, seen.offset, "fast", ())


def test_offset_over_the_captured_default_gives_the_captured_bytes(library: LayoutLibrary) -> None:
    assert library.edit(lov.CAPTURED_INDEX, OFFSET, osts=[1]) == lov.CAPTURED_INDEX


def test_list_of_one_is_strict(library: LayoutLibrary) -> None:
    result = library.edit(b"", LIST, osts=[4])
    assert len(result) == 48 + 24
    assert lov.read_plain(result) == lov.Plain(lov.SPECIFIC, 0, 0, 1, 4, "", (4,))


def test_list_keeps_order_pattern_and_stripe_size_of_a_plain_default(library: LayoutLibrary) -> None:
    inherited = lov.plain(pool="slow", count=3, size=1 << 20, pattern=lov.RAID0)
    result = library.edit(inherited, LIST, osts=[7, 2, 11])
    assert lov.read_plain(result) == lov.Plain(lov.SPECIFIC, lov.RAID0, 1 << 20, 3, 7, "", (7, 2, 11))


def test_stripe_count_and_size_of_the_choice_win(library: LayoutLibrary) -> None:
    inherited = lov.plain(pool="slow", count=3, size=1 << 20)
    result = lov.read_plain(library.edit(inherited, POOL, pool="fast", stripe_count=5, stripe_size=65536))
    assert (result.count, result.size, result.pool, result.offset) == (5, 65536, "fast", lov.ANY)
    result = lov.read_plain(library.edit(inherited, LIST, osts=[1, 2, 3], stripe_count=2))
    assert (result.count, result.osts) == (2, (1, 2))


def test_plain_default_keeps_its_stripe_count_in_a_pool(library: LayoutLibrary) -> None:
    assert lov.read_plain(library.edit(lov.plain(count=6), POOL, pool="fast")).count == 6


def test_progressive_layout_changes_where_the_site_left_it_open(library: LayoutLibrary) -> None:
    result = library.edit(PFL, POOL, pool="flash")
    assert changed(PFL, result) == [0, 1]  # the third names a pool of the site's own
    assert [lov.read_plain(part.blob).pool for part in lov.read_parts(result)] == ["flash", "flash", "slow"]
    assert [lov.read_plain(part.blob).count for part in lov.read_parts(result)] == [1, 4, 0xFFFF]


def test_list_leaves_components_that_are_wider(library: LayoutLibrary) -> None:
    result = library.edit(PFL, LIST, osts=[8, 9])
    assert changed(PFL, result) == [0]
    assert lov.read_plain(lov.read_parts(result)[0].blob).osts == (8,)
    result = library.edit(PFL, LIST, osts=[8, 9, 10, 11])
    assert changed(PFL, result) == [0, 1]
    assert lov.read_plain(lov.read_parts(result)[1].blob).osts == (8, 9, 10, 11)


def test_component_on_the_metadata_target_stays(library: LayoutLibrary) -> None:
    assert changed(DOM, library.edit(DOM, LIST, osts=[3])) == [1]


def test_extension_stays(library: LayoutLibrary) -> None:
    assert changed(SEL, library.edit(SEL, POOL, pool="flash")) == [0]


def test_second_mirror_stays(library: LayoutLibrary) -> None:
    assert changed(MIRRORED, library.edit(MIRRORED, LIST, osts=[3, 4])) == [0]


def test_pool_is_not_given_where_another_component_would_take_it_over(library: LayoutLibrary) -> None:
    """Lustre fills in the pool of the component before, where there are several mirrors."""
    parts = [
        lov.Part(lov.plain(count=1), 0, 1 << 30),
        lov.Part(lov.plain(count=lov.ALL), 1 << 30, lov.EOF),
        lov.Part(lov.plain(count=1), 0, lov.EOF),
    ]
    mirrored, alone = lov.composite(parts, mirrors=2), lov.composite(parts[:2])
    with pytest.raises(OSError, match="ENOTSUP"):
        library.edit(mirrored, POOL, pool="flash")
    assert changed(mirrored, library.edit(mirrored, LIST, osts=[3])) == [0]
    assert changed(alone, library.edit(alone, POOL, pool="flash")) == [0]


def test_component_with_objects_stays(library: LayoutLibrary) -> None:
    assert changed(INSTANTIATED, library.edit(INSTANTIATED, POOL, pool="flash")) == [1]


def test_foreign_component_stays(library: LayoutLibrary) -> None:
    with pytest.raises(OSError, match="ENOTSUP"):  # another name of EOPNOTSUPP
        library.edit(FOREIGN, LIST, osts=[1])  # the other mirror is not ours to choose for


def test_bytes_around_the_changed_component_stay_where_nothing_grows(library: LayoutLibrary) -> None:
    result = library.edit(PFL, POOL, pool="fast", stripe_count=1)
    first = lov.read_parts(PFL)[0]
    at = PFL.index(first.blob)
    assert lov.read_parts(result)[0] == first
    assert result[:at] != PFL[:at]  # the second one grew from V1 to V3: what follows it moved
    only = lov.composite(
        [lov.Part(lov.plain(pool="slow", count=2), 0, lov.EOF, id=9, gen=7, stamp=1 << 40)], gen=3
    )
    at = 32 + 48
    result = library.edit(only, POOL, pool="flash")
    assert (result[:at], len(result)) == (only[:at], len(only))


def test_what_follows_the_layout_in_its_buffer_is_not_taken_along(library: LayoutLibrary) -> None:
    assert library.edit(PFL + b"rest", POOL, pool="flash") == library.edit(PFL, POOL, pool="flash")


@pytest.mark.parametrize("length", range(4, len(PFL)))
def test_layout_cut_short_is_refused(library: LayoutLibrary, length: int) -> None:
    with pytest.raises(OSError, match="EINVAL"):
        library.edit(PFL[:length], POOL, pool="flash")


@pytest.mark.parametrize(
    "inherited",
    [
        b"\xd0\x0b\xd6\x0b",
        bytes(48),
        bytes.fromhex("0bd10bd0") + bytes(28),  # of a machine of the other byte order
        (lov.V1 | 0x10000000).to_bytes(4, "little") + bytes(28),
        lov.FOREIGN.to_bytes(4, "little") + bytes(44),
        lov.composite([]),
    ],
)
def test_what_is_no_layout_is_refused(library: LayoutLibrary, inherited: bytes) -> None:
    with pytest.raises(OSError, match="EINVAL"):
        library.edit(inherited, POOL, pool="flash")


@pytest.mark.parametrize(
    ("form", "given"),
    [
        (POOL, {"pool": ""}),
        (POOL, {"pool": "sixteen-letters!"}),
        (POOL, {}),
        (LIST, {}),
        (LIST, {"osts": [1, 2, 1]}),
        (LIST, {"osts": [0xFFFF]}),
        (LIST, {"osts": list(range(15))}),
        (LIST, {"osts": [1], "stripe_size": 12345}),
        (POOL, {"pool": "fast", "stripe_count": 2001}),
        (4, {"osts": [1], "pool": "fast"}),
    ],
)
def test_choice_lustre_would_not_take_is_refused(
    library: LayoutLibrary, form: int, given: dict[str, object]
) -> None:
    with pytest.raises(OSError, match="EINVAL"):
        library.edit(b"", form, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("room", [0, 47, len(PFL), len(PFL) + 15])
def test_too_little_room_is_reported(library: LayoutLibrary, room: int) -> None:
    with pytest.raises(OSError, match="ERANGE") as error:
        library.edit(PFL, POOL, pool="flash", room=room)
    assert error.value.errno == errno.ERANGE
    assert len(library.edit(PFL, POOL, pool="flash", room=len(PFL) + 16)) == len(PFL) + 16


def test_corpus_holds_under_the_sanitizers(tmp_path: Path) -> None:
    program = tmp_path / "replay"
    fuzzer = ROOT / "tests/lustre/fuzz/layout_fuzzer.c"
    options = ["-g", "-O1", "-DREPLAY", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    build = ["gcc", *options, "-I", SOURCE.parents[1], fuzzer, SOURCE, "-o", program]
    subprocess.run(build, check=True, timeout=600)
    corpus = sorted((ROOT / "tests/lustre/corpus").iterdir())
    assert len(corpus) >= len(LAYOUTS) * len(CHOICES)
    done = ran([program, *corpus])
    assert done.stdout == f"{len(corpus)} inputs\n"
