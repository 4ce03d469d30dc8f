"""``ses doctor`` names each fault, how to mend it, and fails; a healthy chain passes."""

import os
import re
import shutil
import socket
import struct
import subprocess
from contextlib import nullcontext
from pathlib import Path

import pytest
from fake_agent_socket import NOT_MANAGED, PLACE, UNAVAILABLE, answer, listening
from fake_selection_service import element, observation
from ses.doctor import agent as agent_checks
from ses.doctor import agent_protocol
from ses.doctor import mounts as mount_checks
from ses.doctor import service as service_checks
from ses.doctor.library import NAMES
from ses_client.mounts import file_system_at

ROOT = Path(__file__).parents[2]


@pytest.fixture
def wrapper(public_wrapper):
    return public_wrapper


@pytest.fixture
def socket_path(tmp_path):
    return tmp_path / "agent.sock"


@pytest.fixture(autouse=True)
def a_site(service, tmp_path):
    """One element whose data are fresh; "/" stands for a mount that is there."""
    service.elements = [
        element("b1", "/", str(tmp_path / "b1"), observation("union/b1", exporter=f"{service.url}/readyz"))
    ]


@pytest.fixture(autouse=True)
def unhurried(monkeypatch):
    """Doubles in a process that much else holds up are given their time."""
    for checks in (agent_checks, mount_checks, service_checks):
        monkeypatch.setattr(checks, "_LIMIT_SECONDS", 60.0)


@pytest.fixture
def examine(ses, wrapper, socket_path):
    def run(*args, code=1):
        data = ses.json("doctor", "--library", str(wrapper), "--socket", str(socket_path), *args, code=code)
        assert data["ok"] is (code == 0)
        return data["checks"]

    return run


def said(checks, link, state="fault"):
    """The details and remedies of one link that are in one state."""
    matching = [check for check in checks if check["link"] == link and check["state"] == state]
    assert matching, f"no {state} of {link} in {checks}"
    assert state != "fault" or all(check["mend"] for check in matching)
    return " ".join(check["detail"] + " " + check["mend"] for check in matching)


def test_the_library_is_found_to_intercept(examine):
    assert f"the {len(NAMES)} calls tried reach it" in said(examine(), "preload library", "ok")


def test_a_missing_library(examine, tmp_path):
    checks = examine("--library", str(tmp_path / "gone.so"))
    assert "gone.so does not exist" in said(checks, "preload library")


def test_a_library_the_loader_refuses(examine, tmp_path):
    bad = tmp_path / "libses-wrapper.so"
    bad.write_text("not a library")
    assert "refuses" in said(examine("--library", str(bad)), "preload library")


def test_a_library_that_intercepts_nothing(examine, tmp_path):
    other = tmp_path / "libses-wrapper.so"
    shutil.copy(next(Path("/usr/lib").glob("*-linux-gnu/libm.so.6")), other)
    text = said(examine("--library", str(other)), "preload library")
    assert "do not reach it" in text
    assert "openat" in text


def test_a_library_other_users_cannot_load(examine, tmp_path, wrapper):
    closed = tmp_path / "closed" / "libses-wrapper.so"
    closed.parent.mkdir(mode=0o700)
    shutil.copy(wrapper, closed)
    text = said(examine("--library", str(closed)), "preload library")
    assert "closed to them" in text
    assert "chmod o+rX" in text


def test_it_speaks_the_version_of_the_agent():
    header = Path(__file__).parents[2] / "libses/include/ses/protocol.h"
    (version,) = re.findall(r"#define SES_PROTOCOL_VERSION (\d+)u", header.read_text())
    assert int(version) == agent_protocol.VERSION


def test_no_socket(examine, socket_path):
    checks = examine()
    assert f"{socket_path} does not exist" in said(checks, "agent socket")
    assert "no agent to ask" in said(checks, "agent to service", "skipped")


def test_a_file_in_place_of_the_socket(examine, socket_path):
    socket_path.write_text("")
    assert "is not a socket" in said(examine(), "agent socket")


