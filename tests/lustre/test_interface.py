"""A program learns through the C++ interface where its file lies."""

import errno
import os
import subprocess
from pathlib import Path

import lov_blobs as lov
import pytest
from built import BUILD
from lustre_mount import LOV
from placed_programs import LIST, Site
from ran import ran
from write_corpus import DOM

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def layout_probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("interface") / "layout"
    options = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "libses/include"]
    source = Path(__file__).parent / "probes/layout.cpp"
    library = ["-L", BUILD, "-lses", f"-Wl,-rpath,{BUILD}"]
    subprocess.run(["g++", *options, "-o", program, source, *library], check=True, timeout=600)
    return program


def test_stripes_pool_and_components_are_reported(site: Site, layout_probe: Path, tmp_path: Path) -> None:
    site.put(LIST, [5, 2])
    site.create("file")
    os.setxattr(site.lustre.path, LOV, DOM)
    os.mknod(site.lustre.path / "node")
    reported = site.run(layout_probe, "file", ".", "node", tmp_path / "nothing", library=False).splitlines()
    end = 2**64 - 1
    assert reported == [
        f"error=0 components=1 [0,{end}) count=2 pool= mdt=0 osts=5,2,",
        f"error=0 components=2 [0,65536) count=0 pool= mdt=1 osts= [65536,{end}) count=1 pool= mdt=0 osts=",
        f"error={errno.ENODATA} components=0",
        f"error={errno.ENOENT} components=0",
    ]


def test_file_elsewhere_has_no_layout(layout_probe: Path, tmp_path: Path) -> None:
    done = ran([layout_probe, tmp_path])
    assert done.stdout == f"error={errno.EOPNOTSUPP} components=0\n"


def test_layout_of_another_kind_is_not_guessed(site: Site, layout_probe: Path) -> None:
    os.setxattr(site.lustre.path, LOV, lov.plain(pool="fast", count=3))
    assert "count=3 pool=fast" in site.run(layout_probe, site.lustre.path, library=False)
