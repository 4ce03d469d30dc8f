"""Who has no home, or one that is closed to them, is served all the same."""

import os
from pathlib import Path

import pytest
from invoked import invoked
from ses.cli import main
from ses.last_forecast import last
from ses.near.history import recall
from ses.place.sets import directory_set
from ses.settings import service_address
from ses_client.errors import EXIT_UNREACHABLE

NOBODY = 65534


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("SES_", "XDG_"))]:
        monkeypatch.delenv(name)


def test_a_user_without_a_home_asks_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container, under a number that the machine does not know."""
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", lambda uid: {}[uid])
    invoked(main, ["files", "--url", "http://127.0.0.1:1"], code=EXIT_UNREACHABLE)
    assert recall(["cat"], "n1") is None
    assert last() is None


@pytest.mark.root
def test_a_home_that_is_closed_has_no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As one of NFS is to root, whom the server takes for nobody."""
    monkeypatch.setenv("HOME", str(tmp_path))
    tmp_path.chmod(0o700)
    os.seteuid(NOBODY)
    try:
        address, named = service_address(None, None), directory_set("scratch")
    finally:
        os.seteuid(0)
    assert address.token_file is None
    assert named.of_service
