"""Whatever is refused or comes between the steps, the program has a file it can write, or the plain error."""

import errno
import os
import resource
from collections.abc import Callable

import lov_blobs as lov
import pytest
from lustre_mount import LOV, layout_of, osts_of
from patience import wait_until
from placed_programs import AS_NOBODY, LIST, OFFSET, POOL, Site, as_shown

WRITE = os.O_CREAT | os.O_WRONLY
EXCLUSIVE = WRITE | os.O_EXCL
TROUBLES = {
    "inactive": errno.EREMOTEIO,
    "nocreate": errno.ENOBUFS,
    "full": errno.ENOSPC,
    "readonly": errno.EROFS,
    "connecting": errno.EINPROGRESS,
}
INJECTED = [
    "EACCES", "EPERM", "ENOSPC", "EROFS", "ENOBUFS", "EREMOTEIO", "EINVAL", "EINPROGRESS", "EDQUOT",
    "ETIMEDOUT", "EIO", "EOPNOTSUPP", "ERANGE", "EINTR", "ENOMEM", "EFBIG", "E2BIG", "EALREADY", "ENODEV",
]  # fmt: skip


@pytest.mark.parametrize("flags", [WRITE, EXCLUSIVE])
@pytest.mark.parametrize(("trouble", "error"), TROUBLES.items())
def test_refused_list_becomes_the_pool(site: Site, trouble: str, error: int, flags: int) -> None:
    site.put(LIST, [4], pool="slow")
    site.lustre.trouble(4, trouble)
    assert "written=4" in site.create("file", flags)
    assert osts_of(site.lustre.path / "file") == (3,)
    assert (site.report().outcome, site.report().error) == (2, error)


@pytest.mark.parametrize("flags", [WRITE, EXCLUSIVE])
@pytest.mark.parametrize(("trouble", "error"), TROUBLES.items())
def test_refused_list_without_a_pool_becomes_the_default(
    site: Site, trouble: str, error: int, flags: int
) -> None:
    site.put(LIST, [4, 3])
    os.setxattr(site.lustre.path, LOV, lov.plain(pool="fast", count=2))
    site.lustre.trouble(4, trouble)
    assert "written=4" in site.create("file", flags)
    assert len(osts_of(site.lustre.path / "file")) == 2
    assert set(osts_of(site.lustre.path / "file")) <= {0, 1, 2}
    assert (site.report().outcome, site.report().error) == (2, error)


@pytest.mark.parametrize(
    "place",
    [
        {"form": LIST, "osts": (99,)},
        {"form": LIST, "osts": (4, 4)},
        {"form": OFFSET, "osts": (99,)},
        {"form": LIST, "osts": (4,), "stripe_size": 12345},
        {"form": LIST, "osts": (4,), "stripe_size": 1 << 32},
        {"form": POOL, "pool": ""},
        {"form": LIST, "osts": ()},
        {"form": 7, "osts": (4,)},
        {"form": LIST, "osts": (4,), "ost_count": 15},
    ],
)
def test_impossible_place_leaves_the_default(site: Site, place: dict[str, object]) -> None:
    site.place = place
    assert "written=4" in site.create("file")
    assert (site.lustre.path / "file").read_text() == "text"
    assert [report.outcome for report in site.agent.reports if report.outcome != 2] == []


@pytest.mark.parametrize("flags", [WRITE, EXCLUSIVE])
def test_everything_full_ends_as_the_plain_call_does(site: Site, flags: int) -> None:
    for ost in range(site.lustre.osts):
        site.lustre.trouble(ost, "full")
    placed = site.run(site.probe, "open", str(flags), "0644", "022", "placed")
    plain = site.run(site.probe, "open", str(flags), "0644", "022", "plain", library=False)
    assert placed == plain
    assert f"fd=-1 errno={errno.ENOSPC}" in placed
    assert list(site.lustre.path.iterdir()) == []


