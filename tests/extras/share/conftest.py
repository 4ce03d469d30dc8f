"""A region of its own for each test."""

import secrets
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from munged import running_munged
from remote_node import Agent, agent
from ses.share import Region


@pytest.fixture
def name() -> str:
    return f"test-{secrets.token_hex(6)}"


@pytest.fixture
def region(name: str) -> Iterator[Region]:
    with Region.create(name, size=1 << 20, items=64) as made:
        yield made
        Region.remove(name)


@pytest.fixture(scope="session")
def munged() -> Iterator[Path]:
    """The socket of a munged, for processes of this machine that take the part of two nodes'."""
    with running_munged("127.0.0.1") as (running,):
        yield running.socket


@pytest.fixture(scope="session")
def node(munged: Path) -> Iterator[Agent]:
    """Another node, which is reached by the provider tcp of libfabric."""
    with agent(munged) as running:
        yield running


@pytest.fixture
def remote(node: Agent, name: str) -> Iterator[Region]:
    """A region of the other node."""
    with Region.create(f"{name}@{node.address}", size=1 << 20, items=64) as made:
        yield made
        Region.remove(made.name)