def test_a_socket_nobody_listens_on_any_more(examine, socket_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as gone:
        gone.bind(str(socket_path))
    socket_path.chmod(0o666)
    assert "Nobody listens" in said(examine(), "agent socket")


def test_a_socket_other_users_may_not_ask_at(examine, socket_path):
    with listening(socket_path, answer(PLACE, "union/b1"), mode=0o600):
        assert "chmod 666" in said(examine(), "agent socket")


def test_a_listener_programs_would_not_trust(examine, socket_path, monkeypatch):
    monkeypatch.setattr(agent_checks, "listener", lambda *_: 4711)
    with listening(socket_path, answer(PLACE, "union/b1")):
        assert "uid 4711" in said(examine(), "agent socket")


def test_an_agent_that_decides(examine, socket_path):
    with listening(socket_path, answer(PLACE, "union/b1")) as asked:
        checks = examine()
    assert "the agent says union/b1" in said(checks, "agent to service", "ok")
    (question,) = asked
    magic, version, kind, size = struct.unpack_from("=IHHI", question)
    assert (magic, version, kind, size) == (0x51534553, 1, 1, len(question))
    device = Path("/").stat().st_dev
    assert struct.unpack_from("=II", question, 16) == (device >> 8 & 0xFFF, device & 0xFF)


def test_an_agent_that_hangs(examine, socket_path, monkeypatch):
    monkeypatch.setattr(agent_checks, "_LIMIT_SECONDS", 0.2)
    with listening(socket_path, None):
        assert "it hangs" in said(examine(), "agent to service")


@pytest.mark.parametrize("reply", [b"hello", answer(PLACE)[:-1], answer(9), b"\0" * len(answer(PLACE))])
def test_an_agent_that_answers_rubbish(examine, socket_path, reply):
    with listening(socket_path, reply):
        assert "does not speak the agent's protocol" in said(examine(), "agent to service")


@pytest.mark.parametrize(
    ("status", "expected"),
    [(NOT_MANAGED, "does not know the storage system on /"), (UNAVAILABLE, "cannot decide")],
)
def test_an_agent_that_is_offline(examine, socket_path, status, expected):
    with listening(socket_path, answer(status)):
        text = said(examine(), "agent to service")
    assert expected in text
    assert "--service" in text


def test_an_agent_that_lost_its_service_while_it_still_answers_from_what_it_knew(examine, socket_path):
    state_file = socket_path.with_name("agent.sock.service")
    state_file.write_text("lost https://store1:8630 it refuses this node: HTTP 401 The token is not known.\n")
    with listening(socket_path, answer(PLACE, "union/b1")):
        text = said(examine(), "agent to service")
    assert "not reach https://store1:8630: it refuses this node: HTTP 401 The token is not known. " in text
    assert "--token-file" in text


def test_an_agent_that_reaches_its_service(examine, socket_path):
    socket_path.with_name("agent.sock.service").write_text("reached https://store1:8630\n")
    with listening(socket_path, answer(PLACE, "union/b1")):
        assert "the agent reaches https://store1:8630" in said(examine(), "agent to service", "ok")


def test_what_stalled_and_was_refused_is_said_and_the_agent_reaches_its_service_all_the_same(
    examine, socket_path
):
    state_file = socket_path.with_name("agent.sock.service")
    state_file.write_text(
        "reached https://store1:8630\nrefused 7 what was announced of user mallory (2): decisions: weight\n"
        "stalled 70 71 1000000000 watcher files that were closed still count\n"
    )
    with listening(socket_path, answer(PLACE, "union/b1")):
        checks = examine()
    assert "the agent reaches https://store1:8630" in said(checks, "agent to service", "ok")
    assert "watcher has stalled since 2001-09-" in said(checks, "agent threads")
    assert "refused 7 parts of what the agent announced, last what was announced of user mallory" in said(
        checks, "agent to service", "warning"
    )


def test_a_service_that_is_down(examine, dead_url):
    checks = examine("--url", dead_url)
    assert f"at {dead_url} cannot be reached" in said(checks, "service")
    assert "the service does not say" in said(checks, "union mount", "skipped")


def test_a_service_that_is_not_ready(examine, service):
    service.ready = False
    service.checks = [{"name": "knowledge-base", "ok": False, "detail": "connection refused"}]
    assert "knowledge-base: connection refused" in said(examine(), "service")


def test_a_service_that_does_without_its_database(examine, service):
    service.checks = [{"name": "database", "ok": False, "detail": "cannot be opened"}]
    assert "database: cannot be opened" in said(examine(), "service", "warning")


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("database", "ses-service repair-ledger --state-dir DIR"),
        ("damaged-ledger", "systemctl stop ses-service"),
        ("certificate", "Renew it"),
        ("of a later version", "journalctl -u ses-service"),
    ],
)
def test_what_the_service_lacks_comes_with_a_step(examine, service, name, step):
    service.checks = [{"name": name, "ok": False, "detail": "it is so"}]
    (warning,) = (check for check in examine() if check["link"] == "service" and check["state"] == "warning")
    assert step in warning["mend"]


