"""Promises about texts and names that are made to hold the service up."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from service_process import Running

HEAD = "@prefix : <urn:a:> .\n"
DEEP = 15_000


def cost(pid: int) -> tuple[float, float]:
    """Return the seconds of processor time and the megabytes a process has needed at most."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    peak = next(
        int(line.split()[1])
        for line in Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
        if line.startswith("VmHWM:")
    )
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), peak / 1000


@pytest.mark.parametrize(
    "text",
    [
        f":x :p {'[ :p ' * DEEP}1{' ]' * DEEP} .",
        "".join(f"_:n{n} :p _:n{(n + 1) % 5000} .\n" for n in range(5000)),
        "".join(f":x :p _:n{n} . :y :p _:n{n} .\n" for n in range(3000)),
    ],
    ids=["nested", "in a circle", "shared"],
)
def test_blank_nodes_cannot_hold_an_import(start: Callable[..., Running], text: str) -> None:
    service = start().wait_ready()
    seconds, megabytes = cost(service.process.pid)
    body = {"name": "given.ttl", "text": HEAD + text, "mode": "merge"}
    status, said = service.call("POST", "/v1/knowledge/imports", body)
    assert status == 422, said
    after = cost(service.process.pid)
    assert after[0] - seconds < 10
    assert after[1] - megabytes < 200


@pytest.mark.parametrize("subject", ["urn:\x92", "\ufffe:x", "urn:\ud7ff\uffff", "urn:a b", "urn:%zz", "1:x"])
def test_a_subject_that_is_no_name_is_refused_as_the_callers_fault(
    start: Callable[..., Running], subject: str
) -> None:
    service = start().wait_ready()
    status, said = service.call("GET", f"/v1/changes?subject={quote(subject)}")
    assert status == 422, said
