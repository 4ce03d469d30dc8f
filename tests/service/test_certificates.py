"""A certificate that ends is said while there is time to renew it, and none outlives its authority."""

import time
from pathlib import Path
from typing import Any

import pytest
from ses_listen.tls import TlsFiles
from ses_service.security import certificates
from ses_service.security.certificates import end_of, key_of, make_certificates
from ses_service.security.trust import Trust

DAY = 86400.0


def made(folder: Path, days: int) -> Path:
    ((path, _names),) = make_certificates(folder / "tls", ["localhost"], days, -1)
    return path


def check_in(serve: Any, path: Path, days: float) -> dict[str, Any]:
    shown = Trust(None, TlsFiles(path, key_of(path)))
    service = serve(1, trust=shown, wall=lambda: time.time() + days * DAY)
    (certificate,) = (
        check
        for check in service.refresh().get("/readyz").get_json()["checks"]
        if check["name"] == "certificate"
    )
    return dict(certificate)


def test_readyz_says_a_month_before_that_the_certificate_ends_and_how_to_renew_it(
    serve: Any, tmp_path: Path
) -> None:
    path = made(tmp_path, 100)
    assert check_in(serve, path, 69)["ok"]
    soon = check_in(serve, path, 71)
    assert not soon["ok"]
    assert soon["detail"].startswith(f"{path} ends on {end_of(path):%Y-%m-%d}: ")
    assert f"ses-service tls init {path.parent} HOST" in soon["detail"]


def test_readyz_says_that_the_certificate_is_gone(serve: Any, tmp_path: Path) -> None:
    gone = check_in(serve, tmp_path / "gone.pem", 0)
    assert (gone["ok"], "No such file" in gone["detail"]) == (False, True)


def test_no_certificate_outlives_the_authority_that_signed_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificates, "_AUTHORITY_DAYS", 10)
    path = made(tmp_path, 730)
    assert end_of(path) <= end_of(path.with_name("ca.pem"))


def test_an_authority_that_ends_signs_no_more_and_the_next_step_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificates, "_AUTHORITY_DAYS", 0)
    with pytest.raises(ValueError, match=r"move ca\.pem and ca-key\.pem away"):
        made(tmp_path, 730)
