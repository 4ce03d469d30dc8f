"""Ranks of a job on two nodes, with real agents: each gets an element of its own."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from claims_program import Claims
from fake_service import FakeService
from patience import wait_until
from running_agent import Agent, Start

pytestmark = pytest.mark.root

RANKS = 8
HOLD = "import sys; file = open(sys.argv[1], 'w'); print(flush=True); sys.stdin.read()"


@pytest.fixture
def numbers() -> range:
    """As many elements as ranks."""
    return range(1, RANKS + 1)


@pytest.fixture
def services(service: FakeService, union: Path, branches: dict[str, Path]) -> Iterator[list[FakeService]]:
    """What two nodes are told, each in an order of its own; neither hears of the other's files."""
    own = dict(sorted(branches.items(), key=lambda branch: int(branch[0][-1]) * 5 % 8))
    other = FakeService(union, own)
    yield [service, other]
    other.close()


def environment(agent: Agent, binary: Path, rank: int | None) -> dict[str, str]:
    ranked = {
        "SLURM_PROCID": str(rank),
        "SLURM_LOCALID": str((rank or 0) % (RANKS // 2)),
        "SLURM_STEP_NUM_TASKS": str(RANKS),
        "SLURM_JOB_ID": "4711",
    }
    return {
        "PATH": os.environ["PATH"],
        "LD_PRELOAD": str(binary.parents[1] / "libses-wrapper.so"),
        "SES_AGENT_SOCKET": str(agent.socket),
        "SES_SYNC_MS": "20000",
        **({} if rank is None else ranked),
    }


@pytest.fixture
def agents(start: Start, services: list[FakeService]) -> list[Agent]:
    """One for each node."""
    return [start(url=service.url, until="storage system union is mounted") for service in services]


def test_ranks_that_ask_are_given_elements_of_their_own(
    agents: list[Agent], union: Path, branches: dict[str, Path]
) -> None:
    """A program asks as long as its user has no claims on its node."""
    ranks = {rank: (rank, RANKS, rank - rank % 4, 4711) for rank in range(RANKS)}
    asked = [agents[rank // 4].ask(rank=ranks[rank]) for rank in range(RANKS)]
    elements = [conversation.answer.element for conversation in asked]
    for conversation in asked:
        conversation.close()
    assert sorted(elements) == sorted(branches)


def test_ranks_on_two_nodes_land_on_elements_of_their_own(
    agents: list[Agent], services: list[FakeService], union: Path, branches: dict[str, Path], binary: Path
) -> None:
    """All at once, each choosing from the table of its node."""
    for agent, service in zip(agents, services, strict=True):
        subprocess.run(["touch", "first"], cwd=union, env=environment(agent, binary, None), check=True)
        (union / "first").unlink()
        Claims(agent.socket).wait_until_staged()
        wait_until(lambda service=service: service.ended_as, "the service hears that the file was closed")
    running = [
        subprocess.Popen(
            ["python3", "-I", "-S", "-c", HOLD, union / f"rank-{rank}"],
            env=environment(agents[rank * 2 // RANKS], binary, rank),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for rank in range(RANKS)
    ]
    try:
        for process in running:
            assert process.stdout is not None
            assert process.stdout.readline() == b"\n"
        chosen = {
            rank: next(element for element, branch in branches.items() if (branch / f"rank-{rank}").exists())
            for rank in range(RANKS)
        }
        assert sorted(chosen.values()) == sorted(branches)
        paths = {str(union / f"rank-{rank}"): rank for rank in range(RANKS)}

        def reported() -> dict[int, tuple[dict[str, object], list[str]]]:
            """The rank of each decision, and its candidates in order."""
            return {
                paths[service.opened(placement)[0]["path"]]: (
                    decision["job_rank"],
                    [candidate["element"] for candidate in decision["candidates"]],
                )
                for service in services
                for placement, (_, decision) in list(service.decided.items())
                if service.opened(placement)[0]["path"] in paths
            }

        wait_until(lambda: len(reported()) == RANKS, "all decisions are reported")
        for rank, (said, candidates) in reported().items():
            assert said == {"number": rank, "of": RANKS, "begins_at": chosen[rank]}
            assert candidates[0] == chosen[rank]
    finally:
        for process in running:
            process.communicate(b"")
