"""The ses-webface command as a person at a terminal uses it."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from invoked import invoked
from patience import wait_for_answer
from ports import free_port
from ran import ran
from ses.demo.processes import answers
from ses_webface import settings
from ses_webface.accounts.services import AccountService
from ses_webface.accounts.sessions import SessionService
from ses_webface.cli import main
from ses_webface.database import Database

COMMAND = [sys.executable, "-c", "from ses_webface.cli import main; main()"]


@pytest.fixture
def run(tmp_path: Path):
    """Run a command on a state directory of its own; gives (status, output)."""

    def invoke(*arguments: str, stdin: str = "") -> tuple[int, str]:
        result = CliRunner().invoke(main, [*arguments, "--state-dir", str(tmp_path / "state")], input=stdin)
        return result.exit_code, result.output

    return invoke


def test_accounts_are_added_listed_changed_and_removed(run) -> None:
    assert (
        run("account", "add", "alice", "--vo", "materials", "--password-stdin", stdin="correct horse\n")[0]
        == 0
    )
    assert run("account", "add", "root", "--admin", stdin="staple battery\nstaple battery\n")[0] == 0
    assert json.loads(run("account", "list", "--json")[1]) == [
        {"name": "alice", "vo": "materials", "admin": False, "manager": False},
        {"name": "root", "vo": None, "admin": True, "manager": False},
    ]
    assert "administrator" in run("account", "list")[1]
    manager = ("account", "add", "mia", "--manager", "--password-stdin")
    code, said = run(*manager, stdin="looks after it\n")
    assert (code, "needs a VO" in said) == (1, True)
    code, said = run(*manager, "--vo", "materials", stdin="looks after it\n")
    assert (code, said) == (0, "mia may sign in as manager of VO materials.\n")
    assert run("account", "password", "alice", "--password-stdin", stdin="another secret\n")[0] == 0
    assert run("account", "remove", "alice")[0] == 0
    assert "alice" not in run("account", "list")[1]


_WITH_MODE = r"""
mode=$1 directory=$2
shift 2
mount -t tmpfs tmpfs /mnt
mkdir /mnt/above /mnt/work
mount -t overlay -o "lowerdir=$directory,upperdir=/mnt/above,workdir=/mnt/work" overlay "$directory"
chmod "$mode" "$directory"
exec "$@"
"""


def add_account_in(folder: str, mode: str, directory: str) -> subprocess.CompletedProcess[str]:
    """Add an account, as root, where ``directory`` has this mode for the command alone."""
    return ran(
        ["unshare", "--mount", "bash", "-ec", _WITH_MODE, "bash", mode, directory, *COMMAND, "account",
         "add", "alice", "--password-stdin", "--state-dir", folder], code=None, input="correct horse\n",
    )  # fmt: skip


@pytest.fixture
def anothers() -> Iterator[str]:
    """A state directory that belongs to the user nobody."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.chown(folder, 65534, 65534)
        yield folder


@pytest.mark.root
def test_what_root_makes_belongs_to_who_serves(anothers: str) -> None:
    done = add_account_in(anothers, "755", "/root")  # the interpreter may lie there
    assert done.returncode == 0, done.stderr
    assert {path.stat().st_uid for path in Path(anothers).rglob("*")} == {65534}


@pytest.mark.root
def test_who_serves_must_be_able_to_read_the_program(anothers: str) -> None:
    done = add_account_in(anothers, "700", sysconfig.get_path("stdlib"))
    assert (done.returncode, "uid 65534, who cannot read" in done.stderr) == (1, True), done.stderr
    assert not list(Path(anothers).iterdir())


def test_root_means_the_state_directory_of_the_unit_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(settings, "_OF_THE_UNIT", tmp_path)
    assert settings.default_state_dir() == tmp_path
    monkeypatch.setattr(settings, "_OF_THE_UNIT", tmp_path / "none")
    assert settings.default_state_dir() == Path("/var/lib/ses-webface")


