"""What is typed wrong, or cannot be read or written: a sentence with the cause, a status, no traceback."""

import errno
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from fake_selection_service import element
from ses.setup import writing
from ses_client.errors import RefusedError
from test_files import MISSED

NOT_UTF8 = os.fsdecode(b"\xff")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("rank", "write>=1e400MB/s"), "too large"),
        (("rank", "write>=-3MB/s"), "below zero"),
        (("rank", "write>=3MB/s,weight=inf"), "is not a number"),
        (("rank", "--size", "1e300PB"), "too large"),
        (("rank", "--size", "-5GB"), "below zero"),
        (("rank", "--size", "5gb"), "'--size': unit 'gb' of '5gb' is none of B, kB, MB"),
        (("nodes", "rank", "--size", "5gb"), "did you mean 5GB?"),
        (("advise", "--link", "25 Gbps", "--", "true"), "did you mean 3.125GB/s?"),
        (("advise", "--link", "0GB/s", "--", "true"), "'0GB/s' is nothing"),
        (("map-near", "--piece", "0.1B", "x", "--", "wc", "{}"), "'0.1B' is less than a byte"),
        (("run-near", "--disk-rate", "500MBs", "f", "--", "cat", "{}"), "did you mean 500MB/s?"),
        (("files", "--last", "infd"), "is no time"),
        (("job", "--wait", "nan", "1"), "'nan' is no number"),
        (("profile", "--margin", "nan", "--", "true"), "'nan' is no number"),
        (("files", "--element", "b1"), "Write its storage system and its name"),
        (("report", "--element", "b1"), "Write its storage system and its name"),
        (("requirements", "set", "user", "a", "--kind", "free", "--minimum", "2GB", "--weight", "nan"),
         "too large, or is none"),
        (("requirements", "get", "user", ""), "'' cannot be a name here"),
        (("requirements", "get", "user", ".."), "'..' cannot be a name here"),
        (("requirements", "set", "user", "a/b", "write>=5MB/s"), "'a/b' cannot be a name here"),
        (("token", "revoke", "a/b"), "'a/b' cannot be a name here"),
        (("place", "--among", "/", "--mkdir", f"run-{NOT_UTF8}XXXX"), "in UTF-8 and without a slash"),
        (("share", "create", "x", "--mode", "-1"), "does not let its owner read and write"),
        (("explain", ""), "An empty text is no name of a file"),
        (("layout", ""), "An empty text is no name of a file"),
        (("nodes", "of", ""), "An empty text is no name of a file"),
    ],
)  # fmt: skip
def test_numbers_and_names_that_cannot_be_are_said_and_never_sent(ses, service, typed, said):
    result = ses(*typed, code=2)
    assert said in result.stderr
    assert not [request for request in service.requests if request[0] != "GET"]


def test_a_name_that_is_no_utf8_is_asked_for_as_the_agent_tells_it(ses, service):
    service.files = [MISSED]
    assert ses("files", "--path", f"/data/{NOT_UTF8}").exit_code == 0
    assert service.asked["path"] == "/data/\ufffd"


@pytest.mark.parametrize(
    "typed",
    [
        ("requirements", "get", "user", NOT_UTF8),
        ("token", "list", "--user", NOT_UTF8),
        ("share", "get", NOT_UTF8, "x"),
        ("share", "remove", NOT_UTF8),
        ("profile", ""),
        ("advise", ""),
    ],
)
def test_odd_words_end_in_no_traceback(ses, service, typed):
    assert isinstance(ses(*typed).exception, SystemExit | None)


def test_a_fault_is_reported_with_the_name_of_what_is_wrong_even_where_that_is_path():
    refused = RefusedError("The request is wrong.", 422, (("query.path", "too short"),), "invalid-request")
    assert refused.full_message == "path: too short."


def test_a_profile_that_cannot_be_written_is_reported_before_the_program_runs(ses, tmp_path):
    ran = tmp_path / "ran"
    result = ses(
        "profile", "--output", str(tmp_path / "no" / "profile.json"), "--", "touch", str(ran), code=5
    )
    assert str(tmp_path / "no") in result.stderr
    assert not ran.exists()


def test_a_name_no_profile_can_have_is_reported_before_the_program_runs(ses, tmp_path):
    ran = tmp_path / "ran"
    result = ses("profile", "--turtle", "Bad Name", "--", "touch", str(ran))
    assert (result.exit_code, ran.exists()) == (2, False)
    assert "'Bad Name' is no name of a profile" in result.output


def test_a_profile_is_shown_even_when_it_cannot_be_written(ses, tmp_path):
    result = ses("profile", "--output", str(tmp_path), "--", "true")
    assert result.exit_code != 0
    full = ses("profile", "--output", "/dev/full", "--", "true", code=1)
    assert "true: " in full.stderr
    assert "cannot be written to /dev/full" in full.stderr


def test_json_of_a_name_that_is_no_utf8_is_json(ses, union):
    mount, _ = union
    (mount / NOT_UTF8).write_text("x")
    layout = ses.json("layout", str(mount / NOT_UTF8))
    assert layout["file"] == str(mount / NOT_UTF8)


@pytest.mark.parametrize(
    ("url", "cause"),
    [("unix:/nowhere/socket", "no such file or directory"), ("http://127.0.0.1:99999", "not an address")],
)
def test_an_address_nobody_can_be_at_exits_3_with_the_cause(ses, url, cause):
    result = ses("elements", "--url", url, code=3)
    assert cause in result.stderr


def test_a_file_that_no_command_expects_to_fail_is_named_with_the_cause(ses):
    result = ses("nodes", "of", "a" * 300, code=1)
    assert result.stderr == f"Error: {'a' * 300}: File name too long.\n"


def test_a_file_for_slurm_that_cannot_be_written_is_named_as_it_was_typed(ses, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    result = ses("nodes", "publish", str(file / "nodes"), code=1)
    assert result.stderr == f"Error: {file / 'nodes'} cannot be written: Not a directory.\n"


def test_a_full_disk_names_the_file_that_was_being_written(ses, union, tmp_path, monkeypatch):
    def full(_path: Path, _text: str, _mode: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(writing, "_create", full)
    result = ses(
        "init", str(tmp_path / "etc"), "--storage", str(union[0]), "--host", "h", "--node", "n", code=1
    )
    assert f"{tmp_path / 'etc'}/" in result.stderr
    assert "cannot be written: No space left on device" in result.stderr


def test_an_interrupted_command_exits_130_and_says_nothing(ses, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        environment = {
            **os.environ,
            **ses.env,
            "SES_SERVICE_URL": f"http://127.0.0.1:{silent.getsockname()[1]}",
        }
        command = subprocess.Popen(
            [Path(sys.executable).with_name("ses"), "elements"],
            env=environment, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        connection, _ = silent.accept()
        with connection:
            assert connection.recv(1)
            command.send_signal(signal.SIGINT)
            output, errors = command.communicate(timeout=300)
    assert (command.returncode, output, errors.strip()) == (130, "", "")


@pytest.mark.parametrize("more", [(), ("--json",)])
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_what_is_piped_is_utf8_in_any_locale(service, ses, more, locale):
    service.elements = [element("größe", "/srv/union", "/srv/b1", None)]
    done = subprocess.run(
        [Path(sys.executable).with_name("ses"), "elements", *more],
        env={**os.environ, **ses.env, "LC_ALL": locale, "PYTHONIOENCODING": "latin-1"},
        capture_output=True, check=True,
    )  # fmt: skip
    said = done.stdout.decode("utf-8")
    assert "union/größe" in ([row["id"] for row in json.loads(said)["elements"]] if more else said)
