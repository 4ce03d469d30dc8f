"""Files that have rules of their own on Lustre, and programs that stripe for themselves, are left alone."""

import io
import os
import tarfile
from pathlib import Path

import lov_blobs as lov
import pytest
from lustre_mount import DELAY, LOV, layout_of, osts_of
from placed_programs import Site

WRITE = os.O_CREAT | os.O_WRONLY
VOLATILE = ".\x0c\x13\x14\x12:VOLATILE:0000:1234"


def nothing_asked(site: Site) -> bool:
    return site.agent.asks == [] and site.agent.reports == []


def test_append_keeps_the_rules_of_the_site(site: Site) -> None:
    os.setxattr(site.lustre.path, LOV, lov.plain(pool="fast", count=3))
    site.run("bash", "-c", "echo text >> file")
    assert nothing_asked(site)
    assert len(osts_of(site.lustre.path / "file")) == 1  # append_stripe_count
    assert (site.lustre.path / "file").read_text() == "text\n"


def test_file_made_for_reading_has_no_objects_until_it_is_written(site: Site) -> None:
    site.run(site.probe, "open", str(os.O_CREAT | os.O_RDONLY), "0644", "022", "file")
    assert nothing_asked(site)
    assert layout_of(site.lustre.path / "file") is None
    (site.lustre.path / "file").write_text("text")
    assert len(osts_of(site.lustre.path / "file")) == 1


def test_node_has_no_objects_until_it_is_written(site: Site) -> None:
    site.run(site.probe, "mknod", "0100644", "022", "file")
    assert nothing_asked(site)
    assert layout_of(site.lustre.path / "file") is None
    site.create("file")
    assert nothing_asked(site)
    assert (site.lustre.path / "file").read_text() == "text"


def test_volatile_file_is_left_alone(site: Site) -> None:
    site.create(VOLATILE)
    assert nothing_asked(site)


def test_program_that_delays_by_itself_is_left_alone(site: Site) -> None:
    """As lfs, liblustreapi and the Lustre drivers of MPI libraries do."""
    script = (
        "import os\n"
        f"fd = os.open('file', {WRITE | DELAY}, 0o644)\n"
        f"os.setxattr(fd, 'lustre.lov', {lov.plain(specific=True, pool='', osts=[5, 1])!r})\n"
        "os.write(fd, b'text')\n"
    )
    site.run("/usr/bin/python3", "-c", script)
    assert nothing_asked(site)
    assert osts_of(site.lustre.path / "file") == (5, 1)


def test_tar_restores_the_layout_it_kept(site: Site, tmp_path: Path) -> None:
    archive = tmp_path / "archive.tar"
    layout = lov.plain(specific=True, pool="", osts=[2, 0])
    with tarfile.open(archive, "w", format=tarfile.PAX_FORMAT) as tar:
        for name, kept in (("striped", layout), ("ordinary", None)):
            member = tarfile.TarInfo(name)
            member.size = 4
            member.uid, member.gid = os.getuid(), os.getgid()
            if kept is not None:  # GNU tar takes the value's bytes as they are
                member.pax_headers = {"SCHILY.xattr.lustre.lov": kept.decode("utf-8", "surrogateescape")}
            tar.addfile(member, io.BytesIO(b"text"))
    site.run("tar", "--xattrs", "--xattrs-include=*", "-xf", archive)
    assert osts_of(site.lustre.path / "striped") == (2, 0)
    assert osts_of(site.lustre.path / "ordinary") == (4,)
    assert (site.lustre.path / "striped").read_text() == "text"


def test_rsync_with_attributes_is_placed_like_any_other(site: Site, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "file").write_text("text")
    site.run("rsync", "-aX", f"{source}/", f"{site.lustre.path}/")
    assert osts_of(site.lustre.path / "file") == (4,)
    assert (site.lustre.path / "file").read_text() == "text"


@pytest.mark.parametrize("name", ["SES_DISABLE", "SES_LUSTRE_STANDIN"])
def test_switched_off_it_is_the_plain_call(site: Site, name: str) -> None:
    """Without the stand-in's switch a FUSE mount is not taken for Lustre, whatever an agent says."""
    site.run("bash", "-c", "echo text > file", **{name: "1" if name == "SES_DISABLE" else "0"})
    assert [report.outcome for report in site.agent.reports if report.outcome == 1] == []
    assert (site.lustre.path / "file").read_text() == "text\n"
