"""Filters that name what nobody knows: an element or a storage system is an error, else it is a note."""

import pytest
from fake_selection_service import element, storage_system
from test_files import MISSED, REPORT, summed


@pytest.fixture(autouse=True)
def one_file_of_alice(service):
    service.storage_systems = [storage_system("/srv/union")]
    service.elements = [element("b3", "/srv/union", "/srv/b3", None)]
    service.files = [{**MISSED, "user": "alice", "application": "dd"}]
    service.filters = ("user", "application", "element", "vo", "job")
    service.report = {**REPORT, "total": {**summed("all", 1, 0), "files": 0}}


@pytest.mark.parametrize("command", ["files", "report"])
@pytest.mark.parametrize("more", [(), ("--json",)])
@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("union/b33", "The storage system union has no element 'b33'. Did you mean 'union/b3'?"),
        ("onion/b3", "The site describes no storage system 'onion'. Did you mean 'union'?"),
        ("other/b3", "The site describes no storage system 'other'. It describes: union."),
    ],
)
def test_files_of_an_element_nobody_describes_are_an_error(ses, command, more, named, said):
    result = ses(command, "--everybody", "--element", named, *more, code=5)
    assert result.stdout == ""
    assert said in result.stderr


def test_files_of_an_element_that_was_removed_are_listed(ses, service):
    service.elements = []
    result = ses("files", "--everybody", "--element", "union/b3", code=0)
    assert "union/b3" in result.stdout


@pytest.mark.parametrize("command", ["files", "report"])
@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("--user", "alicia"), "No file of user 'alicia' is known."),
        (("--user", "alice", "--application", "ddd"),
         "No file of application 'ddd' of user 'alice' is known. Did you mean 'dd'?"),
        (("--everybody", "--application", "tar"), "No file of application 'tar' is known."),
        (("--everybody", "--vo", "v"), "No file of VO 'v' is known."),
        (("--everybody", "--job", "8"), "No file of job '8' is known."),
    ],
)  # fmt: skip
def test_a_user_or_a_program_of_whom_no_file_is_known_is_reported_beside_the_empty_list(
    ses, command, typed, said
):
    result = ses(command, *typed, code=0)
    assert result.stderr == f"Note: {said}\n"


def test_names_that_have_files_are_not_told_when_nothing_else_fits(ses, service):
    service.filters = (*service.filters, "state")
    result = ses(
        "files", "--user", "alice", "--application", "dd", "--element", "union/b3", "--state", "open", code=0
    )
    assert result.stderr == ""


@pytest.mark.parametrize("command", [("quotas",), ("elements", "list")])
def test_a_storage_system_nobody_describes_is_an_error_with_the_near_name(ses, command):
    result = ses(*command, "--system", "unoin", code=5)
    assert "The site describes no storage system 'unoin'. Did you mean 'union'?" in result.stderr


def test_a_user_without_a_quota_is_reported_beside_the_empty_list(ses):
    result = ses("quotas", "--user", "alicia", "--within", "7", code=0)
    assert "No quota is known that counts for user 'alicia'." in result.stderr
    assert ses("quotas").stderr == ""