def test_settings_of_the_decision_are_shown(examine, service):
    service.checks.append({"name": "decision", "ok": True, "detail": "saturation 0.9 (default 0.97)"})
    assert said(examine(), "decision", "ok").strip() == "saturation 0.9 (default 0.97)"


def test_a_service_that_answers_rubbish(examine, service):
    service.rubbish = b"hello"
    assert "no JSON object" in said(examine(), "service")


def test_a_token_nobody_knows(examine, service):
    service.token = "another"
    assert "needs a known token" in said(examine(), "token")


def test_a_token_file_open_to_others(examine, token_file):
    token_file.chmod(0o644)
    assert "chmod 600" in said(examine(), "token")


def test_a_site_without_elements(examine, service):
    service.elements = []
    assert "describes no element" in said(examine(), "site")


def test_a_knowledge_base_that_is_away(examine, service):
    service.knowledge_base.update(url="http://127.0.0.1:3030/qstorman", reachable=False)
    assert "http://127.0.0.1:3030/qstorman does not answer" in said(examine(), "knowledge base")


def test_a_monitor_that_is_away(examine, service):
    service.monitor["reachable"] = False
    checks = examine()
    assert "does not answer the service" in said(checks, "monitor")
    assert "monitor" in said(checks, "data of elements", "skipped")
    service.monitor["url"] = None
    assert "--monitor-url" in said(examine(), "monitor")


def test_an_element_with_old_data(examine, service):
    service.elements[0]["observation"].update(state="stale", age_seconds=42.0)
    assert "union/b1: last seen 42 s ago" in said(examine(), "data of elements")
    assert "See whether its exporter answers: http" in said(examine(), "data of elements")
    service.elements[0]["observation"]["target"] = "this node, /srv/union"  # the monitor sees it by itself
    text = said(examine(), "data of elements")
    assert "Look on the machine of the monitor: smed-monitor check" in text
    assert "exporter" not in text


@pytest.mark.parametrize("seen", [None, {"state": "missing", "detail": "no such mount point"}])
def test_an_element_the_monitor_never_saw(examine, service, seen):
    service.elements[0]["observation"] = (
        None if seen is None else {**service.elements[0]["observation"], **seen}
    )
    text = said(examine(), "data of elements")
    assert "never seen" in text
    assert seen is None or "no such mount point" in text


def test_an_element_whose_load_is_not_seen(examine, service):
    service.elements[0]["observation"].update(
        detail="no rates: nvme0n1 has counted nothing", read_bytes_per_second={}, write_bytes_per_second={}
    )
    text = said(examine(), "data of elements", "warning")
    assert "The load of union/b1 is not seen (no rates: nvme0n1 has counted nothing)" in text


def test_an_ost_the_monitor_never_saw(examine, service):
    service.elements[0].update(backend="lustre", target="3", observation=None)
    text = said(examine(), "data of elements")
    assert "Lustre exporter" in text
    assert "mount_point" not in text


