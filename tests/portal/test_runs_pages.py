"""Runs in the portal: one starts and stops one's own, sees how far they are, and nothing of others'."""

import re

import pytest
from ses_client.errors import NotAllowedError, RefusedError
from ses_client.messages.runs import RunServer

PAGE = "/runs"
RUN = {"files": "/data/*.log\n/data/more", "command": "grep -c 'a b' {}", "memory": "1GB", "shuffle": "0"}


def start(visitor, **changed: str):
    run_id = re.search(r'name="run_id" value="([0-9a-f]{16})"', visitor.get(PAGE).text)[1]
    return visitor.post(PAGE, {"run_id": run_id, **RUN, **changed})


def test_run_is_stored_as_words_and_no_shell_string(alice, site) -> None:
    assert start(alice, reduce="sort -u", force="yes", cpus="1.5").status_code == 303
    (run,) = site.near_runs["alice"]
    assert run.files == ["/data/*.log", "/data/more"]
    assert run.command == ["grep", "-c", "a b", "{}"]
    assert run.options == ["--force", "--memory=1GB", "--cpus=1.5", "--reduce=sort -u", "--shuffle=0"]
    page = alice.get(PAGE).text
    assert "grep -c a b {}" in page
    assert "waiting" in page


def test_page_says_that_nobody_serves_and_who_does(alice, site, clock) -> None:
    assert "Nobody serves your runs." in alice.get(PAGE).text
    site.servers["alice"] = [RunServer(node="login1", directory="/home/alice", seen_at=clock())]
    page = alice.get(PAGE).text
    assert "Nobody serves" not in page
    assert "login1" in page


def test_how_far_a_run_is_and_how_it_ended_is_shown(alice, site, clock) -> None:
    start(alice)
    site.set_run(
        "alice", state="running", node="login1", began_at=clock() - 90, tasks=12, tasks_done=3,
        bytes_read=45_000_000, bytes_returned=1200, errors="map-near: <b>odd</b>\nline", output="/r/1.out",
    )  # fmt: skip
    part = alice.get(PAGE, headers={"HX-Request": "true"}).text
    for words in ("3 of 12 tasks", "45\u00a0MB read", "runs for 90", "&lt;b&gt;odd", "login1", ">Stop<"):
        assert words in part, words
    assert "Start a run" not in part
    site.set_run("alice", state="lost", reported_at=clock() - 60)
    part = alice.get(PAGE).text
    assert "lost: not run again" in part
    assert ">Stop<" not in part
    site.set_run("alice", state="ended", ended_at=clock(), exit_status=1)
    assert "ended, status 1" in alice.get(PAGE).text


def test_run_is_stopped(alice, site) -> None:
    start(alice)
    address = f"{PAGE}/{site.near_runs['alice'][0].run_id}/stop"
    said = alice.post(address, {}, page=PAGE, follow_redirects=True).text
    assert "It is stopped." in said
    said = alice.post(f"{PAGE}/none/stop", {}, page=PAGE, follow_redirects=True).text
    assert "no such run any more" in said


def test_nobody_sees_or_stops_a_run_of_another_and_administrators_count_them(
    alice, root, signed_in, site
) -> None:
    start(alice)
    bob, address = signed_in("bob"), f"{PAGE}/{site.near_runs['alice'][0].run_id}/stop"
    assert "grep" not in re.sub(r'class="hint".*?</span>', "", bob.get(PAGE).text)
    bob.post(address, {}, page=PAGE)
    assert site.near_runs["alice"][0].state == "waiting"
    page = re.sub(r'class="hint".*?</span>', "", root.get(PAGE).text)
    assert ">alice<" in page
    assert "grep" not in page
    assert "Runs of other people" not in alice.get(PAGE).text


@pytest.mark.parametrize(
    "changed",
    [{"files": ""}, {"files": "--rsh=x"}, {"command": "grep x"}, {"command": "grep 'x {}"}, {"cpus": "x"},
     {"per-endpoint": "1.5"}, {"piece": "1 --rsh=x"}],
)  # fmt: skip
def test_what_is_odd_is_said_and_what_was_typed_stays(alice, site, changed: dict[str, str]) -> None:
    refused = start(alice, **changed)
    assert refused.status_code == 422
    assert 'aria-invalid="true"' in refused.text or 'role="alert"' in refused.text
    assert 'value="1GB"' in refused.text
    assert site.near_runs == {}


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (RefusedError("x", 422, (("json.command", "not a word"),)), 422, 'id="command-error">Not a word.'),
        (RefusedError("You have 20 runs; stop one first.", 409), 409, "You have 20 runs; stop one first."),
        (NotAllowedError("Role admin may not do this."), 403, "Not started: Role admin may not do this."),
    ],
)
def test_what_the_service_refuses_is_said_where_it_was_typed(alice, site, error, status, says) -> None:
    site.refuses = error
    refused = start(alice)
    assert (refused.status_code, says in refused.text) == (status, True), refused.text
    assert "/data/more" in refused.text


def test_a_service_that_is_away_keeps_what_was_typed(alice, site) -> None:
    token, run_id = alice.token(PAGE), "b" * 16
    site.down = "The selection service does not answer."
    answer = alice.client.post(PAGE, data={**RUN, "run_id": run_id, "csrf_token": token})
    assert answer.status_code == 503
    assert "Not started: The selection service does not answer." in answer.text
    assert f'value="{run_id}"' in answer.text, "so that it is not started twice"
    assert "/data/more" in answer.text
    assert alice.get(PAGE).status_code == 503


def test_form_of_another_site_starts_nothing(alice, site) -> None:
    assert alice.client.post(PAGE, data={**RUN, "run_id": "a" * 16}).status_code == 400
    assert site.near_runs == {}


def test_what_was_typed_when_the_session_ended_comes_back_and_is_not_started(alice, site) -> None:
    token = alice.token(PAGE)
    alice.post("/sign-out", {}, page="/account")
    here = {"Origin": "http://localhost"}
    alice.client.post(PAGE, data={**RUN, "run_id": "a" * 16, "csrf_token": token}, headers=here)
    alice.sign_in("alice")
    page = alice.get(PAGE).text
    assert "nothing was started yet" in page
    assert "/data/more" in page
    assert site.near_runs == {}
