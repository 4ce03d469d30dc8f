"""The command `ses` shows a session that munged vouches for, where a user has no token."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from munged import Munged, running_munged
from ran import ran
from service_process import SITE, Running

SES = Path(sys.executable).parent / "ses"


class Site(NamedTuple):
    url: str
    munged: Munged
    folder: Path


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    if os.geteuid() != 0:
        pytest.skip("needs root: munged of these tests runs as root")
    with (
        running_munged("127.0.0.1") as (munged,),
        tempfile.TemporaryDirectory(prefix="qstorman-munge-") as name,
    ):
        service = Running(Path(name), "--munge", f"--munge-socket={munged.socket}", f"--site={SITE}")
        yield Site(service.wait_ready().url, munged, Path(name))
        service.end()


def ses(site: Site, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the command without a token."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "SES_SERVICE_URL": site.url,
        "SES_MUNGE": "localhost",
        "SES_MUNGE_SOCKET": str(site.munged.socket),
        **more,
    }
    return ran([SES, *command], code=None, env=environment)


def checks(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    return {check["link"]: check for check in json.loads(done.stdout)["checks"]}


def test_a_user_asks_for_themself_and_for_nobody_else(site: Site) -> None:
    own = ses(site, "requirements", "effective", "--json")
    assert own.returncode == 0, own.stderr
    other = ses(site, "requirements", "effective", "--user=nobody")
    assert other.returncode == 4, other.stdout
    nobody = ses(site, "requirements", "effective", SES_MUNGE="")
    assert nobody.returncode == 4
    assert "A token is needed" in nobody.stderr


def test_doctor_says_whether_munged_answers_and_the_service_takes_it(site: Site) -> None:
    well = checks(ses(site, "doctor", "--json"))
    assert [well[link]["state"] for link in ("munged", "session by MUNGE")] == ["ok", "ok"]
    silent = checks(ses(site, "doctor", "--json", SES_MUNGE_SOCKET="/nonexistent"))
    assert [silent[link]["state"] for link in ("munged", "session by MUNGE")] == ["fault", "skipped"]
    assert "/nonexistent" in silent["munged"]["detail"]
    refused = checks(ses(site, "doctor", "--json", SES_MUNGE="nowhere.invalid"))
    assert [refused[link]["state"] for link in ("munged", "session by MUNGE")] == ["ok", "fault"]
    assert "that name is not known" in refused["session by MUNGE"]["detail"]
    assert "munged" not in checks(ses(site, "doctor", "--json", SES_MUNGE="0"))