def test_many_elements_without_data_are_counted_not_listed(examine, service):
    service.elements = [element(f"b{number}", "/", f"/b{number}", None) for number in range(50)]
    links = [check for check in examine() if check["link"] == "data of elements"]
    assert len(links) == 11
    assert "40 more" in links[-1]["detail"]


def test_an_exporter_that_is_down(examine, service, dead_url):
    service.elements[0]["observation"]["target"] = f"{dead_url}/metrics"
    assert f"Nothing answers at {dead_url}/metrics" in said(examine(), "exporter")


def test_an_exporter_that_fails(examine, service):
    service.elements[0]["observation"]["target"] = f"{service.url}/v1/elements"
    assert "HTTP status 401" in said(examine(), "exporter")


def test_a_mount_that_is_no_union_is_not_mounted_or_does_not_exist(examine, service, tmp_path):
    assert "is not the mount point of a mergerfs union" in said(examine(), "union mount")
    service.elements[0]["mount_point"] = str(tmp_path / "union")
    assert str(tmp_path / "union") in said(examine(), "union mount")
    (tmp_path / "union").mkdir()
    text = said(examine(), "union mount")
    assert "nothing is mounted" in text
    assert "mergerfs -o" in text


def test_a_staging_directory_somebody_else_can_write(examine, tmp_path):
    stage = tmp_path / "b1" / ".ses"
    stage.mkdir(parents=True)
    stage.chmod(0o777)
    assert "mode 0777" in said(examine(), "staging")


def test_a_trial_off_the_union(examine, tmp_path):
    before = sorted(tmp_path.iterdir())
    assert "not on a mergerfs union" in said(examine("--try", str(tmp_path)), "trial file")
    assert sorted(tmp_path.iterdir()) == before


def test_the_text_shows_mark_remedy_and_count(ses, service, wrapper, socket_path):
    service.monitor["reachable"] = False
    result = ses("doctor", "--library", str(wrapper), "--socket", str(socket_path), code=1)
    assert "FAULT  monitor" in result.output
    assert "-> Start smed-monitor" in result.output
    assert "checks failed" in result.output


@pytest.mark.root
def test_a_healthy_chain_passes(examine, service, union, socket_path):
    mount, branches = union
    service.elements = [
        element(
            branch.name,
            str(mount),
            str(branch),
            observation(f"union/{branch.name}", exporter=f"{service.url}/readyz"),
        )
        | {"file_system": file_system_at(branch)}
        for branch in branches
    ]
    with listening(socket_path, answer(PLACE, "union/b1")):
        checks = examine(code=0)
    assert "2 branches, all 2 elements" in said(checks, "union mount", "ok")
    assert {check["state"] for check in checks} == {"ok"}


@pytest.mark.parametrize(
    ("owner", "mode", "mend"), [(0, 0o2775, "chmod +t"), (0, 0o777, "chmod +t"), (12345, 0o755, "chown root")]
)
@pytest.mark.root
def test_a_branch_whose_staging_directory_others_could_swap(examine, service, union, owner, mode, mend):
    mount, branches = union
    service.elements[0].update(mount_point=str(mount), target=str(branches[0]))
    os.chown(branches[0], owner, -1)
    branches[0].chmod(mode)
    text = said(examine(), "staging")
    assert f"{mend} {branches[0]}" in text
    branches[0].chmod(mode | 0o1000)
    os.chown(branches[0], 0, -1)
    assert mend not in str(examine())


@pytest.mark.root
def test_a_union_without_a_branch_the_site_describes(examine, service, union):
    mount, branches = union
    service.elements[0].update(mount_point=str(mount), target=str(branches[0].parent / "b9"))
    text = said(examine(), "union mount")
    assert "b9" in text
    assert "setfattr" in text


@pytest.mark.root
def test_a_branch_that_is_another_file_system_than_described(examine, service, union):
    mount, branches = union
    service.elements[0].update(mount_point=str(mount), target=str(branches[0]), file_system="ext4 01")
    text = said(examine(), "union mount")
    assert "not the file system that was described" in text
    assert f"findmnt -T {branches[0]}" in text


