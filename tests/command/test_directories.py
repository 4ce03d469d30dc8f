"""Sets of directories: discovered, written by ``ses init``, and accepted by service and monitor."""

import re
from pathlib import Path

import pytest
from mounts import served, small_disk, stopped
from rdflib import Graph, Namespace
from ses.place.described import look, turtle
from ses_client.devices import device_of, name_of
from ses_service.knowledge.checks.validation import validate
from smed_monitor.collectors.registry import COLLECTORS
from smed_monitor.config.settings import Target
from smed_monitor.config.site import described

QSM = Namespace("https://w3id.org/qstorman/ontology#")
# As /proc/self/mountinfo has it: two exports of a server, and a CephFS.
MOUNTINFO = """\
31 1 0:50 / /nfs/home rw - nfs4 filer:/home rw,vers=4.2
32 1 0:51 / /nfs/tmp rw - nfs filer:/tmp rw,vers=3
33 1 0:52 / /ceph rw - ceph 10.0.0.1:6789,10.0.0.2:6789:/ rw
"""


def facts_of(text: str) -> dict[str, dict[str, str]]:
    """What is said of each directory, by its path."""
    graph = Graph().parse(data=text)
    return {
        str(graph.value(subject, QSM.target)): {
            str(property_).rpartition("#")[2]: str(value)
            for property_, value in graph.predicate_objects(subject)
        }
        for subject in graph.subjects(QSM.elementOf)
    }


def test_directories_are_described_with_what_they_share(ses, tmp_path: Path) -> None:
    (plain := tmp_path / "one").mkdir()
    (target := tmp_path / "two").mkdir()
    (link := tmp_path / "link").symlink_to("two")
    file = tmp_path / "found.ttl"
    with small_disk(tmp_path / "disk", 8) as disk:
        given = ("--directories", str(plain), str(disk), f"{disk}/../link", "--name", "scratch")
        assert ses("discover", *given, "--turtle", str(file)).exit_code == 0
        assert validate(file.read_text(), file.name) == []
        by_path = facts_of(file.read_text())
        assert set(by_path) == {str(plain), str(disk), str(link)}, "a link stays as it was given"
        assert len({facts["servedBy"] for facts in by_path.values()}) == 1, "all are disks of this machine"
        first, other, own = by_path[str(plain)], by_path[str(link)], by_path[str(disk)]
        assert first["fileSystem"] == other["fileSystem"] != own["fileSystem"]
        assert first.get("device") == other.get("device")
        assert "device" not in own, "nothing counts what a tmpfs does"
        listed = ses.json("discover", *given)
        assert listed["name"] == "scratch"
        assert [row["directory"] for row in listed["directories"]] == [str(plain), str(disk), str(link)]
        again = ses("discover", *given, str(target))
        assert (again.exit_code, "is given twice" in again.output) == (2, True), again.output
    assert ses("discover", "--directories", str(tmp_path / "gone")).exit_code == 5
    assert ses("discover", "--directories", str(plain), "--name", "a b").exit_code == 2
    assert ses("discover", "--slurm", str(plain)).exit_code == 2


def test_exports_of_one_server_share_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from ses.place import described as module
    from ses.place.directories import Directory
    from ses_client.mounts import parse_mounts

    mounts = parse_mounts(MOUNTINFO.encode())
    seen = [
        Directory(
            given=mount.point,
            path=mount.point,
            identity=f"{n}:2",
            mount=mount.number,
            device=device_of(mount, mount.device),
        )
        for n, mount in enumerate(mounts)
    ]
    monkeypatch.setattr(module, "look_at", lambda _: seen)
    monkeypatch.setattr(module, "MOUNTINFO", tmp_path / "mountinfo")
    (tmp_path / "mountinfo").write_text(MOUNTINFO)
    monkeypatch.setattr(module, "file_system_at", lambda path: f"x {path}")
    text = turtle(look("net", [mount.point for mount in mounts]), observed_as_mounted=True)
    assert validate(text, "net.ttl") == []
    facts = facts_of(text)
    home, tmp, ceph = (facts[mount.point] for mount in mounts)
    assert home["servedBy"] == tmp["servedBy"] != ceph["servedBy"]
    assert (home["device"], tmp["device"], ceph.get("device")) == ("nfs", "nfs", None)
    assert name_of("nfs filer") == "nfs"


def test_a_directory_whose_mount_hangs_is_named(ses, tmp_path: Path) -> None:
    (fine := tmp_path / "fine").mkdir()
    with served(tmp_path / "hung", tmp_path / "branch") as server, stopped(server):
        said = ses("discover", "--directories", str(fine), str(tmp_path / "hung"))
    assert (said.exit_code, "hung: it did not answer within 2 s" in said.output) == (5, True), said.output


def test_init_describes_directories_as_service_and_monitor_take_them(ses, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("one", "two")]
    for path in paths:
        path.mkdir()
    given = [part for path in paths for part in ("--directories", str(path))]
    directory = tmp_path / "etc"
    said = ses.json("init", str(directory), *given, "--host", "store1")
    assert said["storage"] == [{"name": "directories", "mount_point": "", "elements": 2}]
    site, settings = directory / "qstorman/site.ttl", (directory / "qstorman/smed.toml").read_text()
    assert validate(site.read_text(), site.name) == []
    assert re.findall('^(?:name|collector|paths) = (.*)$', settings, re.MULTILINE) == [
        '"directories"', '"directories"', f'["{paths[0]}", "{paths[1]}"]',
    ]  # fmt: skip
    target = Target(name="directories", collector="directories", paths=tuple(map(str, paths)))
    elements = described(site, [target], COLLECTORS)
    assert {element.id: element.mount_point for element in elements} == {
        f"directories/{path.name}": str(path) for path in paths
    }
    before = site.read_text()
    (third := tmp_path / "three").mkdir()
    more = ses.json("init", str(directory), *given, "--directories", str(third), "--host", "store1")
    assert [file["path"] for file in more["files"]] == [str(site)], (
        "what was added is described, and nothing else"
    )
    assert site.read_text().startswith(before)
    assert set(facts_of(site.read_text())) == {str(path) for path in (*paths, third)}
