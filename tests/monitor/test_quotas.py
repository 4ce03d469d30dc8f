"""Quotas of Lustre: from its files, through node_exporter's page, to what the monitor answers."""

from errno import ENOENT
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from invoked import invoked
from smed_monitor.cli import main
from smed_monitor.config.settings import ElementSettings, QuotaSettings, Settings, Target
from smed_monitor.core.errors import ContentError
from smed_monitor.core.quotas import Kind, Quota
from smed_monitor.http.app import create_app
from smed_monitor.quotas import lustre
from smed_monitor.quotas.names import Names
from smed_monitor.quotas.page import new_reader, page, quotas_of
from smed_monitor.quotas.watch import Quotas
from smed_monitor.scraping.monitor import Monitor

KIB = 1024.0
USERS = """\
global_pool0_dt_usr:
- id:      0
  limits:  { hard:   0, soft:   0, granted:   0, time:   604800 }
- id:      1000
  limits:  { hard:   307200, soft:   204800, granted:   65536, time:   4294967295 }
- id:      1001
  limits:  { hard:   0, soft:   102400, granted:   4096, time:   0 }
- id:      1002
  limits:  { hard:   0, soft:   0, granted:   1024, time:   0 }
"""
PROJECTS = """\
global_pool0_dt_prj:
- id:      77
  limits:  { hard:   2048, soft:   0, granted:   1024, time:   0 }
"""


def server(root: Path, filesystem: str = "lustre") -> Path:
    folder = root / "proc/fs/lustre/qmt" / f"{filesystem}-QMT0000" / "dt-0x0"
    folder.mkdir(parents=True)
    (folder / "glb-usr").write_text(USERS)
    (folder / "glb-grp").write_text("global_pool0_dt_grp:\n")
    (folder / "glb-prj").write_text(PROJECTS)
    (folder / "info").write_text("pool:\n    id: 0\n")
    return root


def named(kind: Kind, number: int) -> str:
    return f"{kind[0]}{number}"


def test_those_with_a_limit_are_read_with_what_was_granted(tmp_path: Path) -> None:
    quotas = lustre.read(server(tmp_path), named, 5.0)
    assert quotas == [
        Quota("lustre", Kind.PROJECT, 77, "p77", 1024 * KIB, 2048 * KIB, 5.0),
        Quota("lustre", Kind.USER, 1000, "u1000", 65536 * KIB, 307200 * KIB, 5.0),
        Quota("lustre", Kind.USER, 1001, "u1001", 4096 * KIB, 102400 * KIB, 5.0),
    ]


@pytest.mark.parametrize("text", ["", "nonsense", "- id:   5\n", "- id: 5\n  limits: { hard: x }\n"])
def test_text_without_limits_has_no_quotas(text: str) -> None:
    assert lustre.limits(text) == []


def test_limits_may_be_on_lines_of_their_own() -> None:
    text = (
        "- id:      7\n  limits:\n    hard: 10\n    soft: 0\n    granted: 3\n- id: 8\n  limits: { soft: 4 }\n"
    )
    assert lustre.limits(text) == [(7, 3 * KIB, 10 * KIB), (8, 0.0, 4 * KIB)]


def test_a_number_without_a_name_is_its_own_name(tmp_path: Path) -> None:
    projects = tmp_path / "projid"
    projects.write_text("climate:77\n# x\nbroken\n")
    names = Names(projects)
    assert names(Kind.USER, 0) == "root"
    assert names(Kind.USER, 4_000_000_007) == "4000000007"
    assert (names(Kind.PROJECT, 77), names(Kind.PROJECT, 78)) == ("climate", "78")
    assert Names(tmp_path / "none")(Kind.PROJECT, 77) == "77"


def test_a_name_is_asked_for_again_after_a_while(tmp_path: Path) -> None:
    """A name service that restarts knows nobody meanwhile."""
    projects, now = tmp_path / "projid", [0.0]
    projects.touch()
    names = Names(projects, lambda: now[0])
    assert names(Kind.PROJECT, 77) == "77"
    projects.write_text("climate:77\n")
    assert names(Kind.PROJECT, 77) == "77", "it is not asked for each time"
    now[0] = 301.0
    assert names(Kind.PROJECT, 77) == "climate"


