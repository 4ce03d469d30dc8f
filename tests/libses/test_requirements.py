"""SES_REQUIRE: what a run needs goes along with every question, and before what the user's entry says."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_table import FakeClaims, table_of
from mergerfs_union import Union

WRITE = str(os.O_CREAT | os.O_WRONLY)
READ_RATE, AVERAGE_READ_RATE, WRITE_RATE, AVERAGE_WRITE_RATE, CAPACITY = range(1, 6)


@pytest.fixture
def claims(union: Union) -> Iterator[FakeClaims]:
    """Claims of root, who needs nothing, and a table of the union."""
    table = table_of(union)
    yield table.users[0]
    table.close()


def create(union: Union, probes: Path, name: str = "file", **extra: str) -> None:
    done = union.run(probes / "create", "open", WRITE, "0640", "022", union.path / name, **extra)
    assert "fd=3 errno=4321" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("write>=300MB/s", [(WRITE_RATE, False, 300.0)]),
        ("write>=300MB/s free>=2TB", [(WRITE_RATE, False, 300.0), (CAPACITY, False, 2000.0)]),
        ("free>=2TB!,write>=300MB/s", [(WRITE_RATE, False, 300.0), (CAPACITY, True, 2000.0)]),
        ("read>=1.5GiB/s", [(READ_RATE, False, 1610.612736)]),
        (" average-read>=20kB/s!  ", [(AVERAGE_READ_RATE, True, 0.02)]),
        ("average-write>=1TiB/s", [(AVERAGE_WRITE_RATE, False, 1099511.627776)]),
        ("average-write>=500000B/s", [(AVERAGE_WRITE_RATE, False, 0.5)]),
        ("average-write>=0.5PB/s", [(AVERAGE_WRITE_RATE, False, 5e8)]),
        ("average-write>=1PiB/s", [(AVERAGE_WRITE_RATE, False, 1125899906.842624)]),
        ("free>=512MiB", [(CAPACITY, False, 0.536870912)]),
        ("write>=1000PB/s free>=1000PB", [(WRITE_RATE, False, 1e12), (CAPACITY, False, 1e9)]),
        ("current-write-rate>=5MB/s,hard", [(WRITE_RATE, True, 5.0)]),
        ("free-capacity>=1GB,hard,read>=1MB/s", [(READ_RATE, False, 1.0), (CAPACITY, True, 1.0)]),
        ("setAverageReadTransferRate>=5MB/s", [(AVERAGE_READ_RATE, False, 5.0)]),
    ],
)
def test_requirements_go_along_with_the_question(
    union: Union, probes: Path, text: str, asked: list[tuple[int, bool, float]]
) -> None:
    create(union, probes, SES_REQUIRE=text)
    (ask,) = union.agent.asks
    assert [requirement[:3] for requirement in ask.requirements] == [
        (k, h, pytest.approx(m)) for k, h, m in asked
    ]
    assert {requirement[3] for requirement in ask.requirements} == {1.0}


def test_a_need_of_one_run_may_have_a_weight(union: Union, probes: Path) -> None:
    create(union, probes, SES_REQUIRE="write>=5MB/s!,weight=2.5 free>=1GB,weight=3 read>=1MB/s")
    (ask,) = union.agent.asks
    assert [requirement[1::2] for requirement in ask.requirements] == [
        (False, 1.0),
        (True, 2.5),
        (False, 3.0),
    ]


def test_what_is_understood_is_not_said_to_be_ignored(union: Union, probes: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    create(union, probes, SES_REQUIRE="write>=5MB/s free>=1GB!", SES_LOG=str(log))
    assert "placed" in log.read_text()
    assert "SES_REQUIRE" not in log.read_text()


@pytest.mark.parametrize(
    "text",
    [
        *("write", "write>300MB/s", "write>=MB/s", "write>=300", "write>=300MB", "free>=2TB/s", "iops>=5"),
        *("write>=-3MB/s", "write>=3.MB/s", "write>=.3MB/s", "write>=1e3MB/s", "write>=300mb/s", "%n%s"),
        *("write>=300MB/s write>=3MB/s", "write>=300MB/s;free>=2TB", "write>=300MB/sfree>=2TB", "   "),
        *("write>=1234567890123456MB/s", "write>=300MB/s!!", "write >= 300MB/s", "x" * 5000),
        *(
            "write>=1001PB/s",
            "free>=1001PB",
            "write>=3MB/s,weight=1000001",
            "write>=3MB/s,weight=0",
            "write>=3MB/s,weight=",
            "write>=3MB/s,weight=-1",
            "write>=3MB/s,weight=2,hard",
        ),
    ],
)
def test_what_is_not_understood_is_ignored_as_a_whole_and_said_once(
    union: Union, probes: Path, claims: FakeClaims, tmp_path: Path, text: str
) -> None:
    log = tmp_path / "log"
    create(union, probes, SES_REQUIRE=text, SES_LOG=str(log))
    assert [int(claim.need["count"][0]) for claim in claims.claims()] == [0]
    assert union.agent.asks == []
    assert log.read_text().count("SES_REQUIRE is ignored") == 1


def needed(claims: FakeClaims) -> list[tuple[int, bool, float, float]]:
    """What the one claim's choice was made by: kind, hard, bound, weight."""
    (claim,) = claims.claims()
    need = claim.need[0]
    return [
        (
            int(requirement["kind"]),
            bool(requirement["hard"]),
            float(requirement["bound"]),
            float(requirement["weight"]),
        )
        for requirement in need["requirements"][: need["count"]]
    ]


