"""The stand-in has the semantics a Lustre 2.17.0 was measured to have, as far as the tests lean on them."""

import errno
import os
from pathlib import Path

import lov_blobs as lov
import pytest
from lustre_mount import DELAY, LOV, LustreMount, layout_of, osts_of
from ran import ran

WRITE = os.O_CREAT | os.O_EXCL | os.O_WRONLY


def delayed(path: Path, flags: int = WRITE, mode: int = 0o644) -> int:
    return os.open(path, flags | DELAY, mode)


def failure(call: object, *arguments: object) -> str:
    """The name of the error a call ends with."""
    try:
        call(*arguments)  # type: ignore[operator]
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    pytest.fail("it did not fail")


def test_plain_create_has_objects_at_once_and_bytes_lie_there(lustre: LustreMount) -> None:
    file = lustre.path / "file"
    file.write_bytes(b"bytes")
    (ost,) = osts_of(file)
    assert lustre.objects(ost) == [b"bytes"]
    assert file.read_bytes() == b"bytes"


def test_delayed_file_cannot_be_written_until_it_has_a_layout(lustre: LustreMount) -> None:
    fd = delayed(lustre.path / "file")
    assert layout_of(fd) is None
    assert failure(os.write, fd, b"x") == "EBADF"
    os.setxattr(fd, LOV, lov.plain(specific=True, pool="", osts=[4]))
    assert osts_of(fd) == (4,)
    assert os.write(fd, b"x") == 1


def test_one_bit_of_the_delay_flag_delays_nothing(lustre: LustreMount) -> None:
    for number, bit in enumerate((os.O_NOCTTY, DELAY & ~os.O_NOCTTY)):
        fd = os.open(lustre.path / f"{number}", WRITE | bit)
        assert len(osts_of(fd)) == 1
        assert os.write(fd, b"x") == 1


def test_layout_of_a_file_that_has_one_is_ignored_with_success(lustre: LustreMount) -> None:
    fd = delayed(lustre.path / "file")
    for ost in (4, 2):
        os.setxattr(fd, LOV, lov.plain(specific=True, pool="", osts=[ost]))
    assert osts_of(fd) == (4,)


def test_second_open_on_the_same_client_gets_no_objects_and_one_on_another_client_does(
    lustre: LustreMount,
) -> None:
    first = delayed(lustre.path / "file")
    same = os.open(lustre.path / "file", os.O_WRONLY)
    assert failure(os.write, same, b"x") == "EBADF"
    assert layout_of(first) is None
    other = os.open(lustre.other / "file", os.O_WRONLY)
    assert os.write(other, b"x") == 1
    assert os.write(first, b"y") == 1


def test_client_that_came_second_reads_no_layout_until_it_writes(lustre: LustreMount) -> None:
    first = delayed(lustre.path / "file")
    other = os.open(lustre.other / "file", os.O_WRONLY)
    os.setxattr(first, LOV, lov.plain(specific=True, pool="", osts=[4]))  # ignored, with success
    assert layout_of(first) is None
    assert len(osts_of(other)) == 1
    assert os.write(first, b"x") == 1
    assert osts_of(first) == osts_of(other)


def test_opening_plainly_after_the_close_cures(lustre: LustreMount) -> None:
    os.close(delayed(lustre.path / "file"))
    assert layout_of(lustre.path / "file") is None
    (lustre.path / "file").write_bytes(b"x")
    assert len(osts_of(lustre.path / "file")) == 1


@pytest.mark.parametrize("pool", ["nosuch", "empty"])
def test_pool_that_is_no_pool_is_accepted_and_means_anywhere(lustre: LustreMount, pool: str) -> None:
    seen = set()
    for number in range(lustre.osts):
        fd = delayed(lustre.path / str(number))
        os.setxattr(fd, LOV, lov.plain(pool=pool, count=1))
        seen |= set(osts_of(fd))
        layout = layout_of(fd)
        assert layout
        assert lov.read_plain(layout).pool == pool
    assert seen == set(range(lustre.osts))


@pytest.mark.parametrize(
    ("trouble", "error"),
    [
        ("inactive", "EREMOTEIO"),
        ("nocreate", "ENOBUFS"),
        ("full", "ENOSPC"),
        ("readonly", "EROFS"),
        ("connecting", "EINPROGRESS"),
    ],
)
def test_list_is_strict_and_offset_is_a_hint(lustre: LustreMount, trouble: str, error: str) -> None:
    lustre.trouble(2, trouble)
    fd = delayed(lustre.path / "file")
    assert failure(os.setxattr, fd, LOV, lov.plain(specific=True, pool="", osts=[2])) == error
    assert layout_of(fd) is None
    os.setxattr(fd, LOV, lov.plain(count=1, offset=2))
    assert osts_of(fd) == (3,)


def test_degraded_target_is_used_by_who_insists(lustre: LustreMount) -> None:
    lustre.trouble(2, "degraded")
    fd = delayed(lustre.path / "file")
    os.setxattr(fd, LOV, lov.plain(specific=True, pool="", osts=[2]))
    assert osts_of(fd) == (2,)