def test_what_is_written_is_what_is_read_back() -> None:
    quotas = [
        Quota("fs", Kind.USER, 1, 'a"b\\c', 1.5e9, 2e12, 7.0),
        Quota("fs", Kind.GROUP, 1, "g", 0.0, 1.0, 7.0),
        Quota("other", Kind.PROJECT, 9, "9", 3.0, 4.0, 8.0),
    ]
    assert sorted(quotas_of(page(quotas), new_reader())) == sorted(quotas)
    assert quotas_of(b"up 1\n", new_reader()) == []
    unsaid = page(quotas).replace(b'smed_quota_written_timestamp_seconds{filesystem="fs"}', b"x")
    assert [quota.filesystem for quota in quotas_of(unsaid, new_reader())] == ["other"]
    with pytest.raises(ContentError):
        quotas_of(b'smed_quota_limit_bytes{filesystem="fs"} 1\n', new_reader())


def test_the_first_metadata_server_needs_no_ost(tmp_path: Path) -> None:
    output = tmp_path / "smed.prom"
    asked = ["textfile", "--once", "--root", str(server(tmp_path)), "--output", str(output)]
    invoked(main, asked)
    assert [quota.id for quota in quotas_of(output.read_bytes(), new_reader())] == [77, 1000, 1001]
    folder = tmp_path / "proc/fs/lustre/obdfilter/lustre-OST0000"
    folder.mkdir(parents=True)
    (folder / "kbytesavail").write_text("7\n")
    assert CliRunner().invoke(main, asked).exit_code == 0
    assert b"smed_ost_available_kibibytes" in output.read_bytes()
    assert len(quotas_of(output.read_bytes(), new_reader())) == 3


def test_an_exporter_that_fails_leaves_what_was_seen_and_says_so(exporter: Any, answer_whole: Any) -> None:
    quotas = [Quota("lustre", Kind.USER, 1, "alice", 5.0, 9.0, 3.0), Quota("b", Kind.USER, 1, "a", 1, 2, 3)]
    exporter.answer = answer_whole(page(quotas))
    watched = Quotas([QuotaSettings(system="scratch", url=exporter.url, filesystem="lustre")])
    assert watched.latest[0].error == "not looked at yet"
    watched.look()
    (seen,) = watched.latest
    assert (seen.quotas, seen.error) == (tuple(quotas[:1]), "")
    exporter.answer = answer_whole(b"", status="500 Oh")
    watched.look()
    (seen,) = watched.latest
    assert seen.quotas == tuple(quotas[:1])
    assert "500" in seen.error
    exporter.answer = answer_whole(b"up 1\n")
    watched.look()
    assert (watched.latest[0].quotas, watched.latest[0].error) == ((), "shows no quota of it")


def test_folders_that_vanish_while_they_are_listed_leave_what_was_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unmounted(_path: Path, _pattern: str) -> list[Path]:
        raise FileNotFoundError(ENOENT, "No such file or directory")

    watched = Quotas([QuotaSettings(system="scratch", root=str(server(tmp_path)))])
    watched.look()
    monkeypatch.setattr(Path, "glob", unmounted)
    watched.look()
    (seen,) = watched.latest
    assert (len(seen.quotas), seen.error) == (3, "cannot be read: No such file or directory")


def test_the_monitor_answers_with_them(tmp_path: Path) -> None:
    target = Target(name="n1", collector="node_exporter", url="http://127.0.0.1:9/metrics")
    element = ElementSettings(id="union/b1", target="n1", mount_point="/x")
    quota = QuotaSettings(system="scratch", root=str(server(tmp_path)))
    monitor = Monitor(Settings(target=(target,), element=(element,), quota=(quota,)))
    client = create_app(monitor).test_client()
    (before,) = client.get("/v1/quotas").get_json()["systems"]
    assert (before["quotas"], before["error"]) == ([], "not looked at yet")
    monitor.quotas.look()
    (after,) = client.get("/v1/quotas").get_json()["systems"]
    assert (after["system"], after["error"]) == ("scratch", "")
    assert after["target"] == f"this node, {tmp_path}"
    first = next(listed for listed in after["quotas"] if listed["kind"] == "project")
    assert (first["name"], first["used_bytes"], first["limit_bytes"]) == ("77", 1024 * KIB, 2048 * KIB)
