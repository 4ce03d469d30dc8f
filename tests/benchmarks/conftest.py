"""The benchmarks are programs, not an installed package: their folder is put where they can be imported."""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from http_server import Asked, HttpServer

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))


@pytest.fixture
def port(answer: Callable[[Asked], object]) -> Iterator[int]:
    """Of a server that answers so."""
    with closing(HttpServer(answer, keeps=True)) as server:
        yield server.port
