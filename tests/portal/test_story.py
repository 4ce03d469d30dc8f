"""The whole portal in a browser: a requirement typed here changes what the selection service decides.

A real ses-service with its embedded knowledge base and the example site, a real ses-webface, and a
monitor that says every branch is idle.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

SITE = Path(__file__).parents[2] / "ontology" / "examples" / "union-site.ttl"
PASSWORD = "a password for the story"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _call(url: str, token: str, body: object | None = None) -> Any:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    if body is not None:
        request.add_header("Content-Type", "application/json")
        request.data = json.dumps(body).encode()
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False


@contextmanager
def _process(command: list[str], log: Path, ready: str) -> Iterator[None]:
    """Run a server until the block ends; begins when ``ready`` answers 200."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env={**os.environ})
    try:
        deadline = time.monotonic() + 90
        while not _answers(ready):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, f"{ready} is not ready:\n{log.read_text()}"
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def _idle_monitor() -> Iterator[str]:
    """A monitor as its contract has it: eight idle branches, a sample each second."""
    stopped = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            query = parse_qs(urlsplit(self.path).query)
            if "after" in query:
                stopped.wait(min(1.0, float(query.get("wait", ["1"])[0])))
            now = time.time()
            idle = {"current": 0.0, "average": 0.0}
            rows = [
                {"element": f"union/b{number}", "source": "node_exporter", "target": "http://127.0.0.1/metrics",
                 "state": "ok", "sampled_at": now, "age_seconds": 0.0, "read_bytes_per_second": idle,
                 "write_bytes_per_second": idle, "queue_depth": 0.0, "free_bytes": 250e6, "size_bytes": 300e6,
                 "read_only": False, "detail": ""}
                for number in range(1, 9)
            ]  # fmt: skip
            payload = json.dumps({"sequence": int(now * 10), "observations": rows}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *_arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        stopped.set()
        server.shutdown()
        server.server_close()


@dataclass
class Stack:
    """Where portal and service listen, and a node's token for the service."""

    portal: str
    service: str
    node_token: str

    def placement(self, application: str) -> dict[str, Any]:
        """Book one placement as an agent does."""
        body = {"subject": {"user": "nobody", "application": application, "node": "n1"}}
        answer = _call(f"{self.service}/v1/placements", self.node_token, body)
        made: dict[str, Any] = answer["placements"][0]
        return made

    def revision(self, level: str, name: str) -> int:
        """Return a requirement set's revision as the service has it."""
        answer = _call(f"{self.service}/v1/requirements/{level}/{name}", self.node_token)
        return int(answer["revision"])


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    base = tmp_path_factory.mktemp("story")
    tokens = {role: secrets.token_hex(16) for role in ("portal", "node")}
    token_file, portal_token = base / "tokens.toml", base / "portal-token"
    token_file.write_text(
        "".join(
            f'[[token]]\nname = "{role}"\nrole = "{role}"\n'
            f'sha256 = "{hashlib.sha256(token.encode()).hexdigest()}"\n'
            for role, token in tokens.items()
        )
    )
    portal_token.write_text(tokens["portal"] + "\n")
    for secret in (token_file, portal_token):
        secret.chmod(0o600)
    site = base / "site.ttl"
    site.write_text(SITE.read_text().replace("/srv/qstorman", str(base)))
    state = base / "portal"
    portal_command = [sys.executable, "-c", "from ses_webface.cli import main; main()"]
    subprocess.run(
        [*portal_command, "account", "add", "nobody", "--password-stdin", "--state-dir", str(state)],
        input=PASSWORD + "\n", text=True, check=True, capture_output=True,
    )  # fmt: skip
    service_port, portal_port = _free_port(), _free_port()
    service, portal = f"http://127.0.0.1:{service_port}", f"http://127.0.0.1:{portal_port}"
    with _idle_monitor() as monitor:
        serve = [sys.executable, "-c", "from ses_service.cli import main; main()", "serve"]
        serve += ["--listen", f"127.0.0.1:{service_port}", "--state-dir", str(base / "service")]
        serve += ["--monitor-url", monitor, "--site", str(site), "--tokens", str(token_file)]
        with _process(serve, base / "service.log", f"{service}/readyz"):
            command = [
                *portal_command,
                "serve",
                "--listen",
                f"127.0.0.1:{portal_port}",
                "--service-url",
                service,
            ]
            command += ["--service-token-file", str(portal_token), "--state-dir", str(state)]
            with _process(command, base / "portal.log", f"{portal}/readyz"):
                yield Stack(portal, service, tokens["node"])


def test_a_requirement_typed_in_the_portal_decides_where_files_go(stack: Stack, open_window) -> None:
    window = open_window()
    page = window.page
    window.sign_in(stack.portal, "nobody", PASSWORD)

    page.get_by_label("Another application").fill("dd")
    page.get_by_role("button", name="Add").click()
    ranking = page.locator("#ranking")
    everything = ranking.locator(".candidates > li")
    expect(everything).to_have_count(8)

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
    page.wait_for_load_state()  # its script listens from then on
    page.get_by_label("to files of").select_option("dd")
    row = page.get_by_role("row", name="Current write rate")
    expect(row).to_contain_text("70\u00a0MB/s")
    expect(row).to_contain_text("application dd")
    expect(row).to_contain_text("refused (hard)")

    made = stack.placement("dd")
    assert made["element"] in {"union/b1", "union/b2"}

    page.get_by_role("link", name="Placements", exact=True).click()
    page.get_by_role("link", name="Show them, too").click()
    expect(page.locator("tbody tr").first).to_contain_text(made["element"])
    page.locator("tbody tr").first.get_by_role("link", name="Why").click()
    expect(page.get_by_role("heading", name="Refused, and why")).to_be_visible()
    expect(page.locator("ul.refusals li").filter(has_text="hard requirement")).to_have_count(6)
    expect(page.locator("main")).to_contain_text("application dd")


def test_the_map_shows_the_sites_elements(stack: Stack, open_window) -> None:
    window = open_window()
    window.sign_in(stack.portal, "nobody", PASSWORD)
    window.page.goto(f"{stack.portal}/storage")
    expect(window.page.locator(".tile")).to_have_count(8)
    expect(window.page.locator(".tile").first).to_contain_text("90\u00a0MB/s")
    expect(window.page.locator(".tile").first).to_contain_text("active")


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
    second.complaints[:] = [one for one in second.complaints if "409" not in one]


def test_the_portals_client_reads_every_answer_of_the_service(stack: Stack) -> None:
    """The HTTP form against the real thing, beyond what the pages happen to ask."""
    from ses_webface.errors import NotFoundError, RefusedError, TokenRefusedError
    from ses_webface.selection_client import PlacementFilter
    from ses_webface.selection_http import HttpSelectionService
    from ses_webface.selection_model import Requirement, Subject

    stranger = HttpSelectionService(stack.service, "not a token")
    with pytest.raises(TokenRefusedError):
        stranger.requirement_set("user", "nobody", acting="nobody")
    node = HttpSelectionService(stack.service, stack.node_token)
    with pytest.raises(TokenRefusedError):
        node.replace_requirements("user", "nobody", (), revision=0, acting="nobody")
    booked = stack.placement("sqlite3")
    record = node.placement(booked["placement_id"], acting="nobody")
    assert (record.application, record.subject.user, record.state) == ("sqlite3", "nobody", "booked")
    assert record.candidates
    listed = node.placements(PlacementFilter(user="nobody", element=record.element), acting="nobody")
    assert record.id in {one.id for one in listed}
    with pytest.raises(NotFoundError):
        node.placement("00000000000000ff", acting="nobody")
    with pytest.raises(RefusedError) as caught:
        node.select(Subject("nobody"), (Requirement("current-write-rate", 1.0, "parsec"),), acting="nobody")
    assert caught.value.problems
    assert node.effective(Subject("nobody"), acting="nobody").subject.vo == "materials"
