"""``ses init`` writes a site's configuration that each program accepts, and overwrites nothing."""

import json
import os
import pty
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from mounts import served
from ran import ran
from smed_monitor.collectors.registry import COLLECTORS
from smed_monitor.config.settings import ElementSettings, Target, load
from smed_monitor.config.site import described

ELEMENTS = (ElementSettings(id="directories/scratch", target="directories-s1", mount_point="/scratch"),)
PROGRAMS = Path(sys.executable).parent
SES = str(PROGRAMS / "ses")


def programs_own(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return ran([PROGRAMS / command[0], *command[1:]], code=None)


@pytest.fixture
def storage(union: tuple[Path, list[Path]]) -> str:
    return str(union[0])


@pytest.fixture
def made(ses, storage: str, tmp_path: Path) -> Path:
    """What it writes for a union of two branches, a machine with two names and two nodes."""
    directory = tmp_path / "etc"
    said = ses.json(
        "init", str(directory), "--storage", storage, "--host", "store1,127.0.0.1",
        "--node", "n1", "--node", "n2", "--database-url", "postgresql+psycopg:///qstorman",
    )  # fmt: skip
    assert said["written"] is True
    assert said["storage"] == [{"name": "union", "mount_point": storage, "elements": 2}]
    listed = {file["path"] for file in said["files"]}
    assert listed == {str(path) for path in directory.rglob("*") if path.is_file()}
    return directory


def options(file: Path) -> dict[str, str]:
    """The options in a file as systemd reads it."""
    (line,) = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
    text = line.split("=", 1)[1].strip('"')
    words = (part.partition(" ") for part in re.split(r" (?=--)", text))
    return {name: value for name, _space, value in words}


def test_each_program_accepts_what_is_written(made: Path) -> None:
    here = made / "qstorman"
    validated = programs_own("ses", "kb", "validate", here / "site.ttl")
    assert validated.stdout == f"{here}/site.ttl: nothing wrong\n", validated.stdout + validated.stderr
    checked = programs_own(
        "smed-monitor", "check", "--config", here / "smed.toml", "--site", here / "site.ttl"
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "union/b1" in checked.stdout
    listed = programs_own("ses-service", "token", "list", "--tokens", here / "tokens.toml").stdout
    assert listed.splitlines() == ["admin\tadmin", "agent-n1\tnode\tn1", "agent-n2\tnode\tn2"]


def test_options_are_those_of_the_program_and_name_files_that_are_there(made: Path) -> None:
    for name in (
        "default/ses-service",
        "default/smed-monitor",
        "default/ses-webface",
        "qstorman/node/ses-agent",
    ):
        file = made / name
        page = Path(__file__).parents[2] / f"docs/commands/{file.name}.md"
        known = set(re.findall(r"^\| `(--[a-z-]+)`", page.read_text(), re.MULTILINE))
        given = options(file)
        assert given
        assert given.keys() <= known, name
        named = [value for value in given.values() if value.startswith(str(made))]
        assert all(Path(path).is_file() for path in named), name
        assert file.read_text().startswith("# Options of the ")


def test_secrets_are_closed_and_the_certificate_has_every_name(made: Path) -> None:
    here = made / "qstorman"
    secrets = [here / "tokens.toml", here / "tls/ca-key.pem", here / "tls/store1-key.pem"]
    secrets += [here / f"tokens/{name}.token" for name in ("admin", "n1", "n2")]
    assert {stat.S_IMODE(secret.stat().st_mode) for secret in secrets} == {0o600}
    assert all(secret.read_text().strip() for secret in secrets)
    asked = ["openssl", "x509", "-noout", "-ext", "subjectAltName", "-in", str(here / "tls/store1.pem")]
    names = ran(asked).stdout
    assert "DNS:store1, IP Address:127.0.0.1" in names


def test_who_serves_can_read_it_whatever_the_umask_of_who_wrote_it(ses, storage: str, tmp_path: Path) -> None:
    directory = tmp_path / "deep" / "etc"
    before = os.umask(0o077)
    try:
        ses.json("init", str(directory), "--storage", storage, "--host", "store1", "--node", "n1")
    finally:
        os.umask(before)
    here = directory / "qstorman"
    folders = [directory.parent, directory, here, here / "tls", here / "node", directory / "default"]
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o755}
    files = [here / "site.ttl", here / "smed.toml", here / "tls/ca.pem", here / "tls/store1.pem"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o644}
    assert stat.S_IMODE((here / "tokens").stat().st_mode) == 0o700


def test_nothing_is_overwritten(ses, made: Path, storage: str) -> None:
    before = {path: path.read_bytes() for path in made.rglob("*") if path.is_file()}
    (made / "default/ses-service").unlink()
    again = ses("init", str(made), "--storage", storage, code=1)
    assert "Nothing was written: " in again.output
    assert str(made / "qstorman/site.ttl") in again.output
    del before[made / "default/ses-service"]
    assert {path: path.read_bytes() for path in made.rglob("*") if path.is_file()} == before


def test_what_fails_half_way_can_be_tried_again(ses, storage: str, tmp_path: Path, monkeypatch) -> None:
    directory, broken = tmp_path / "etc", tmp_path / "ses-service"
    broken.write_text(
        f'#!/bin/sh\n[ "$1" = tls ] && exec {PROGRAMS}/ses-service "$@"\necho no room >&2; exit 1\n'
    )
    broken.chmod(0o755)
    given = ("init", str(directory), "--storage", storage, "--host", "store1", "--node", "n1")
    with monkeypatch.context() as patched:
        patched.setattr("ses.setup.writing._service", lambda: str(broken))
        failed = ses(*given)
    assert failed.exit_code == 1
    assert "failed: no room" in failed.output
    assert not [path for path in directory.rglob("*") if path.is_file()]
    again = ses(*given)
    assert again.exit_code == 0, again.output


def test_run_again_it_describes_the_disk_that_was_added(
    ses, made: Path, union: tuple[Path, list[Path]], tmp_path: Path
) -> None:
    mount, branches = union
    site = made / "qstorman/site.ttl"
    site.write_text(before := site.read_text() + "# Ours.\n")
    (added := tmp_path / "b0").mkdir()
    os.setxattr(mount / ".mergerfs", "user.mergerfs.branches", f"+<{added}".encode())
    planned = ses.json("init", str(made), "--storage", str(mount), "--dry-run")
    assert [file["path"] for file in planned["files"]] == [str(site)]
    said = ses("init", str(made), "--storage", str(mount), COLUMNS="200")
    assert "systemctl restart smed-monitor ses-service" in said.output, "neither reads it while it runs"
    assert site.read_text().startswith(before)
    elements = described(site, [Target(name="union", collector="mergerfs", paths=(str(mount),))], COLLECTORS)
    assert {element.id: element.mount_point for element in elements} == {
        f"union/{path.name}": str(path) for path in (added, *branches)
    }


def test_unions_whose_mount_points_end_alike_are_two_storage_systems(
    ses, storage: str, tmp_path: Path
) -> None:
    second = tmp_path / "second/union"
    second.parent.mkdir()
    with served(second, tmp_path / "d1"):
        given = ("--storage", storage, "--storage", str(second), "--host", "store1", "--node", "n1")
        described = ses.json("init", str(tmp_path / "etc"), *given)["storage"]
        for again in (given, ("--storage", str(second), "--host", "store1")):
            refused = ses("init", str(tmp_path / "etc"), *again, code=1)
            assert "Nothing was written" in refused.output, "all of it is described"
    first, other = (system["name"] for system in described)
    assert first == "union"
    assert re.fullmatch("union-[0-9a-f]{8}", other)
    site = (tmp_path / "etc/qstorman/site.ttl").read_text()
    assert f"<{other}/d1> a qsm:Branch" in site
    assert ses("kb", "validate", str(tmp_path / "etc/qstorman/site.ttl")).exit_code == 0


def test_a_dry_run_lists_the_same_and_writes_nothing(ses, made: Path, storage: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    same = ("--storage", storage, "--host", "store1", "--node", "n1", "--node", "n2")
    said = ses.json("init", str(other), *same, "--dry-run")
    assert said["written"] is False
    assert not other.exists()
    assert {file["path"] for file in said["files"]} == {
        str(other / path.relative_to(made)) for path in made.rglob("*") if path.is_file()
    }
    result = ses("init", str(other), "--storage", storage, "--dry-run", COLUMNS="80", code=0)
    assert "Nothing was written." in result.output


def test_exporters_become_targets_that_the_description_names(ses, storage: str, tmp_path: Path) -> None:
    directory = tmp_path / "etc"
    urls = ("http://s1:9100/metrics", "http://s2:9100/metrics")
    exporters = [part for url in urls for part in ("--exporter", url)]
    assert ses("init", str(directory), "--storage", storage, *exporters).exit_code == 0
    settings = (directory / "qstorman/smed.toml").read_text()
    assert re.findall('^(?:name|collector|url) = "(.*)"$', settings, re.MULTILINE) == [
        "union-s1", "node_exporter", urls[0], "union-s2", "node_exporter", urls[1],
    ]  # fmt: skip
    assert 'qsm:observedAt "union-*"' in (directory / "qstorman/site.ttl").read_text()


def test_each_exporter_is_a_target_the_monitor_takes(ses, tmp_path: Path) -> None:
    """Two of one host, one that is given twice, and one by its address."""
    directory, scratch = tmp_path / "etc", tmp_path / "scratch"
    scratch.mkdir()
    urls = ("http://s1:9100/metrics", "http://s1:9101/metrics", "https://[fd00::1]:9100/metrics")
    exporters = [part for url in (*urls, urls[0]) for part in ("--exporter", url)]
    said = ses("init", str(directory), "--directories", str(scratch), "--host", "store1", *exporters)
    assert said.exit_code == 0, said.output
    loaded = load(directory / "qstorman/smed.toml", collectors=COLLECTORS, described=lambda _: ELEMENTS)
    assert [(target.name, target.url) for target in loaded.targets] == list(
        zip(("directories-s1", "directories-s1-2", "directories-fd00-1"), urls, strict=True)
    )


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        ((), 2, "Give --storage MOUNT"),
        (("--storage", "/proc"), 5, "/proc is neither the mount point of a mergerfs union nor on a Lustre"),
        (("--storage", "UNION", "--storage", "UNION"), 2, "Two storage systems are called union"),
        (("--storage", "UNION", "--host", "a b"), 2, "'a b' is no name of a machine"),
        (("--storage", "UNION", "--node", "../n1"), 2, "'../n1' is no name of a machine"),
        (("--storage", "UNION", "--node", "admin"), 2, "where the administrator's does"),
        (("--storage", "UNION", "--exporter", "n1:9100/metrics"), 2, "such as http://n1:9100/metrics"),
        (("--storage", "UNION", "--kb-url", 'http://kb" --x'), 2, "cannot stand in a line of options"),
    ],
)
def test_what_cannot_be_is_reported_and_writes_nothing(
    ses, storage: str, tmp_path: Path, given: tuple[str, ...], code: int, message: str
) -> None:
    directory = tmp_path / "etc"
    said = ses("init", str(directory), *(storage if word == "UNION" else word for word in given))
    assert (said.exit_code, directory.exists()) == (code, False), said.output
    assert message in said.output