@pytest.mark.parametrize(
    "blob",
    [
        lov.plain(specific=True, pool="", osts=[99]),
        lov.plain(specific=True, pool="", osts=[1, 1]),
        lov.plain(specific=True, pool="fast", osts=[4]),
        lov.plain(pool="fast", count=1, offset=4),
        lov.plain(count=1, offset=99),
        lov.plain(count=1, size=12345),
    ],
)
def test_layouts_that_cannot_be_are_refused(lustre: LustreMount, blob: bytes) -> None:
    fd = delayed(lustre.path / "file")
    assert failure(os.setxattr, fd, LOV, blob) == "EINVAL"
    assert layout_of(fd) is None


def test_more_stripes_than_there_are_become_fewer(lustre: LustreMount) -> None:
    fd = delayed(lustre.path / "file")
    os.setxattr(fd, LOV, lov.plain(pool="fast", count=10))
    assert set(osts_of(fd)) == {0, 1, 2}


def test_everything_full_fails_the_plain_create_and_leaves_no_file(lustre: LustreMount) -> None:
    for ost in range(lustre.osts):
        lustre.trouble(ost, "full")
    assert failure(os.open, lustre.path / "file", WRITE) == "ENOSPC"
    assert not (lustre.path / "file").exists()


def test_default_comes_from_the_directory_or_the_root(lustre: LustreMount) -> None:
    directory = lustre.path / "directory"
    directory.mkdir()
    assert layout_of(directory) is None
    os.setxattr(lustre.root, LOV, lov.plain(pool="slow", count=1))
    assert layout_of(directory) == lov.plain(pool="slow", count=1)
    os.setxattr(directory, LOV, lov.plain(pool="small", count=1))
    (directory / "file").write_bytes(b"x")
    assert osts_of(directory / "file") == (5,)
    os.setxattr(directory, LOV, lov.plain(count=0, pattern=0))  # nothing but defaults: no longer its own
    assert layout_of(directory) == lov.plain(pool="slow", count=1)


@pytest.mark.parametrize(
    ("own", "size", "stripes"),
    [
        (lov.plain(count=2), 2 << 20, 2),
        (lov.plain(count=0, size=1 << 20), 1 << 20, 3),
        (lov.plain(count=0, pool="slow"), 2 << 20, 2),
        (lov.plain(count=0, offset=1), 2 << 20, 3),
    ],
)
def test_defaults_combine_field_by_field_as_measured(
    lustre: LustreMount, own: bytes, size: int, stripes: int
) -> None:
    directory = lustre.path / "directory"
    directory.mkdir()
    os.setxattr(lustre.root, LOV, lov.plain(count=3, size=2 << 20))
    os.setxattr(directory, LOV, own)
    assert layout_of(directory) == own  # a client sees the directory's own bytes alone
    (directory / "file").touch()
    made = lov.read_plain(layout_of(directory / "file") or b"")
    assert (made.size, made.count) == (size, stripes)


def test_pool_and_offset_come_from_the_root_together(lustre: LustreMount) -> None:
    directory = lustre.path / "directory"
    directory.mkdir()
    os.setxattr(lustre.root, LOV, lov.plain(count=1, pool="slow", offset=4))
    os.setxattr(directory, LOV, lov.plain(count=0, size=65536))
    (directory / "file").touch()
    assert osts_of(directory / "file") == (4,)
    os.setxattr(directory, LOV, lov.plain(count=0, pool="fast"))  # a pool of its own: no offset
    (directory / "other").touch()
    assert set(osts_of(directory / "other")) <= {0, 1, 2}


def test_components_get_objects_when_they_are_written(lustre: LustreMount) -> None:
    layout = lov.composite(
        [
            lov.Part(lov.plain(pool="fast", count=1), 0, 65536),
            lov.Part(lov.plain(pool="slow", count=2, size=65536), 65536, lov.EOF),
        ]
    )
    os.setxattr(lustre.path, LOV, layout)
    file = lustre.path / "file"
    file.touch()
    assert [len(lov.read_plain(part.blob).osts) for part in lov.read_parts(layout_of(file) or b"")] == [1, 0]
    content = os.urandom(3 * 65536 + 5)
    file.write_bytes(content)
    assert file.read_bytes() == content
    assert {3, 4} <= set(osts_of(file))


def test_layout_of_a_file_without_a_name_is_stale(lustre: LustreMount) -> None:
    fd = delayed(lustre.path / "file")
    (lustre.other / "file").unlink()
    assert failure(os.setxattr, fd, LOV, lov.plain(count=1)) == "ESTALE"
    assert failure(os.write, fd, b"x") == "EBADF"


def test_user_without_write_permission_may_not_give_a_layout(lustre: LustreMount) -> None:
    lustre.path.chmod(0o777)
    script = (
        "import os, sys\n"
        f"fd = os.open('file', {WRITE | DELAY}, 0o444)\n"
        f"try: os.setxattr(fd, 'lustre.lov', {lov.plain(count=1)!r})\n"
        "except PermissionError: print('EACCES')\n"
    )
    user = ["setpriv", "--reuid", "65534", "--clear-groups", "--", "/usr/bin/python3", "-c", script]
    done = ran(user, cwd=lustre.path)
    assert done.stdout == "EACCES\n"
