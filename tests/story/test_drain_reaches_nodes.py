"""What an administrator says of an element holds: to the service, on the node, and in the union itself."""

import itertools
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from patience import wait_until
from ran import ran
from running_site import Site

pytestmark = pytest.mark.root

DRAINED = "b1"  # the fastest: chosen again and again while nobody else writes
IN_A_ROW = 8


def test_files_avoid_a_drained_element_and_come_back_when_it_is_undrained(site: Site) -> None:
    numbers = itertools.count()

    def write_until(enough: Callable[[list[str]], bool], what: str) -> None:
        chosen: list[str] = []

        def is_enough() -> bool:
            chosen.append(site.write(f"{next(numbers)}.dat"))
            return enough(chosen)

        wait_until(is_enough, lambda: f"{what}, but files went to {chosen}", every=0.2)

    service = site.chain.client()
    write_until(lambda chosen: DRAINED in chosen, "the fastest element is chosen")
    service.drain(f"union/{DRAINED}", {"reason": "its disk is replaced"})
    write_until(
        lambda chosen: len(chosen) >= IN_A_ROW and DRAINED not in chosen[-IN_A_ROW:], "the node hears of it"
    )
    service.undrain(f"union/{DRAINED}", {})
    write_until(lambda chosen: DRAINED in chosen, "the node hears that it takes files again")

    control, branch = site.storage.union / ".mergerfs", site.storage.branch(DRAINED).directory
    modes = os.getxattr(control, "user.mergerfs.branches").decode()
    os.setxattr(control, "user.mergerfs.branches", modes.replace(f"{branch}=RW", f"{branch}=NC").encode())
    wait_until(lambda: ranked(site)["refused"], "the service hears of the mode of the branch")
    said = ranked(site)["refused"]
    (node,) = (row["node"] for row in service.nodes()["nodes"])
    assert [(row["element"], row["reason"]) for row in said] == [(f"union/{DRAINED}", "excluded")]
    assert said[0]["detail"] == f"It is excluded on {node}: its mode in the union is NC."
    os.setxattr(control, "user.mergerfs.branches", modes.encode())
    wait_until(lambda: not ranked(site)["refused"], "the service hears that it takes files again")


def ranked(site: Site) -> Any:
    """What ``ses rank --json`` says."""
    services = site.chain.services
    asking = {"SES_SERVICE_URL": services.service_url, "SES_TOKEN_FILE": str(services.tokens.admin)}
    run = ran(
        [Path(sys.executable).with_name("ses"), "rank", "--user", "root", "--limit", "0", "--json"],
        env={**os.environ, **asking},
    )
    return json.loads(run.stdout)