def test_on_a_terminal_it_asks_for_what_is_not_given(storage: str, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    os.write(ours, f"/nowhere\n{storage}\n\n{tmp_path}\nstore1,10.0.0.1\nn1 n2\n".encode())
    directory = tmp_path / "etc"
    done = ran([SES, "init", str(directory)], code=None, stdin=theirs)
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 0, done.stderr
    assert (directory / "qstorman/tokens/n2.token").is_file()
    assert f'qsm:target "{tmp_path}"' in (directory / "qstorman/site.ttl").read_text()
    assert (directory / "qstorman/tls/store1.pem").is_file()
    assert "systemctl enable --now" in done.stdout


def test_what_the_monitor_cannot_see_is_said_before_anything_is_written(
    ses, storage: str, tmp_path: Path
) -> None:
    tmp_path.chmod(0o700)
    result = ses("init", str(tmp_path / "etc"), "--storage", storage, "--dry-run")
    words = (
        f"Warning: {tmp_path} lets not everybody in, so the monitor (qstorman-monitor) cannot see {storage}."
    )
    assert words in " ".join(result.output.split())
    assert f"setfacl -m u:qstorman-monitor:x {tmp_path}" in result.output
    seen = ses(
        "init",
        str(tmp_path / "etc"),
        "--storage",
        storage,
        "--dry-run",
        "--exporter",
        "http://n1:9100/metrics",
    )
    assert "Warning" not in seen.output


def test_json_never_asks(storage: str, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    done = ran([SES, "init", str(tmp_path / "etc"), "--storage", storage, "--json"], stdin=theirs)
    os.close(theirs)
    os.close(ours)
    assert json.loads(done.stdout)["written"] is True


def test_nodes_that_prove_themselves_by_munge_need_no_tokens(ses, storage: str, tmp_path: Path) -> None:
    directory = tmp_path / "etc"
    said = ses.json("init", str(directory), "--storage", storage, "--host", "store1", "--munge")
    assert not [file for file in said["files"] if "token of" in file["what"]]
    assert "--munge" in options(directory / "default/ses-service")
    agent = options(directory / "qstorman/node/ses-agent")
    assert "--munge" in agent
    assert "--token-file" not in agent
    both = ses("init", str(tmp_path / "other"), "--storage", storage, "--munge", "--node", "n1", code=2)
    assert "leave --node out" in both.stderr
    assert not (tmp_path / "other").exists()