@pytest.mark.parametrize("when", ["1", "1+"])
@pytest.mark.parametrize("flags", [WRITE, EXCLUSIVE])
@pytest.mark.parametrize("error", INJECTED)
def test_every_error_of_the_second_step_ends_with_a_file_that_can_be_written(
    site: Site, error: str, flags: int, when: str
) -> None:
    """Once, and then the pool is taken; or always, and then only the plain open is left."""
    site.put(LIST, [4], pool="slow")
    strace = ("strace", "-qq", "-o", "/dev/null", "-e", f"inject=fsetxattr:error={error}:when={when}")
    seen = site.create("file", flags, before=strace)
    plain = site.create("plain", flags, library=False)
    assert as_shown(seen, site.lustre.path / "file") == as_shown(plain, site.lustre.path / "plain")
    assert (site.lustre.path / "file").read_text() == "text"
    if when == "1":
        assert set(osts_of(site.lustre.path / "file")) <= {3, 4}
    assert (site.report().outcome, site.report().error) == (2, getattr(errno, error))


@pytest.mark.parametrize("flags", [WRITE, EXCLUSIVE])
@pytest.mark.parametrize(
    "inject",
    [
        "statx:error=EIO:when=2",
        "getxattr:error=EIO",
        "getxattr:error=EACCES",
        "fgetxattr:error=EACCES",
        "fgetxattr:error=ENODATA",
        "fgetxattr:error=ERANGE",
        "getpid:error=ENOSYS",
        "fsetxattr:error=EIO -e inject=openat:error=EMFILE:when=4",
    ],
)
def test_every_other_step_may_fail(site: Site, inject: str, flags: int) -> None:
    strace = ["strace", "-qq", "-o", "/dev/null", "-e", *f"inject={inject}".split()]
    seen = site.create("file", flags, before=strace)
    assert as_shown(seen, site.lustre.path / "file") == as_shown(
        site.create("plain", flags, library=False), site.lustre.path / "plain"
    )
    assert (site.lustre.path / "file").read_text() == "text"


def test_last_descriptor_is_enough(site: Site) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (5, 5))

    site.lustre.trouble(4, "full")
    seen = site.run(site.probe, "write", str(EXCLUSIVE), "0644", "text", "file", preexec_fn=limit)
    assert "written=4 fd=3" in seen
    assert (site.lustre.path / "file").read_text() == "text"


def between(site: Site, happening: Callable[[], object], flags: int = EXCLUSIVE) -> str:
    """Create a file, and let something happen between its open and its layout.

    Not a change of the name by this node: its kernel holds the file while the layout is being set.
    """
    site.lustre.gate.shut()
    process = site.start(site.probe, "write", str(flags), "0644", "text", "file")
    site.lustre.gate.wait_reached()
    happening()
    site.lustre.gate.open()
    output, _ = process.communicate(timeout=60)
    site.agent.settle()
    assert process.returncode == 0
    return output


def test_file_unlinked_meanwhile_is_made_anew(site: Site) -> None:
    seen = between(site, (site.lustre.other / "file").unlink)
    assert "written=4" in seen
    assert (site.lustre.path / "file").read_text() == "text"
    assert site.report().outcome == 2


@pytest.mark.parametrize("flags", [WRITE, EXCLUSIVE])
def test_file_replaced_meanwhile_by_a_rename_is_no_error(site: Site, flags: int) -> None:
    """The create has succeeded: the exclusive one has a file without a name, as after the original call."""
    mount = site.lustre.other
    (mount / "new").write_text("other")
    seen = between(site, lambda: (mount / "new").rename(mount / "file"), flags)
    assert "written=4" in seen
    assert sorted(path.name for path in site.lustre.path.iterdir()) == ["file"]
    assert (site.lustre.path / "file").read_text() == ("other" if flags & os.O_EXCL else "textr")
    assert site.report().outcome == 2


def test_file_renamed_meanwhile_is_placed_all_the_same(site: Site) -> None:
    mount = site.lustre.other
    seen = between(site, lambda: (mount / "file").rename(mount / "renamed"))
    assert "written=4" in seen
    assert (site.lustre.path / "renamed").read_text() == "text"
    assert osts_of(site.lustre.path / "renamed") == (4,)
    assert not (site.lustre.path / "file").exists()


