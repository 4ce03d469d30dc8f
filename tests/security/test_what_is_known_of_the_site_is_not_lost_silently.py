"""Promises about a knowledge base that lost what it held, and about one that does not start."""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import urllib3
from doors import doors, family, knock
from invoked import invoked
from patience import wait_until
from service_process import SITE, Running
from ses_service.commands.main import main

SELECTION = {"subject": {"user": "alice"}}
NEED = {"requirements": [{"kind": "current-write-rate", "minimum": 20, "unit": "MB/s"}]}


def update(service: Running, text: str) -> None:
    """Change the store behind the service's back."""
    (door,) = doors(family(service.process.pid))
    ((status, said),) = knock(os.getuid(), door, [("/update", "application/sparql-update", text)])
    assert status < 300, said


def degraded(service: Running) -> str:
    """Return what readiness says of the knowledge base; empty while it says nothing."""
    status, body = service.call("GET", "/readyz")
    assert status == 200
    checks = {check["name"]: check for check in body["checks"]}
    return "" if checks["knowledge-base"]["ok"] else str(checks["knowledge-base"]["detail"])


def elements(service: Running) -> int:
    return len(service.call("GET", "/v1/elements")[1]["elements"])


def metric(service: Running) -> str:
    answer = urllib3.request("GET", f"http://127.0.0.1:{service.port}/metrics", timeout=60.0)
    (line,) = [
        sample
        for sample in answer.data.decode().splitlines()
        if 'ses_source_up{source="knowledge-base"}' in sample
    ]
    return line.rpartition(" ")[2]


@pytest.mark.parametrize("harm", ["CLEAR ALL", "CLEAR GRAPH <https://w3id.org/qstorman/graph/site>"])
def test_an_emptied_store_takes_no_element_away_before_an_administrator_says_so(
    start: Callable[..., Running], open_folder: Path, harm: str
) -> None:
    service = start().wait_ready()
    assert service.call("PUT", "/v1/requirements/user/alice", NEED)[0] == 200
    update(service, harm)
    wait_until(lambda: "0 elements where 8 were known" in degraded(service))
    assert elements(service) == 8
    assert metric(service) == "0.0"
    answer = service.call("POST", "/v1/selections", SELECTION)[1]
    assert answer["requirements"][0]["level"] == "user"
    assert any("0 elements where 8 were known" in note for note in answer["notes"])
    service.end()
    again = start(site=None).wait_ready()
    assert elements(again) == 8
    assert "0 elements where 8 were known" in degraded(again)
    invoked(main, ["accept-smaller-site", f"--state-dir={open_folder / 'state'}"])
    wait_until(lambda: elements(again) == 0)
    wait_until(lambda: not degraded(again))
    assert not (open_folder / "state/smaller-site-accepted").exists()


def test_requirements_that_are_gone_stay_in_use(start: Callable[..., Running]) -> None:
    service = start().wait_ready()
    for user in ("alice", "bob"):
        assert service.call("PUT", f"/v1/requirements/user/{user}", NEED)[0] == 200
    wait_until(lambda: not degraded(service))
    service.end()
    service = start().wait_ready()
    update(service, "CLEAR GRAPH <https://w3id.org/qstorman/graph/requirements>")
    wait_until(lambda: "0 requirement sets where 2 were known" in degraded(service))
    assert service.call("POST", "/v1/selections", SELECTION)[1]["requirements"][0]["level"] == "user"


def test_a_description_that_lost_its_end_takes_no_element_away(
    start: Callable[..., Running], open_folder: Path
) -> None:
    text = SITE.read_text("utf-8")
    whole = open_folder / "site.ttl"
    whole.write_text(text)
    start(site=whole).wait_ready().end()
    blocks = text.split("\n\n")
    kept = next(n for n in range(1, len(blocks)) if "\n\n".join(blocks[:n]).count("qsm:elementOf") == 2)
    whole.write_text("\n\n".join(blocks[:kept]) + "\n")
    again = start(site=whole).wait_ready()
    assert elements(again) == 8
    assert "site.ttl has 2 elements where 8 were known" in degraded(again)


@pytest.mark.parametrize("harm", ["files", pytest.param("folder", marks=pytest.mark.long)])
def test_a_service_whose_store_does_not_start_serves_what_it_read_last_and_goes_on_trying(
    start: Callable[..., Running], open_folder: Path, harm: str
) -> None:
    service = start().wait_ready()
    assert service.call("PUT", "/v1/requirements/user/alice", NEED)[0] == 200
    wait_until(lambda: service.call("GET", "/v1/requirements/user/alice")[1]["revision"] == 1)
    service.end()
    start().wait_ready().end()  # reads the requirement, which is kept then
    data, whole = open_folder / "state/knowledge/data", open_folder / "whole"
    shutil.copytree(data, whole)
    if harm == "folder":
        shutil.rmtree(data)
        data.write_text("no folder")
    else:
        for path in data.iterdir():
            path.write_bytes(b"\xff" * 100)
    again = start().wait_ready()
    assert elements(again) == 8
    assert again.call("POST", "/v1/selections", SELECTION)[1]["requirements"][0]["level"] == "user"
    assert "the embedded store ended with status 3" in degraded(again)
    assert again.call("PUT", "/v1/requirements/user/alice", NEED)[0] == 503

    def put_back() -> bool:
        """At once: the store, which is tried again meanwhile, makes files where there are none."""
        if data.is_dir():
            shutil.rmtree(data, ignore_errors=True)
        else:
            data.unlink(missing_ok=True)
        with suppress(OSError):
            whole.rename(data)
        return not whole.exists()

    wait_until(put_back)
    wait_until(lambda: not degraded(again))
    assert again.call("PUT", "/v1/requirements/user/alice", NEED)[0] == 200
