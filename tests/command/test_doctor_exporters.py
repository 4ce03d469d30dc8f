"""``ses doctor`` asks each exporter the monitor reads, however many there are, whoever vouches for them."""

import ssl
from contextlib import closing
from pathlib import Path
from threading import Barrier, Event

import pytest
from fake_selection_service import element, observation
from http_server import Asked, HttpServer
from ran import ran
from ses.doctor import service as service_checks
from ses.doctor.finding import Finding, State
from ses_client.messages.elements import Element


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_checks, "_LIMIT_SECONDS", 60.0)


def checked(*urls: str) -> list[Finding]:
    seen = [observation(f"union/b{number}", exporter=url) for number, url in enumerate(urls)]
    return service_checks.check_exporters(
        [Element.of(element(f"b{number}", "/", "/b", observed)) for number, observed in enumerate(seen)]
    )


def test_those_that_do_not_answer_are_waited_for_together() -> None:
    """Each of three answers when all three were asked."""
    all_asked = Barrier(3)

    def answer(asked: Asked) -> None:
        all_asked.wait(60)
        asked.say(200)

    with closing(HttpServer(answer)) as server:
        findings = checked(*(f"{server.url}/metrics?{number}" for number in range(3)))
    assert [finding.state for finding in findings] == [State.OK] * 3


def test_one_that_answers_without_an_end_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    over = Event()

    def answer(asked: Asked) -> None:
        asked.wfile.write(b"HTTP/1.0 200 OK\r\nX: ")
        while not over.wait(0.1):
            asked.wfile.write(b"x")

    monkeypatch.setattr(service_checks, "_LIMIT_SECONDS", 1.0)
    with closing(HttpServer(answer)) as server:
        try:
            (finding,) = checked(f"{server.url}/metrics")
        finally:
            over.set()
    assert finding.state is State.FAULT
    assert "did not end its answer within 2 s" in finding.detail


def test_one_whose_certificate_the_monitor_alone_can_verify_answers(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    ran([*made, "-subj", "/CN=n1", "-keyout", key, "-out", certificate])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with closing(HttpServer(lambda asked: asked.say(200), tls=context)) as server:
        (finding,) = checked(f"{server.url}/metrics")
    assert finding.state is State.OK
    assert "the monitor's to verify" in finding.detail
