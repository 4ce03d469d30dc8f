"""A node proves itself by MUNGE: once by each credential, for itself alone, from its own address.

Nodes are addresses of loopback, which are the names they stand for; each has a munged with the site's key.
"""

import os
import pwd
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import urllib3
from built import BUILD
from patience import PATIENCE, wait_until
from ran import ran

sys.path.insert(1, str(Path(__file__).parents[1] / "service"))

from files_opened import announcement, new_ids
from munged import Munged, running_munged
from service_process import SITE, Running
from ses_service.security.munge import Munge
from ses_service.security.sessions import LIFETIME, SessionError, Sessions

N1, N2 = "127.0.0.11", "127.0.0.12"
AGENT = BUILD / "agent/ses-agent"
NOBODY = 65534


@dataclass(frozen=True)
class Site:
    """A service that believes MUNGE, and the munged of its own machine and of two nodes."""

    service: Running
    here: Munged
    n1: Munged
    n2: Munged

    def ask(self, path: str, body: Any, source: str, token: str | None = None) -> tuple[int, Any]:
        with urllib3.HTTPConnectionPool(
            "127.0.0.1", self.service.port, source_address=(source, 0), retries=False, timeout=PATIENCE
        ) as pool:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            answer = pool.request("POST" if body is not None else "GET", path, json=body, headers=headers)
            return answer.status, answer.json()

    def open(self, credential: str, source: str) -> tuple[int, Any]:
        return self.ask("/v1/sessions", {"credential": credential}, source)

    def session(self, munged: Munged, said: str, source: str, user: int = 0) -> str:
        status, answer = self.open(munged.credential(f"qstorman-session 1 {said}", user=user), source)
        assert status == 200, answer
        token: str = answer["token"]
        return token

    def announce(self, node: str, said: dict[str, Any], source: str, token: str) -> tuple[int, Any]:
        message = {"incarnation": "a" * 16, **said}
        return self.ask(f"/v1/nodes/{node}/announcements", message, source, token)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    if os.geteuid() != 0:
        pytest.skip("needs root: an agent that is believed is root")
    with (
        running_munged("127.0.0.1", N1, N2) as (here, n1, n2),
        tempfile.TemporaryDirectory(prefix="qstorman-munge-") as name,
    ):
        service = Running(Path(name), "--munge", f"--munge-socket={here.socket}", f"--site={SITE}")
        yield Site(service.wait_ready(), here, n1, n2)
        service.end()


def test_a_node_speaks_for_itself_alone(site: Site) -> None:
    own, other = site.session(site.n1, f"node {N1}", N1), site.session(site.n2, f"node {N2}", N2)
    mine = new_ids(1)
    assert site.announce(N1, announcement(mine, ["union/b1"]), N1, own)[0] == 200
    ended = {"ended": [{"placement_id": mine[0], "reason": "closed"}]}
    status, answer = site.announce(N1, ended, N2, other)
    assert status == 403
    assert f"speaks for node {N2}, not for {N1}" in answer["detail"]
    assert site.announce(N2, ended, N2, other)[1]["refused"][0]["placement_id"] == mine[0]
    listed = site.ask("/v1/placements?state=open", None, N1, own)[1]["placements"]
    assert [placement["placement_id"] for placement in listed] == mine


def test_a_credential_is_taken_once(site: Site) -> None:
    credential = site.n1.credential(f"qstorman-session 1 node {N1}")
    assert site.open(credential, N1)[0] == 200
    status, answer = site.open(credential, N1)
    assert (status, answer["detail"]) == (401, "The MUNGE credential is not believed: it was used before.")


def test_a_stolen_credential_or_token_is_of_no_use_elsewhere(site: Site) -> None:
    status, answer = site.open(site.n1.credential(f"qstorman-session 1 node {N1}"), N2)
    assert status == 401
    assert f"was sent from {N2}, which on the service's machine is no address" in answer["detail"]
    token = site.session(site.n1, f"node {N1}", N1)
    assert site.announce(N1, {}, N2, token)[0] == 401
    assert site.announce(N1, {}, N1, token)[0] == 200


