"""Pages of the portal on a large site: how long one is waited for, beside the same page of a small site.

Real portal, real service; the files of the past are rows put into the service's database.  The browser's own
work is not measured.
"""

from __future__ import annotations

import http.cookiejar
import re
import sqlite3
import time
import urllib.parse
import urllib.request
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from ses.demo.processes import answers, free_port
from ses.demo.tools import tool

from ses_benchmarks.probe import BenchmarkError
from ses_benchmarks.processes import server
from ses_benchmarks.selections import elements
from ses_benchmarks.site_description import describe
from ses_benchmarks.site_service import READY_SECONDS, monitor, service
from ses_benchmarks.summary import Measurement, summarise

FEW = 24
PAGES = {
    "page-storage": "/storage",
    "page-element": "/storage/bench/e7",
    "page-requirements": "/requirements/user/bench",
    "page-files": "/files",
    "page-summary": "/files/summary",
    "page-health": "/health",
}
_WHO, _PASSWORD = "bench", "a password for measuring"
_SECONDS_BETWEEN = 5  # files of the past
_PAST = """
WITH RECURSIVE number(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < ?)
INSERT INTO ses_file (placement_id, user, application, vo, job, node, element, path, opened_at, ended_at,
  end_reason, bytes_written, bytes_read, write_rate, verdict, cause, kind, bound, predicted, achieved)
SELECT printf('%016x', i), CASE i % 100 WHEN 0 THEN 'bench' ELSE 'user' || (i % 100) END,
  'app' || (i % 7), 'vo' || (i % 5), i / 50, 'n' || (i % 1000), 'bench/e' || (i % 24), '/srv/bench/' || i,
  ? - i * ? - 9, ? - i * ?, 'closed', 1e9, 0, 5e7, CASE i % 4 WHEN 0 THEN 'missed' ELSE 'met' END,
  CASE i % 4 WHEN 0 THEN 'others' END, 'current-write-rate', 6e7, 7e7, 5e7 FROM number
"""


def measure(programs: Path, scratch: Path, count: int, files: int, rounds: int) -> Generator[Measurement]:
    """A row for each page: with ``count`` elements and ``files`` files, against FEW elements and no file."""
    with ExitStack() as stack:
        sides = []
        for name, many, past in (("large", count, files), ("small", FEW, 0)):
            directory = scratch / f"pages-{name}"
            directory.mkdir()
            sides.append(stack.enter_context(_portal(programs, directory, many, past)))
        for name, path in PAGES.items():
            samples = [
                ([_milliseconds(sides[0], path)], [_milliseconds(sides[1], path)]) for _ in range(rounds + 1)
            ]
            yield summarise(
                name, "ms", samples[1:], baseline_is=f"the same page of {FEW} elements and no file",
                note=f"{count} elements, {files} files",
            )  # fmt: skip


class _Visitor:
    """Who is signed in at a portal."""

    def __init__(self, url: str) -> None:
        self.url = url
        jar = http.cookiejar.CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
        token = re.search(r'name="csrf_token"[^>]*value="([^"]+)"', self.get("/sign-in"))
        if token is None:
            raise BenchmarkError("the portal shows no form to sign in")
        fields = {"csrf_token": token[1], "name": _WHO, "password": _PASSWORD}
        with self._opener.open(f"{url}/sign-in", urllib.parse.urlencode(fields).encode(), 60):
            pass
        self.get("/account")

    def get(self, path: str) -> str:
        with self._opener.open(self.url + path, timeout=60) as answer:
            if not answer.url.endswith(path):
                raise BenchmarkError(f"{path} leads to {answer.url}")
            return str(answer.read().decode())


@contextmanager
def _portal(programs: Path, directory: Path, count: int, files: int) -> Iterator[_Visitor]:
    turtle = describe("bench", "/srv/bench", elements(count))
    with (
        monitor(directory, count) as monitor_port,
        service(programs, directory, turtle, count, monitor_port) as served,
    ):
        _fill(directory / "state", files)
        account: list[str | Path] = [
            programs / "ses-webface",
            "account",
            "add",
            _WHO,
            "--admin",
            "--password-stdin",
        ]
        state: list[str | Path] = ["--state-dir", directory / "portal"]
        tool(*account, *state, text=f"{_PASSWORD}\n")
        port = free_port()
        command: list[str | Path] = [programs / "ses-webface", "serve", f"--listen=127.0.0.1:{port}", *state]
        command += ["--service-url", f"http://127.0.0.1:{served.port}", "--log-level", "warning"]
        url = f"http://127.0.0.1:{port}"
        with server(command, directory / "portal.log", answers(f"{url}/readyz"), READY_SECONDS):
            yield _Visitor(url)


def _fill(state: Path, files: int) -> None:
    if not files:
        return
    with closing(sqlite3.connect(state / "ledger.db", timeout=60)) as database, database:
        now = time.time()
        database.execute(_PAST, (files, now, _SECONDS_BETWEEN, now, _SECONDS_BETWEEN))


def _milliseconds(visitor: _Visitor, path: str) -> float:
    """How long a page takes until it is there as a whole."""
    begun = time.perf_counter()
    visitor.get(path)
    return (time.perf_counter() - begun) * 1e3
