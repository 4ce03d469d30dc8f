"""A preload script for Dask's nannies: each worker process spills to a place of its own.

Settings of Dask: ``ses.place`` names the directories, ``ses.size`` (such as 100GB) what is to fit.
"""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from typing import Any

import dask.config  # type: ignore[import-not-found,unused-ignore]  # only where Dask is

from ses.api import place
from ses.place.sets import directory_set

_claims: dict[str, ExitStack] = {}


def dask_setup(nanny: Any) -> None:
    """Claim a place until the nanny ends, and have its worker spill there."""
    if not hasattr(nanny, "worker_kwargs"):
        raise TypeError("ses.front_ends.dask is for nannies: dask worker --preload-nanny ses.front_ends.dask")
    where, size = dask.config.get("ses.place"), dask.config.get("ses.size", None)
    claim = _claims[nanny.id] = ExitStack()
    chosen = claim.enter_context(place(**directory_set(where).arguments(), size=size, mkdir="dask-XXXXXX"))
    claim.callback(shutil.rmtree, chosen.directory, ignore_errors=True)
    nanny.worker_kwargs["local_directory"] = chosen.directory


async def dask_teardown(nanny: Any) -> None:
    """Have the worker end, which Dask does only after this; then end the claim, and remove the place."""
    if nanny.process is not None:
        await nanny.kill()
    _claims.pop(nanny.id, ExitStack()).close()
