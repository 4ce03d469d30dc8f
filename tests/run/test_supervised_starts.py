"""Programs that are started in unusual surroundings are supervised as others are."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_agent import CREATED
from mergerfs_union import Union
from supervisors import wait_for_end


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_program_without_standard_descriptors_is_supervised(union: Union, ses_run: Path, closed: str) -> None:
    """As some daemons start theirs."""
    union.agent.choose = lambda _: 2
    script = "echo /proc/self/fd/[012] > file"
    start = ["sh", "-c", f'exec "$@" {closed}', "sh"]
    done = union.run(*start, ses_run, "--supervise", "/bin/bash", "-c", script, library=False)
    wait_for_end(union)
    assert done.stderr == ""
    assert union.copies(union.path / "file") == [2]
    assert [report.outcome for report in union.agent.reports] == [CREATED]
    plain = union.run(*start, "/bin/bash", "-c", script.replace("file", "plain"), library=False)
    assert (union.path / "file").read_text() == (union.path / "plain").read_text()
    assert plain.stderr == ""


def test_program_with_many_arguments_has_its_name(union: Union, ses_run: Path) -> None:
    """Of all files of a directory, say."""
    many = ["x" * 100] * 500
    union.run(ses_run, "--supervise", "/bin/busybox", "sh", "-c", "echo > file", *many, library=False)
    wait_for_end(union)
    assert [ask.application for ask in union.agent.asks] == ["busybox"]
