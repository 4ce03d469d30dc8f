"""The example that states an application's requirements, against a real ses-service."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import wait_for_answer
from ports import free_port
from ran import ran
from ses.demo.processes import answers

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples/set_requirements.py"
SERVICE = Path(sys.executable).with_name("ses-service")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[str]:
    """The URL of a ses-service that knows the example site."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    log = tmp_path / "service.log"
    command = [SERVICE, "serve", "--listen", f"127.0.0.1:{port}", "--state-dir", tmp_path / "state"]
    command += ["--site", ROOT / "ontology/examples/union-site.ttl", "--trust-loopback"]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        wait_for_answer(process, log, answers(f"{url}/v1/storage-systems"))
        yield url
    finally:
        process.terminate()
        process.wait(60)


def example(*arguments: str) -> subprocess.CompletedProcess[str]:
    return ran([sys.executable, EXAMPLE, *arguments], code=None)


def test_the_requirements_are_stored_and_apply_to_the_application(service: str) -> None:
    done = example(service, "root", "dd")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [
        "average-write-rate: at least 60 MB/s, from application root:dd",
        "current-read-rate: at least 20 MB/s, from application root:dd",
        "free-capacity: at least 0.1 GB, from application root:dd",
    ]


def test_a_requirement_the_service_refuses_ends_with_its_reason(service: str, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"requirements": [{"kind": "average-write-rate", "minimum": -1, "unit": "MB/s"}]}')
    done = example(service, "root", "dd", str(wrong))
    assert done.returncode == 1
    assert "422" in done.stderr
    assert "minimum" in done.stderr


def test_without_a_service_the_example_says_who_did_not_answer(tmp_path: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        done = example(url, "root", "dd")
    assert done.returncode == 1
    assert url in done.stderr
    assert "refused" in done.stderr