@pytest.mark.root
@pytest.mark.parametrize("mode", ["NC", "RO"])
def test_a_branch_that_takes_no_new_files_is_a_warning(examine, service, union, mode):
    mount, branches = union
    service.elements[0].update(mount_point=str(mount), target=str(branches[0]))
    both = f"{branches[0]}={mode}:{branches[1]}=RW"
    os.setxattr(mount / ".mergerfs", "user.mergerfs.branches", both.encode())
    warned = [check["detail"] for check in examine() if check["state"] == "warning"]
    assert any(f"{branches[0]} has the mode {mode}" in detail for detail in warned)
    assert any("does not say which file system" in detail for detail in warned)
    assert any(f"does not describe {branches[1]}" in detail for detail in warned)


@pytest.fixture
def managed(examine, service, union):
    """Return how to look at a real union that has some settings: the choices that are warned of."""
    mount, branches = union
    service.elements = [element("b1", str(mount), str(branches[0]), service.elements[0]["observation"])]

    def run(**settings):
        for name, value in settings.items():
            setting = "user.mergerfs." + name.replace("__", ".").replace("_", "-")
            os.setxattr(mount / ".mergerfs", setting, value.encode())
        return [check for check in examine() if check["link"] == "union choice"]

    return run


@pytest.mark.root
@pytest.mark.parametrize("policy", ["epmfs", "eppfrd", "mspmfs"])
@pytest.mark.parametrize("setting", ["category__create", "func__create"])
def test_a_union_that_preserves_paths_is_warned_of(managed, union, policy, setting):
    (check,) = managed(**{setting: policy})
    assert check["state"] == "warning"
    assert f"creates by {policy}" in check["detail"]
    command = check["mend"].partition("now: ")[2].split()
    subprocess.run(command, check=True, timeout=60)
    assert managed() == []


@pytest.mark.root
@pytest.mark.parametrize("policy", ["pfrd", "mfs", "ff", "newest", "rand"])
def test_a_union_that_links_anywhere_is_not(managed, policy):
    assert managed(category__create=policy) == []


@pytest.mark.root
@pytest.mark.parametrize("policy", ["epmfs", "mspmfs", "mfs"])
@pytest.mark.parametrize("ignored", ["true", "false"])
def test_what_is_warned_of_is_what_mergerfs_does(managed, union, policy, ignored):
    mount, branches = union
    warned = managed(category__create=policy, ignorepponrename=ignored)
    (branches[0] / "staged").touch()
    (branches[1] / "directory").mkdir()
    with pytest.raises(OSError, match="cross-device") if warned else nullcontext():
        os.link(mount / "staged", mount / "directory" / "file")


@pytest.mark.root
def test_a_union_that_links_by_symbolic_links_is_warned_of(managed):
    (check,) = managed(link_exdev="rel-symlink")
    assert check["state"] == "warning"
    assert "link-exdev=rel-symlink" in check["detail"]
    subprocess.run(check["mend"].partition("now: ")[2].split(), check=True, timeout=60)
    assert managed() == []


@pytest.mark.root
def test_a_warning_is_shown_and_does_not_fail(ses, service, wrapper, socket_path, union):
    mount, branches = union
    os.setxattr(mount / ".mergerfs", "user.mergerfs.category.create", b"epmfs")
    service.elements = [element("b1", str(mount), str(branches[0]), service.elements[0]["observation"])]
    with listening(socket_path, answer(PLACE, "union/b1")):
        result = ses("doctor", "--library", str(wrapper), "--socket", str(socket_path))
    assert result.exit_code == 0, result.output
    assert "warn   union choice" in result.output
    assert "Every link holds. Warnings: " in result.output


def test_elements_whose_rates_nobody_described_are_a_warning_that_says_how(examine, service):
    assert "described for all 1 elements" in said(examine(), "rates of elements", "ok")
    del service.elements[0]["nominal"]
    text = said(examine(), "rates of elements", "warning")
    assert "union/b1" in text
    assert "ses calibrate --all --yes" in text