def test_stated_kinds_go_before_those_of_the_entry(union: Union, probes: Path, claims: FakeClaims) -> None:
    """In bytes; the entry keeps its own kinds."""
    claims.need(0, (WRITE_RATE, True, False, 7e6, 2.0), (READ_RATE, True, False, 9e6, 3.0), room=5e9)
    create(union, probes, SES_REQUIRE="free>=800GB! write>=50MB/s")
    assert needed(claims) == [
        (WRITE_RATE, False, 50e6, 1.0), (CAPACITY, True, 800e9, 1.0), (READ_RATE, True, 9e6, 3.0),
    ]  # fmt: skip
    assert claims.claims()[0].need["room"] == 5e9


def test_a_claim_says_how_many_requirements_the_program_stated(
    union: Union, probes: Path, claims: FakeClaims
) -> None:
    """Also where they equal those of the entry, which the numbers cannot tell."""
    claims.need(0, (WRITE_RATE, False, False, 50e6, 1.0), (READ_RATE, True, False, 9e6, 3.0))
    create(union, probes, SES_REQUIRE="write>=50MB/s")
    assert [kind for kind, *_ in needed(claims)] == [WRITE_RATE, READ_RATE]
    assert claims.take()[0].stated == 1
    create(union, probes, "second")
    assert [kind for kind, *_ in needed(claims)] == [WRITE_RATE, READ_RATE]
    assert claims.claims()[0].stated == 0


def test_run_without_needs_has_those_of_its_entry(union: Union, probes: Path, claims: FakeClaims) -> None:
    claims.need(0, (WRITE_RATE, True, False, 7e6, 2.0))
    create(union, probes)
    assert needed(claims) == [(WRITE_RATE, True, 7e6, 2.0)]


def test_what_makes_no_sense_in_an_entry_is_left_out(union: Union, probes: Path, claims: FakeClaims) -> None:
    nan, infinity = float("nan"), float("inf")
    claims.need(
        0, (WRITE_RATE, True, False, nan, 1.0), (READ_RATE, False, False, 5.0, -1.0),
        (CAPACITY, False, False, infinity, 1.0), (AVERAGE_READ_RATE, False, False, 5e6, nan),
        (AVERAGE_WRITE_RATE, False, False, 6e6, 1.0),
    )  # fmt: skip
    create(union, probes)
    assert needed(claims) == [(AVERAGE_WRITE_RATE, False, 6e6, 1.0)]


def test_requirement_that_nothing_meets_asks_the_agent(
    union: Union, probes: Path, claims: FakeClaims
) -> None:
    create(union, probes, SES_REQUIRE="write>=300GB/s!")
    assert [ask.requirements for ask in union.agent.asks] == [((WRITE_RATE, True, 300e3, 1.0),)]
    assert claims.total() == 0
