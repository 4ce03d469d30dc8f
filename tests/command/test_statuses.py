"""Exit statuses: the same mistake has the same status in every command, as docs/commands/README.md says."""

import shutil

import pytest
from fake_selection_service import element, problem

REFUSED = problem(
    422, "unknown-name", "The request cannot be right in json.storage_system.",
    errors=[{"location": "json.storage_system", "message": "no storage system 'x' is described"}],
)  # fmt: skip


@pytest.mark.parametrize(
    "typed",
    [
        ("layout", "NOTHING"),
        ("explain", "NOTHING"),
        ("nodes", "of", "NOTHING"),
        ("kb", "validate", "NOTHING"),
        ("profile", "--darshan", "NOTHING"),
        ("advise", "--profile", "NOTHING"),
        ("advise", "--darshan", "NOTHING"),
        ("run-near", "NOTHING", "--", "cat", "{}"),
        ("map-near", "NOTHING", "--", "cat", "{}"),
        ("apply", "NOTHING"),
        ("doctor", "--try", "NOTHING"),
        ("init", "etc", "--storage", "NOTHING"),
        ("elements", "--service-ca", "NOTHING"),
        ("share", "get", "NOTHING", "item"),
        ("requirements", "profile", "NOTHING"),
        ("calibrate", "union/NOTHING"),
        ("elements", "list", "--system", "NOTHING"),
    ],
    ids=" ".join,
)
def test_what_is_named_and_does_not_exist_exits_5_and_is_named(ses, service, typed):
    service.elements = [element("b1", "/srv/union", "/srv/b1", None)]
    result = ses(*typed, code=5)
    assert "NOTHING" in result.stderr


@pytest.mark.parametrize("typed", [("rank", "--system", "x"), ("nodes", "rank", "--system", "x")])
def test_a_name_that_the_service_does_not_know_exits_5_and_is_said_once(ses, service, monkeypatch, typed):
    monkeypatch.setattr(service, "answer", lambda *_asked: REFUSED)
    result = ses(*typed, code=5)
    assert result.stderr == "Error: storage_system: no storage system 'x' is described.\n"


@pytest.mark.parametrize(
    ("program", "status"), [("/no/such/program", 127), ("no-such-program", 127), ("/etc/passwd", 126)]
)
@pytest.mark.parametrize("command", [("profile",), ("advise",), ("run-near", "FILE", "--where", "here")])
def test_a_program_that_cannot_be_run_has_the_status_that_shells_give(
    ses, tmp_path, command, program, status
):
    data = tmp_path / "data"
    data.write_text("x")
    named = [str(data) if word == "FILE" else word for word in command]
    ses(*named, "--", program, "{}", code=status)


def test_a_program_of_the_product_that_is_not_installed_is_no_program_either(ses, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _program: None)
    for command, package in (("copy", "ses-copy"), ("migrate", "ses-copy"), ("run", "libses-wrapper")):
        result = ses(command, "a", "b", code=127)
        assert f"install the package {package}" in result.output


@pytest.mark.parametrize(
    "typed", [("--nothing",), ("nothing",), ("rank", "--limit", "many"), ("rank", "write>=fast")]
)
def test_what_is_not_understood_exits_2(ses, typed):
    assert ses(*typed).exit_code == 2