def test_who_has_no_home_is_asked_for_a_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container, under a number that the machine does not know."""
    for name in ("HOME", "XDG_STATE_HOME", "SES_WEBFACE_STATE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    monkeypatch.setattr("pwd.getpwuid", lambda uid: {}[uid])
    assert "--state-dir" in invoked(main, ["account", "list"], code=1).output


def test_sessions_are_listed_and_ended(run, tmp_path: Path) -> None:
    run("account", "add", "alice", "--password-stdin", stdin="correct horse\n")
    database = Database(f"sqlite:///{tmp_path / 'state' / 'webface.sqlite3'}")
    (alice,) = AccountService(database, time.time).everybody()
    SessionService(database, time.time).begin(alice, "192.0.2.1")
    listed = json.loads(run("session", "list", "--json")[1])
    assert [(session["name"], session["address"]) for session in listed] == [("alice", "192.0.2.1")]
    assert "alice" in run("session", "list")[1]
    assert run("session", "end", "alice") == (0, "1 session of alice ended.\n")
    assert run("session", "list") == (0, "")


@pytest.mark.parametrize(
    ("arguments", "stdin", "says"),
    [
        (("account", "add", "a:b", "--password-stdin"), "a long secret\n", "cannot be an account's name"),
        (("account", "add", "bob", "--password-stdin"), "short\n", "at least 10 characters"),
        (("account", "add", "somebody", "--password-stdin"), "somebody12\n", "must not be the name"),
        (
            ("account", "password", "nobody", "--password-stdin"),
            "a long secret\n",
            "There is no account nobody",
        ),
        (("account", "remove", "nobody"), "", "There is no account nobody"),
        (("session", "end", "nobody"), "", "There is no account nobody"),
        (("account", "list", "--database-url", "mysql://x/y"), "", "use sqlite or postgresql"),
        (("account", "list", "--database-url", "postgresql://u:pw@h/d"), "", "put it into PGPASSFILE"),
        (("account", "list", "--database-url", "postgresql://h/d?password=pw"), "", "put it into PGPASSFILE"),
    ],
)
def test_mistakes_are_one_sentence_and_a_status(
    run, arguments: tuple[str, ...], stdin: str, says: str
) -> None:
    status, output = run(*arguments, stdin=stdin)
    assert status == 1
    assert says in output
    assert "Traceback" not in output


def test_adding_an_account_twice_is_refused(run) -> None:
    run("account", "add", "alice", "--password-stdin", stdin="correct horse\n")
    status, output = run("account", "add", "alice", "--password-stdin", stdin="correct horse\n")
    assert (status, "exists already" in output) == (1, True)


def test_a_password_in_an_address_is_refused_unseen(run) -> None:
    status, said = run("serve", "--service-url", "https://u:hidden@h:8630")
    assert (status, "can be seen by others" in said, "hidden" in said) == (2, True, False)


def test_upgrade_says_what_it_did(run) -> None:
    assert run("database", "upgrade") == (0, "empty -> 0001\n")
    assert run("database", "upgrade") == (0, "0001: nothing to do\n")


def test_a_password_is_never_an_argument() -> None:
    for command in ("add", "password"):
        output = CliRunner().invoke(main, ["account", command, "--help"]).output
        assert "--password-stdin" in output
        assert "--password " not in output


def test_the_portal_serves_and_stops(tmp_path: Path) -> None:
    port, state, home = free_port(), tmp_path / "state", tmp_path / "home"
    home.mkdir()
    token = tmp_path / "token"
    token.write_text("abc\n")
    token.chmod(0o600)
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [*COMMAND, "serve", "--listen", f"127.0.0.1:{port}", "--service-url", "http://127.0.0.1:9",
             "--service-token-file", str(token), "--state-dir", str(state)],
            env={**os.environ, "HOME": str(home)}, stdout=log, stderr=log,
        )  # fmt: skip
    try:
        url = f"http://127.0.0.1:{port}/readyz"
        wait_for_answer(process, tmp_path / "log", answers(url))
        with urllib.request.urlopen(url, timeout=60) as answer:
            ready = json.load(answer)
        assert ready["ready"] is True
        assert [check["ok"] for check in ready["checks"]] == [True, False]
        link = re.search(r"opens, once and within a day: (\S+)\n", (tmp_path / "log").read_text())
        assert link
        with urllib.request.urlopen(link[1], timeout=60) as answer:
            assert b"You are the first here" in answer.read()
    finally:
        process.send_signal(signal.SIGTERM)
        status = process.wait(60)
    assert status == 0
    assert list(home.iterdir()) == [], "nothing is written outside the state directory"
    assert (state / "secret-key").stat().st_mode & 0o777 == 0o600
    assert state.stat().st_mode & 0o777 == 0o700


def test_a_token_others_can_read_stops_the_start(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("abc\n")
    token.chmod(0o644)
    result = invoked(
        main, ["serve", "--service-token-file", str(token), "--state-dir", str(tmp_path / "state")], code=1
    )
    assert "chmod 600" in result.output


def test_an_address_of_no_service_is_refused(run) -> None:
    code, said = run("serve", "--service-url", "htp://store1:8630")
    assert (code, "begins with http:// or https:// or unix:/" in said) == (2, True)


def test_a_question_that_nobody_answers_is_no_interruption(run) -> None:
    code, said = run("account", "add", "alice", stdin="")
    assert (code, said.endswith("Aborted!\n")) == (1, True)