def test_a_credential_of_one_host_does_not_make_another(site: Site) -> None:
    status, answer = site.open(site.n2.credential(f"qstorman-session 1 node {N1}"), N1)
    assert status == 401
    assert f"names host {N1} and was made at {N2}" in answer["detail"]
    status, answer = site.open(site.n2.credential("qstorman-session 1 node nowhere.invalid"), N2)
    assert (status, "that name is not known" in answer["detail"]) == (401, True)


def test_only_root_speaks_for_a_node_and_a_user_for_themself(site: Site) -> None:
    status, answer = site.open(site.n1.credential(f"qstorman-session 1 node {N1}", user=NOBODY), N1)
    assert (status, f"Only root may speak for node {N1}, not uid {NOBODY}" in answer["detail"]) == (401, True)
    name = pwd.getpwuid(NOBODY).pw_name
    token = site.session(site.n1, f"user {N1}", N1, user=NOBODY)
    asked = "/v1/requirements/effective?user={}"
    assert site.ask(asked.format(name), None, N1, token)[0] == 200
    assert site.ask(asked.format("root"), None, N1, token)[0] == 403
    assert site.announce(N1, {}, N1, token)[0] == 403
    as_root = site.session(site.n1, f"user {N1}", N1)  # root of a node is a user as any other
    assert site.ask(asked.format(name), None, N1, as_root)[0] == 403


def test_what_is_no_credential_for_this_is_refused(site: Site) -> None:
    def detail(credential: str) -> str:
        status, answer = site.open(credential, N1)
        assert status == 401, answer
        return str(answer["detail"])

    old = site.n1.credential(f"qstorman-session 1 node {N1}", "--ttl=1")
    assert "for something else" in detail(site.n1.credential("for another service"))
    with running_munged(N1) as (stranger,):
        assert "not made with this site's MUNGE key" in detail(
            stranger.credential(f"qstorman-session 1 node {N1}")
        )
    assert "not made with this site's MUNGE key" in detail("MUNGE:AAAA:")
    assert site.open("nonsense", N1)[0] == 422
    time.sleep(3)
    assert "it has expired" in detail(old)


def test_a_lying_node_is_bounded_by_what_a_node_may_have_open(site: Site) -> None:
    token = site.session(site.n2, f"node {N2}", N2)
    assert site.announce(N2, {"complete": True}, N2, token)[0] == 200
    refused: list[str] = []
    for _ in range(35):  # 70,000 files of nobody's programs
        ids = new_ids(2000)
        status, answer = site.announce(N2, announcement(ids, ["union/b1"]), N2, token)
        assert status == 200, answer
        refused += [refusal["placement_id"] for refusal in answer["refused"]]
    assert len(refused) == 70_000 - 65_536
    assert site.announce(N2, {"complete": True}, N2, token)[0] == 200  # and all of them are its own to end


def test_what_a_lying_node_says_of_people_who_are_not_on_it_moves_nothing_of_theirs(site: Site) -> None:
    honest, liar = site.session(site.n1, f"node {N1}", N1), site.session(site.n2, f"node {N2}", N2)
    assert site.announce(N1, {"complete": True}, N1, honest)[0] == 200
    assert site.announce(N2, {"complete": True}, N2, liar)[0] == 200
    real, lies = new_ids(3), new_ids(50)
    assert site.announce(N1, announcement(real, ["union/b1"], user="alice"), N1, honest)[0] == 200

    def of_alice(source: str, token: str) -> dict[str, str]:
        """What a node is told of her files: its own."""
        listed = site.ask("/v1/placements?state=open&limit=1000", None, source, token)[1]["placements"]
        assert {placement["subject"]["user"] for placement in listed} <= {"alice"}
        return {placement["placement_id"]: placement["element"] for placement in listed}

    before = dict.fromkeys(real, "union/b1")
    assert of_alice(N1, honest) == before
    status, answer = site.announce(N2, announcement(real, ["union/b2"], user="alice"), N2, liar)
    assert (status, [refusal["placement_id"] for refusal in answer["refused"]]) == (200, real)
    assert site.announce(N2, announcement(lies, ["union/b2"], user="alice"), N2, liar)[0] == 200
    assert (of_alice(N1, honest), of_alice(N2, liar)) == (before, dict.fromkeys(lies, "union/b2"))
    assert site.announce(N2, {"complete": True}, N2, liar)[0] == 200
    assert (of_alice(N1, honest), of_alice(N2, liar)) == (before, {})


