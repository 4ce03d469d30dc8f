"""A set of directories from its description to its order: ``ses init``, real monitor, service and ``ses``."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mounts import served, small_disk
from patience import wait_until
from ran import ran
from service_process import Running, monitored, sees_all

pytestmark = pytest.mark.root
PROGRAMS = Path(sys.executable).parent


@dataclass
class Set:
    """A site of three directories: on this disk, on a small file system, and on one that may hang."""

    service: Running
    server: subprocess.Popen[bytes]
    small: Path

    def ses(self, *words: str, code: int = 0) -> Any:
        done = ran([PROGRAMS / "ses", *words, "--url", self.service.url, "--json"], code=code)
        return json.loads(done.stdout)

    def seen(self, name: str) -> dict[str, Any]:
        listed = self.service.call("GET", "/v1/elements")[1]["elements"]
        return next(element for element in listed if element["id"] == f"directories/{name}")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Set]:
    with ExitStack() as stack:
        (disk := tmp_path / "disk").mkdir()
        small = stack.enter_context(small_disk(tmp_path / "small", 8))
        server = stack.enter_context(served(tmp_path / "remote", tmp_path / "branch"))
        options = stack.enter_context(monitored(tmp_path / "etc", (disk, small, tmp_path / "remote")))
        service = Running(tmp_path, *options).wait_ready()
        stack.callback(service.end)
        wait_until(lambda: sees_all(service), "the monitor sees them")
        yield Set(service, server, small)


NAMES = ("disk", "small", "remote")


def order(ranked: Any) -> tuple[set[str], dict[str, str]]:
    return (
        {candidate["element"].partition("/")[2] for candidate in ranked["candidates"]},
        {refusal["element"].partition("/")[2]: refusal["reason"] for refusal in ranked["refused"]},
    )


def test_directories_are_seen_ranked_and_drained_as_other_elements_are(site: Set) -> None:
    (listed,) = site.service.call("GET", "/v1/storage-systems")[1]["storage_systems"]
    assert listed == {"name": "directories", "backend": "directories", "mount_point": "", "elements": 3}
    assert site.seen("small")["observation"]["size_bytes"] == 8 << 20
    assert site.seen("small")["target"] == str(site.small)
    assert order(site.ses("rank", "--system", "directories", "--size", "1MB"))[0] == set(NAMES)
    assert order(site.ses("rank", "--system", "directories", "--size", "100MB"))[0] == {"disk", "remote"}
    site.ses("drain", "directories/disk", "--reason", "its disk is replaced")
    accepted, refused = order(site.ses("rank", "--system", "directories", "--size", "1MB"))
    assert (accepted, refused["disk"]) == ({"small", "remote"}, "draining")
    site.server.send_signal(signal.SIGSTOP)
    try:
        wait_until(lambda: site.seen("remote")["observation"]["state"] != "ok", "what hangs is not seen")
        assert "does not answer" in site.seen("remote")["observation"]["detail"]
        assert site.seen("small")["observation"]["state"] == "ok"
    finally:
        os.kill(site.server.pid, signal.SIGCONT)
    wait_until(lambda: site.seen("remote")["observation"]["state"] == "ok", "it is seen again")