@pytest.mark.parametrize("refused", [False, True])
def test_writer_of_another_node_who_came_first_keeps_the_default(site: Site, refused: bool) -> None:
    """Its objects stay, whatever became of the request for ours; and nothing is opened again."""
    os.setxattr(site.lustre.path, LOV, lov.plain(pool="small", count=1))
    if refused:
        site.lustre.trouble(4, "full")
    fds: list[int] = []
    seen = between(site, lambda: fds.append(os.open(site.lustre.other / "file", os.O_RDWR)))
    assert "written=4" in seen
    assert osts_of(site.lustre.path / "file") == (5,)
    assert os.pread(fds[0], 10, 0) == b"text"
    assert (site.report().outcome, site.report().error) == (2, errno.EEXIST)
    os.close(fds[0])


def test_writer_of_this_node_who_came_second_can_write(site: Site) -> None:
    fds: list[int] = []
    between(site, lambda: fds.append(os.open(site.lustre.path / "file", os.O_RDWR)))
    assert os.write(fds[0], b"TEXT") == 4
    assert osts_of(site.lustre.path / "file") == (4,)
    os.close(fds[0])


def test_refused_while_somebody_of_this_node_has_it_open_is_still_written(site: Site) -> None:
    """The plain open shares that one's handle and makes no objects: the default is set by its bytes."""
    os.setxattr(site.lustre.path, LOV, lov.plain(pool="small", count=1))
    site.lustre.trouble(4, "full")
    fds: list[int] = []
    seen = between(site, lambda: fds.append(os.open(site.lustre.path / "file", os.O_RDWR | 0o20000)))
    assert "written=4" in seen
    assert osts_of(site.lustre.path / "file") == (5,)
    os.close(fds[0])


@pytest.mark.parametrize("call", ["fsetxattr", "fgetxattr", "sendmsg"])
def test_program_killed_between_the_steps_leaves_a_file_that_can_be_written(site: Site, call: str) -> None:
    strace = ("strace", "-qq", "-o", "/dev/null", "-e", f"inject={call}:signal=KILL")
    site.run(*strace, site.probe, "write", str(EXCLUSIVE), "0644", "text", "file", check=False)

    def can_be_written() -> bool:
        """Lustre closes a killed program's files before it is gone, FUSE releases them later."""
        try:
            (site.lustre.path / "file").write_text("later")
        except OSError as error:
            if error.errno != errno.EBADF:
                raise
            return False
        return True

    wait_until(can_be_written, "the file can be written")
    assert (site.lustre.path / "file").read_text() == "later"


@pytest.mark.parametrize("trouble", ["", "full"])
@pytest.mark.parametrize(
    ("mode", "umask"), [("0444", "022"), ("0644", "0222"), ("0644", "0777"), ("0600", "0200"), ("0000", "0")]
)
@pytest.mark.parametrize("user", [(), AS_NOBODY])
@pytest.mark.parametrize("flags", [os.O_CREAT | os.O_RDWR, EXCLUSIVE])
def test_file_its_owner_may_not_write_can_be_written_by_its_creator(
    site: Site, flags: int, user: tuple[str, ...], mode: str, umask: str, trouble: str
) -> None:
    site.lustre.path.chmod(0o777)
    site.lustre.trouble(4, trouble)
    script = 'umask $0; exec "$@"'
    write = ("sh", "-c", script, umask, site.probe, "write", str(flags), mode, "text")
    placed = site.run(*user, *write, "placed")
    plain = site.run(*user, *write, "plain", library=False)
    assert as_shown(placed, site.lustre.path / "placed") == as_shown(plain, site.lustre.path / "plain")
    assert "written=4" in placed
    assert layout_of(site.lustre.path / "placed")
    modes = [(site.lustre.path / name).stat().st_mode for name in ("placed", "plain")]
    assert modes[0] == modes[1]