def test_a_real_agent_is_believed_also_after_the_service_started_again(site: Site, tmp_path: Path) -> None:
    log = tmp_path / "agent.log"
    options = ("--munge", f"--munge-socket={site.here.socket}", f"--site={SITE}")
    service = Running(tmp_path, *options).wait_ready()
    command = [
        *(str(AGENT), "--service", service.url, "--munge", f"--munge-socket={site.here.socket}"),
        *("--node=localhost", f"--socket={tmp_path}/agent.sock", f"--state-dir={tmp_path}/agent"),
    ]
    with log.open("wb") as out:
        agent = subprocess.Popen(command, stderr=out)
    try:
        wait_until(lambda: "service found" in log.read_text())
        key = tmp_path / "state" / "session-key"
        assert key.stat().st_mode & 0o777 == 0o600
        key.unlink()  # no session is known by the next
        service.end(signal.SIGKILL)
        service = Running(tmp_path, *options, port=service.port).wait_ready()
        wait_until(lambda: "service found again" in log.read_text())
    finally:
        service.end()
        agent.terminate()
        agent.wait(PATIENCE)


def test_an_agent_without_munged_says_what_is_wrong(tmp_path: Path) -> None:
    log = tmp_path / "agent.log"
    command = [
        *(str(AGENT), "--service", "http://127.0.0.1:9", "--munge", f"--munge-socket={tmp_path}/none"),
        *("--node=localhost", f"--socket={tmp_path}/agent.sock", f"--state-dir={tmp_path}/agent"),
    ]
    with log.open("wb") as out:
        agent = subprocess.Popen(command, stderr=out)
    try:
        wait_until(lambda: "munged of this node makes no credential" in log.read_text())
    finally:
        agent.terminate()
        agent.wait(PATIENCE)
    for wrong in (["--token-file=/x"], ["--service=http://192.0.2.1:8630"]):
        done = ran([*command, *wrong], code=None)
        assert done.returncode != 0, done.stderr


def test_a_session_ends_and_lives_through_a_clock_that_is_set_back(site: Site) -> None:
    now = [1_000_000.0]
    sessions = Sessions(Munge(site.here.socket), b"k" * 32, lambda: now[0])
    opened = sessions.open(site.n1.credential(f"qstorman-session 1 node {N1}"), N1)
    assert sessions.find(opened.token, N1) == opened.principal
    now[0] += LIFETIME - 1
    assert sessions.find(opened.token, N1) is not None
    now[0] += 2
    assert sessions.find(opened.token, N1) is None
    now[0] = 1_000_000.0 - 3600  # no session is of the future
    assert sessions.find(opened.token, N1) is None
    now[0] = 1_000_000.0
    for changed in (opened.token[:-2], "munge.", "munge.x.y", opened.token.replace("munge.", "munge.AA", 1)):
        assert sessions.find(changed, N1) is None
    assert Sessions(Munge(site.here.socket), b"x" * 32, lambda: now[0]).find(opened.token, N1) is None
    with pytest.raises(SessionError, match="no address of that name"):
        sessions.open(site.n1.credential(f"qstorman-session 1 node {N1}"), N2)
