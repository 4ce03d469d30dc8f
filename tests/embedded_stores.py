"""Embedded stores that run until a block ends."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ses_service.knowledge.store.embedded import EmbeddedStore
from ses_service.knowledge.store.store import HttpStore


@contextmanager
def running(folder: Path, **limits: Any) -> Iterator[tuple[EmbeddedStore, HttpStore]]:
    """A store with its data in a folder, and its client."""
    store = EmbeddedStore(folder, **limits)
    try:
        yield store, store.start()
    finally:
        store.stop()
