"""Faults of the service as a person meets them: one sentence, the next step, an exit code, no traceback."""

import os
import re
import shutil
import socket
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from ran import ran
from ses_client.client import ServiceClient

COMMANDS = [
    ("status",),
    ("elements", "list"),
    ("rank",),
    ("explain", "/nothing"),
    ("requirements", "get"),
    ("requirements", "effective"),
    ("requirements", "set", "user", "alice", "free-capacity>=1GB"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_service_that_is_down_exits_3_and_says_how_to_go_on(ses, dead_url, command):
    result = ses(*command, "--url", dead_url, code=3)
    assert result.stdout == ""
    assert f"at {dead_url} cannot be reached (connection refused)" in result.stderr
    assert "Start ses-service" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_rubbish_exits_1_and_asks_for_the_right_address(ses, service, command):
    service.rubbish = b"<html>It works!</html>"
    result = ses(*command, code=1)
    assert "--url" in result.stderr


@pytest.mark.parametrize("command", [words for words in COMMANDS if words[0] != "requirements"], ids=" ".join)
def test_json_of_another_shape_exits_1(ses, service, command):
    service.rubbish = b'{"elements": 3, "candidates": null, "placements": [3], "checks": [1]}'
    result = ses(*command, code=1)
    assert "not as its contract says" in result.stderr


@pytest.mark.parametrize("command", COMMANDS[1:], ids=" ".join)
def test_a_token_nobody_knows_exits_4(ses, service, command):
    service.token = "another"
    result = ses(*command, code=4)
    assert "Name another with --token-file" in result.stderr


def test_without_a_token_the_places_to_put_one_are_named(ses):
    result = ses("elements", SES_TOKEN_FILE="", code=4)
    assert "~/.config/ses/token" in result.stderr


@pytest.fixture
def impatient(monkeypatch):
    patient = ServiceClient.__init__
    monkeypatch.setattr(
        ServiceClient, "__init__", lambda self, address: patient(self, address, timeout_seconds=0.2)
    )


@pytest.fixture
def listening():
    """A socket that takes connections, but nobody answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as made:
        made.setblocking(False)
        yield made


def test_a_service_that_hangs_is_given_up_after_the_time_that_is_reported(ses, listening, impatient):
    result = ses("elements", "--url", f"http://127.0.0.1:{listening.getsockname()[1]}", code=3)
    assert re.search(r"did not answer within \d\.\d s\. Look at its log", result.stderr)
    listening.accept()[0].close()
    with pytest.raises(BlockingIOError):
        listening.accept()  # it was asked once


def test_a_machine_that_does_not_answer_is_reported_with_the_next_step(ses, listening, impatient):
    with ExitStack() as stack:
        for _ in range(3):  # from then on it takes none
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(listening.getsockname())
        result = ses("elements", "--url", f"http://127.0.0.1:{listening.getsockname()[1]}")
    assert result.exit_code == 3
    assert re.search(r"no connection was made within \d\.\d s\. Is its machine up", result.stderr)


def test_the_socket_of_a_service_that_was_stopped_is_told_to_be_gone(ses, tmp_path):
    result = ses("elements", "--url", f"unix:{tmp_path}/service.sock", code=3)
    assert "cannot be reached (no such file or directory). Start ses-service" in result.stderr


@pytest.mark.parametrize(
    ("content", "mode", "said"),
    [("token\n", 0o644, "chmod 600"), ("", 0o600, "one token"), ("two words\n", 0o600, "one token")],
)
def test_a_token_file_that_cannot_be_used_is_named(ses, tmp_path, content, mode, said):
    path = tmp_path / "bad-token"
    path.write_text(content)
    path.chmod(mode)
    result = ses("elements", "--token-file", str(path), code=4)
    assert said in result.stderr
    assert str(path) in result.stderr


def test_the_usual_token_file_is_found_without_being_named(ses, tmp_path, token_file):
    usual = tmp_path / "config" / "ses" / "token"
    usual.parent.mkdir(parents=True)
    token_file.rename(usual)
    assert ses("elements", SES_TOKEN_FILE="", XDG_CONFIG_HOME=str(tmp_path / "config")).exit_code == 5


@pytest.mark.parametrize(
    ("called", "meant"), [(("elemnts",), "elements"), (("requirements", "effectiv"), "effective")]
)
def test_a_command_that_is_nearly_one_is_named(ses, called, meant):
    result = ses(*called, code=2)
    assert f"Did you mean '{meant}'" in result.stderr


def test_an_element_without_its_system_is_told_how_to_write_it(ses):
    result = ses("rank", "--exclude", "b2", code=2)
    assert "'b2' is not an element. Write its storage system and its name" in result.stderr


@pytest.fixture
def alone(ses):
    """Runs a line of the shell in which ``$0`` is ses, and ``$@`` the words."""
    program = shutil.which("ses", path=Path(sys.executable).parent)

    def run(line: str, *words: str):
        command = ["sh", "-c", line, program, *words]
        env = {**os.environ, **ses.env}
        return ran(command, code=None, env=env)

    return run


@pytest.mark.parametrize("words", [("status",), ("status", "--json"), ("--help",)], ids=" ".join)
def test_a_full_standard_output_is_reported_in_a_sentence(alone, words):
    result = alone('"$0" "$@" > /dev/full', *words)
    assert result.returncode == 1
    assert result.stderr == "Error: The output cannot be written: No space left on device.\n"


def test_a_closed_standard_output_takes_nothing_and_fails_nothing(alone):
    result = alone('"$0" "$@" >&-', "requirements", "get")
    assert (result.returncode, result.stderr) == (0, "")


def test_from_a_closed_standard_input_nothing_is_read(alone):
    result = alone('"$0" "$@" <&-', "kb", "validate", "-")
    assert (result.returncode, result.stderr) == (1, "")
    assert "it says nothing" in result.stdout


def test_what_would_go_to_a_closed_standard_error_goes_nowhere_else(alone):
    result = alone('"$0" "$@" 2>&-', "profile", "--", "true")
    assert (result.returncode, result.stdout) == (0, "")


def test_a_working_directory_that_is_gone_is_reported_in_a_sentence(alone, tmp_path):
    result = alone('mkdir "$1"; cd "$1"; rmdir "$1"; "$0" explain file', str(tmp_path / "gone"))
    assert result.returncode == 1
    assert result.stderr == "Error: The working directory does not exist any more.\n"


def test_a_reader_that_has_seen_enough_is_no_fault(alone):
    assert alone('"$0" "$@" | true', "requirements", "--help").stderr == ""


def test_the_token_is_shown_to_nobody(ses, token_file):
    for command in COMMANDS:
        result = ses(*command, "--json")
        assert token_file.read_text().strip() not in result.output


def test_an_address_that_is_not_http_is_not_understood(ses):
    assert ses("status", "--url", "ftp://somewhere").exit_code == 2


@pytest.mark.parametrize("command", [*COMMANDS, ("doctor",), ("demo",)], ids=" ".join)
def test_every_command_has_help_and_json(ses, command):
    words = command[:2] if command[0] in ("requirements", "elements") else command[:1]
    result = ses(*words, "--help", code=0)
    assert "--json" in result.output


def test_https_where_http_is_spoken_is_said(ses, service):
    url = service.url.replace("http://", "https://")
    result = ses("status", "--url", url, code=3)
    assert f"What answers at {url} speaks http, not https. Name it {service.url} with --url" in result.stderr
