"""Processes that know their rank in a job begin at elements of their own, on whatever node they run."""

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from fake_table import FEW_AT, Claim, FakeTable, table_of
from mergerfs_union import Union

ROWS = 8
SLURM = {"SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "8", "SLURM_LOCALID": "1"}
NOT_KNOWN = 2**32 - 1


@pytest.fixture
def eight(make_union: Callable[..., Union]) -> Iterator[tuple[Union, FakeTable]]:
    """A union of eight branches, and its table."""
    union = make_union(ROWS)
    table = table_of(union)
    yield union, table
    table.close()


def chosen(eight: tuple[Union, FakeTable], **environment: str) -> Claim:
    """What a program with this environment claims."""
    union, table = eight
    union.run("touch", "file", **environment)
    (claim,) = table.users[0].take()
    (union.path / "file").unlink()
    for row in range(ROWS):  # as an agent does after the end of the file
        table.users[0].put32(6144 + 4 * row, table.users[0].claimed()[row])
    return claim


def began(claim: Claim) -> tuple[int, int, int]:
    return claim.rank, claim.ranks, claim.candidate_limit


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        (SLURM, (5, 8, 2)),
        ({"SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "8"}, (5, 8, 2)),
        ({"SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "8", "SLURM_LOCALID": "5"}, (5, 8, 0)),
        ({"SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "8", "SLURM_LOCALID": "0"}, (2, 8, 4)),
        ({"PMI_RANK": "3", "PMI_SIZE": "4", "MPI_LOCALRANKID": "3"}, (3, 4, 0)),
        ({"PMI_RANK": "3", "PMI_SIZE": "4", "SLURM_LOCALID": "1"}, (3, 4, 4)),
        (
            {"OMPI_COMM_WORLD_RANK": "6", "OMPI_COMM_WORLD_SIZE": "7", "OMPI_COMM_WORLD_LOCAL_RANK": "0"}
            | SLURM,  # of the daemon that started it
            (6, 7, 1),
        ),
        ({"PMIX_RANK": "1"}, (1, NOT_KNOWN, 8)),
        ({"PMIX_RANK": "5", **SLURM}, (5, 8, 2)),
        ({"PMIX_RANK": "6", **SLURM}, (6, NOT_KNOWN, 1)),
        ({"SLURM_ARRAY_TASK_ID": "0", "SLURM_ARRAY_JOB_ID": "42"}, (0, NOT_KNOWN, 0)),
        (
            {"SLURM_ARRAY_TASK_ID": "700", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"},
            (700, NOT_KNOWN, 0),
        ),
        ({"SLURM_ARRAY_TASK_ID": "3", **SLURM}, (5, 8, 2)),
        ({"PBS_ARRAY_INDEX": "7", "PBS_JOBID": "42[7].server"}, (7, NOT_KNOWN, 0)),
        ({"LSB_JOBINDEX": "2", "LSB_JOBID": "42"}, (2, NOT_KNOWN, 0)),
    ],
)
def test_rank_is_what_the_launcher_says(
    eight: tuple[Union, FakeTable], environment: dict[str, str], expected: tuple[int, int, int]
) -> None:
    """The numbers compared are those that ranks before it on other nodes leave: 8 elements by so many."""
    assert began(chosen(eight, **environment)) == expected


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"},  # a job of one process
        {"SLURM_PROCID": "0", "SLURM_NTASKS": "8"},  # the batch script of a job
        {"SLURM_PROCID": "8", "SLURM_STEP_NUM_TASKS": "8"},
        {"SLURM_PROCID": "-1", "SLURM_STEP_NUM_TASKS": "8"},
        {"SLURM_PROCID": "1x", "SLURM_STEP_NUM_TASKS": "8"},
        {"SLURM_PROCID": "", "SLURM_STEP_NUM_TASKS": "8"},
        {"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "99999999999999999999"},
        {"PMI_RANK": "3"},
        {"PMIX_RANK": "0x3"},
        {"SLURM_STEP_NUM_TASKS": "8"},
        {"SLURM_ARRAY_TASK_ID": ""},
        {"LSB_JOBINDEX": "0", "LSB_JOBID": "42"},  # of a job that is no array
    ],
)
def test_without_a_rank_the_choice_is_as_ever(
    eight: tuple[Union, FakeTable], environment: dict[str, str]
) -> None:
    _, table = eight
    table.elements()["last_placed"][:ROWS] = [3, 2, 1, 5, 6, 7, 8, 9]
    claim = chosen(eight, **environment)
    assert (claim.rows, claim.first, *began(claim)) == ((2,), 0, 0, 0, 0)


def test_ranks_begin_one_element_apart_and_jobs_elsewhere(eight: tuple[Union, FakeTable]) -> None:
    """By the numbers of elements in the site's order, not by the rows of the node's."""
    _, table = eight
    numbers = [6, 1, 4, 0, 7, 2, 5, 3]
    with table.change():
        table.number(numbers, ROWS)
    picked = {}
    for job in ("one", "another"):
        for rank in range(ROWS):
            environment = {**SLURM, "SLURM_PROCID": str(rank), "SLURM_JOB_ID": job}
            claim = chosen(eight, **environment)
            assert claim.rows == (claim.first,)
            picked[job, rank] = numbers[claim.first]
    for job in ("one", "another"):
        start = picked[job, 0]
        assert [picked[job, rank] for rank in range(ROWS)] == [(start + rank) % ROWS for rank in range(ROWS)]
    assert picked["one", 0] != picked["another", 0]


@pytest.mark.parametrize(
    ("task", "job", "same"),
    [
        ("SLURM_ARRAY_TASK_ID", "SLURM_JOB_ID", {"SLURM_ARRAY_JOB_ID": "42"}),
        ("PBS_ARRAY_INDEX", "PBS_JOBID", {}),
        ("LSB_JOBINDEX", "LSB_JOBINDEX_STEP", {"LSB_JOBID": "42"}),
    ],
)
def test_tasks_of_an_array_begin_at_elements_of_their_own(
    eight: tuple[Union, FakeTable], task: str, job: str, same: dict[str, str]
) -> None:
    """Though each has another job number."""
    tasks = [chosen(eight, **same, **{job: f"{9 * number}", task: str(number)}) for number in range(1, 5)]
    assert [claim.first for claim in tasks] == [(tasks[0].first + number) % ROWS for number in range(4)]
    assert all(claim.rows == (claim.first,) for claim in tasks)


def test_ranks_on_a_node_that_has_some_of_the_elements_begin_one_row_apart(
    eight: tuple[Union, FakeTable],
) -> None:
    """Also where it has the element of one of them."""
    _, table = eight
    with table.change():
        table.number(range(ROWS), 1000)
    ranks = range(ROWS)
    first = [chosen(eight, **{**SLURM, "SLURM_PROCID": str(rank)}, SLURM_JOB_ID="42").first for rank in ranks]
    assert first == [(first[0] + number) % ROWS for number in range(ROWS)]


def test_last_use_does_not_move_a_rank_but_streams_do(eight: tuple[Union, FakeTable]) -> None:
    _, table = eight
    first = chosen(eight, **SLURM).first
    table.elements()["last_placed"][first] = 9
    assert chosen(eight, **SLURM).rows == (first,)
    table.elements()["own"][first] = 1
    assert chosen(eight, **SLURM).rows == ((first + 1) % ROWS,)


def test_node_that_compares_fewer_goes_on_doing_so(eight: tuple[Union, FakeTable]) -> None:
    _, table = eight
    table.put32(table.system_at() + FEW_AT, 3)
    assert chosen(eight, **SLURM).candidate_limit == 2
    assert chosen(eight, **{**SLURM, "SLURM_LOCALID": "5"}).candidate_limit == 3


def test_rank_of_a_job_much_larger_than_the_site_compares_no_others(eight: tuple[Union, FakeTable]) -> None:
    large = {"SLURM_STEP_NUM_TASKS": "512", "SLURM_PROCID": "500", "SLURM_LOCALID": "4"}
    assert chosen(eight, **{**SLURM, **large}).candidate_limit == 1


def test_agent_that_is_asked_is_told_the_rank(union: Union) -> None:
    union.run("touch", "file", **SLURM, SLURM_JOB_ID="42")
    union.run("touch", "other")
    ranked, plain = union.agent.asks
    assert ranked.rank[:3] == (5, 8, 4)
    assert ranked.rank[3] > 0
    assert plain.rank == (0, 0, 0, 0)


def test_ranks_of_nodes_that_know_nothing_of_each_other_do_not_meet(eight: tuple[Union, FakeTable]) -> None:
    """Two nodes, each with an order and claims of its own, and four ranks on each at the same moment."""
    union, table = eight
    other = replace(union, socket=union.path.parent / "other.sock")
    second = table_of(other)
    numbers = [3, 2, 1, 0, 7, 6, 5, 4]
    with second.change():
        second.number(numbers, ROWS)
    try:
        running = [
            subprocess.Popen(
                ["touch", f"rank-{rank}"],
                cwd=union.path,
                env=(union if rank < 4 else other).environment(
                    SLURM_PROCID=str(rank),
                    SLURM_LOCALID=str(rank % 4),
                    SLURM_STEP_NUM_TASKS="8",
                    SLURM_JOB_ID="4711",
                ),
            )
            for rank in range(8)
        ]
        assert [process.wait(120) for process in running] == [0] * 8
        first = [claim.rows[0] for claim in table.users[0].claims()]
        last = [numbers[claim.rows[0]] for claim in second.users[0].claims()]
        assert (len(first), len(last)) == (4, 4)
        assert sorted([*first, *last]) == list(range(ROWS))
    finally:
        second.close()
