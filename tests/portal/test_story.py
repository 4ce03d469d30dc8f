"""The whole portal in a browser: a requirement typed here changes what the selection service decides."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from oidc_provider_mock import User, run_server_in_thread
from patience import wait_until
from playwright.sync_api import Page, expect
from portal_stack import PASSWORD, SITE, Stack, running_stack


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    base = tmp_path_factory.mktemp("story")
    site = base / "site.ttl"
    site.write_text(SITE.read_text().replace("/srv/qstorman", str(base)))
    members = base / "members.toml"
    people = [
        User(sub="carol", claims={"preferred_username": "carol", "groups": ["/materials"]}),
        User(sub="eve", claims={"preferred_username": "no: name"}),
    ]
    with run_server_in_thread(user_claims=people) as provider:
        members.write_text(
            f'[oidc]\nissuer = "http://localhost:{provider.server_port}"\naudience = "portal"\n'
            '[[oidc.claim]]\nclaim = "groups"\nvalue = "/materials"\nvo = "materials"\n'
        )
        accounts = {"nobody": False, "root": True}
        with running_stack(base, site, accounts=accounts, members=members) as running:
            yield running


def test_people_sign_in_at_the_sites_provider_which_says_their_vo(stack: Stack, open_window) -> None:
    window = open_window()
    page = window.page
    page.route(re.compile("^https:"), lambda route: route.abort())  # nothing leaves this machine
    page.goto(f"{stack.portal}/storage")
    page.get_by_role("button", name="Sign in with localhost").click()
    page.get_by_role("button", name="carol", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="Storage")).to_be_visible()
    page.goto(f"{stack.portal}/requirements/applied?user=carol")
    expect(page.locator("main")).to_contain_text("materials")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("button", name="Sign in with localhost").click()
    page.get_by_role("button", name="eve", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("cannot be an account's name")
    back = page.url
    page.goto(back)
    expect(page.get_by_role("alert")).to_contain_text("did not sign you in")
    page.get_by_role("button", name="Sign in with localhost").click()
    page.get_by_role("button", name="Deny").click()
    expect(page.get_by_role("alert")).to_contain_text("did not sign you in")
    assert Axe().run(page).violations_count == 0
    window.complaints.clear()  # what was refused, and the style sheet of the provider


def test_a_requirement_typed_in_the_portal_decides_where_files_go(stack: Stack, open_window) -> None:
    page = open_window().sign_in(stack.portal, "nobody", PASSWORD)

    page.get_by_label("For one application").fill("dd")
    page.get_by_role("button", name="Add").click()
    ranking = page.locator("#ranking")
    everything = ranking.locator(".candidates > li")
    expect(everything).to_have_count(8)
    page.wait_for_load_state()  # its script listens from then on

    page.locator("#kind_current_write_rate-bound").fill("70")
    page.locator("#kind_current_write_rate-strictness").select_option("hard")
    expect(everything).to_have_count(2)
    expect(ranking).to_contain_text("hard requirement")
    assert {text.strip() for text in ranking.locator(".candidates .element").all_inner_texts()} == {
        "union/b1",
        "union/b2",
    }
    assert stack.revision("application", "nobody:dd") == 0, "looking saves nothing"

    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved. Files created from now on follow it.")).to_be_visible()
    assert stack.revision("application", "nobody:dd") == 1

    page.get_by_role("link", name="Requirements", exact=True).first.click()
    page.get_by_role("heading", level=1, name="Requirements").wait_for()
    page.wait_for_load_state()  # its script listens from then on
    page.get_by_label("to files of").select_option("dd")
    row = page.get_by_role("row", name="Current write rate")
    expect(row).to_contain_text("70\u00a0MB/s")
    expect(row).to_contain_text("application dd")
    expect(row).to_contain_text("refused (hard)")

    made = stack.placement("dd")
    assert made["element"] in {"union/b1", "union/b2"}

    page.get_by_role("link", name="My files", exact=True).click()
    page.get_by_role("link", name="dd.out").click()
    expect(page.get_by_role("heading", name="Refused, and why")).to_be_visible()
    expect(page.locator("ul.refusals li").filter(has_text="hard requirement")).to_have_count(6)
    expect(page.locator("main")).to_contain_text("application dd")

    stack.sampled(4)  # one a second at most is kept, and a line takes two
    stack.ended(made, 20e6)
    _from_a_missed_requirement_to_its_cause(page, made["element"])


def _from_a_missed_requirement_to_its_cause(page: Page, element: str) -> None:
    """The file of job 4711 got 20 of the 70 MB/s required, of an element that was idle."""

    address = page.url.partition("/files")[0] + "/files?verdict=missed"

    def is_listed() -> bool:
        page.goto(address)
        return page.get_by_role("link", name="dd.out").count() > 0

    wait_until(is_listed, "a file is judged a moment after it ended")
    page.get_by_role("link", name="My files", exact=True).click()
    page.get_by_label("Verdict").select_option("missed")
    page.get_by_role("button", name="Filter").click()
    row = page.locator("tbody tr")
    for words in ("70\u00a0MB/s", "90\u00a0MB/s", "20\u00a0MB/s", "missed", "program, node or network"):
        expect(row).to_contain_text(words)
    assert Axe().run(page).violations_count == 0

    page.get_by_role("link", name="Summary").click()
    expect(page.get_by_text("program, node or network: 1 file", exact=False)).to_be_visible()
    page.get_by_role("link", name="4711").click()
    with page.expect_download() as begun:
        page.get_by_role("link", name="JSON").click()
    (file,) = json.loads(begun.value.path().read_text())["files"]
    assert (file["verdict"], file["cause"], file["achieved"]) == ("missed", "client-or-network", 20.0)

    page.get_by_role("link", name="dd.out").click()
    expect(page.locator("main")).to_contain_text("The element had time left")
    expect(page.get_by_role("img", name="Rate of the file")).to_be_visible()
    expect(page.get_by_role("img", name=f"How busy {element} was")).to_be_visible()
    assert Axe().run(page).violations_count == 0


def test_the_map_shows_the_sites_elements(stack: Stack, open_window) -> None:
    window = open_window()
    window.sign_in(stack.portal, "nobody", PASSWORD)
    window.page.goto(f"{stack.portal}/storage")
    expect(window.page.locator(".tile")).to_have_count(8)
    expect(window.page.locator(".tile").first).to_contain_text("90\u00a0MB/s")
    expect(window.page.locator(".tile").first).to_contain_text("active")


def test_an_administrator_drains_an_element_and_takes_it_back(stack: Stack, open_window) -> None:
    page = open_window().sign_in(stack.portal, "root", PASSWORD)
    page.goto(f"{stack.portal}/storage")
    page.get_by_role("link", name="b8", exact=True).click()
    expect(page.get_by_role("img", name="Rates over the last hour")).to_be_visible()
    page.get_by_role("button", name="Drain or change").click()
    page.get_by_label("Reason").fill("disk 8 fails")
    page.get_by_role("button", name="Show what draining would do").click()
    expect(page.locator("main")).to_contain_text("Nothing is changed yet.")
    expect(page.locator("main")).to_contain_text(
        "7 other elements of the storage system would still take files"
    )
    assert Axe().run(page).violations_count == 0
    page.get_by_role("button", name="Drain it").click()
    expect(page.get_by_role("status")).to_contain_text("union/b8 takes no further files.")
    page.get_by_role("button", name="Undo this change").click()
    drained = page.url.rpartition("/history")[0] + "/storage/union/b8"
    other = page.context.new_page()
    other.goto(drained)
    expect(other.locator("main")).to_contain_text("draining")
    expect(other.locator("main")).to_contain_text("disk 8 fails")
    other.close()
    page.get_by_role("button", name="Undo change").click()
    expect(page.get_by_role("status")).to_contain_text("is undone")
    page.goto(drained)
    expect(page.locator("main .lead")).to_contain_text("active")
    expect(page.locator("main")).to_contain_text("undo")
    page.get_by_role("link", name="a day").click()
    expect(page.get_by_role("img", name="Rates over the last day")).to_be_visible()
    assert Axe().run(page).violations_count == 0


@pytest.mark.long
def test_a_run_is_started_followed_and_stopped_in_the_portal(
    stack: Stack, tmp_path: Path, open_window
) -> None:
    """A ``ses serve-runs`` of the same person takes both; the first waits until it is stopped."""
    for number in range(3):
        (tmp_path / f"{number}.log").write_text(f"line of {number}\n")
    page = open_window().sign_in(stack.portal, "nobody", PASSWORD)
    page.goto(f"{stack.portal}/account/tokens")
    page.get_by_label("Name", exact=True).fill("runs")
    page.get_by_role("button", name="Make token").click()
    token = tmp_path / "token"
    token.touch(0o600)
    token.write_text(page.locator("section.notice pre").first.inner_text())
    page.get_by_role("link", name="Runs", exact=True).click()
    expect(page.locator("main")).to_contain_text("Nobody serves your runs.")
    with serving_runs(stack, token, tmp_path):
        run = page.locator("li.run").first
        wait = "case $0 in *2.log) sleep 600;; esac; "
        for number, first in enumerate((wait, "")):
            page.get_by_label("Files", exact=True).fill(f"{tmp_path}/*.log")
            page.get_by_label("Command", exact=True).fill(f"sh -c '{first}cat $0' {{}}")
            page.get_by_role("button", name="Start", exact=True).click()
            expect(page.locator("li.run")).to_have_count(number + 1)
            if first:
                expect(run).to_contain_text("2 of 3 tasks")
                assert Axe().run(page).violations_count == 0
                run.get_by_role("button", name="Stop").click()
                expect(run).to_contain_text("stopped, status 143")
        expect(run).to_contain_text("ended, status 0")
        expect(run).to_contain_text("3 of 3 tasks")
        (kept,) = [out for out in tmp_path.glob("*.out") if f"{tmp_path.name}/{out.name}" in run.inner_text()]
        assert kept.read_text() == "line of 0\nline of 1\nline of 2\n"
        expect(page.locator("main")).not_to_contain_text("Nobody serves")


@contextmanager
def serving_runs(stack: Stack, token: Path, folder: Path) -> Iterator[None]:
    """A ``ses serve-runs`` in a folder until the block ends, which ends it by Ctrl-C."""
    environment = {
        **os.environ, "SES_SERVICE_URL": stack.service, "SES_TOKEN_FILE": str(token),
        "XDG_STATE_HOME": str(folder / "state"), "LOGNAME": "nobody",
    }  # fmt: skip
    command = [Path(sys.executable).parent / "ses", "serve-runs", "--only", "sh", folder]
    server = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        yield
    finally:
        server.send_signal(signal.SIGINT)
        said = server.communicate(timeout=60)[1]
    assert server.returncode == 130, said
    assert "Runs that nobody starts in the portal are run here" in said
    assert "only sh" in said


def test_two_windows_do_not_overwrite_each_other(stack: Stack, open_window) -> None:
    """The service's own revisions make the conflict, not the portal's memory."""
    first, second = open_window(), open_window()
    for window in (first, second):
        window.sign_in(stack.portal, "nobody", PASSWORD)
        window.page.goto(f"{stack.portal}/requirements/application/nobody:tar")
    for window, number in ((first, "31"), (second, "32")):
        window.page.get_by_label("At least").nth(1).fill(number)
        window.page.get_by_role("button", name="Save", exact=True).click()
        window.page.get_by_role("alert").or_(window.page.get_by_text("Saved.")).first.wait_for()
    notice = second.page.locator(".versions")
    expect(notice).to_contain_text("31\u00a0MB/s")
    expect(notice).to_contain_text("32\u00a0MB/s")
    second.page.get_by_role("button", name="Save mine instead").click()
    expect(second.page.get_by_text("Saved.").first).to_be_visible()
    expect(second.page.get_by_label("At least").nth(1)).to_have_value("32")
    second.complaints[:] = [complaint for complaint in second.complaints if "409" not in complaint]


def test_the_portals_client_reads_every_answer_of_the_service(stack: Stack, tmp_path: Path) -> None:
    """The client against the real thing, beyond what the pages happen to ask."""
    from ses_client.address import ServiceAddress
    from ses_client.client import ServiceClient
    from ses_client.errors import NotAllowedError, NotFoundError, RefusedError
    from ses_client.messages.requirements import Subject, required

    def client(token: str) -> ServiceClient:
        file = tmp_path / token
        file.touch(0o600)
        file.write_text(token)
        return ServiceClient(ServiceAddress(stack.service, file)).acting("nobody")

    stranger = client("not-a-token")
    with pytest.raises(NotAllowedError):
        stranger.requirement_set("user", "nobody")
    node = client(stack.node_token)
    with pytest.raises(NotAllowedError):
        node.replace_requirements("user", "nobody", (), revision=0)
    placed = stack.placement("sqlite3")
    record = node.placement(placed["placement_id"])
    assert (record.application, record.subject.user, record.state) == ("sqlite3", "nobody", "open")
    assert record.candidates
    listed = node.placements(user="nobody", element=record.element)
    assert record.placement_id in {placement.placement_id for placement in listed}
    with pytest.raises(NotFoundError):
        node.placement("00000000000000ff")
    with pytest.raises(RefusedError) as caught:
        node.select(Subject(user="nobody"), (required("current-write-rate", 1.0, "parsec"),))
    assert caught.value.problems
    assert node.effective(Subject(user="nobody")).subject.vo == "materials"
    understood = node.expand("record 200 MB/s for 6 h", {"margin": "1.5"})
    assert ("current-write-rate", 300.0) in {
        (derived.requirement.kind, derived.requirement.bound) for derived in understood.derived
    }
    with pytest.raises(RefusedError) as caught:
        node.expand("record 200 MB/s for 6 h", {"margin": "much"})
    assert caught.value.problems[0][0] == "json.values.margin"
