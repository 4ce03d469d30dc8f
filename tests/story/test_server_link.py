"""Two servers, the link of one of which the site states: files go elsewhere as its share is used up."""

import os
import subprocess
import sys

import pytest
from patience import PATIENCE, wait_until
from running_site import Site
from ses.basepath import basepath

pytestmark = pytest.mark.root

LINKED, FREE = ("b1", "b2", "b3", "b4"), ("b5", "b6", "b7", "b8")
IN_A_ROW = 4
RATE = 60  # MB/s of each element, and of the link
WRITER = """
import sys, time
with open(sys.argv[1], "wb", buffering=0) as file:
    print("created", flush=True)
    while True:
        file.write(bytes(4096))
        time.sleep(0.2)
"""


def quantity(rate: float) -> str:
    return f"[ a qudt:QuantityValue ; qudt:numericValue {rate}e0 ; qudt:hasUnit unit:MegaBYTE-PER-SEC ]"


def described() -> str:
    """The eight branches, all alike, on two servers."""
    lines = [
        "@prefix qsm: <https://w3id.org/qstorman/ontology#> .",
        "@prefix qudt: <http://qudt.org/schema/qudt/> .",
        "@prefix unit: <http://qudt.org/vocab/unit/> .",
        "@prefix : <https://w3id.org/qstorman/site/demo/> .",
        f":server qsm:linkRate {quantity(RATE)} .",
        ':other a qsm:Server ; qsm:name "other" .',
    ]
    rates = f"qsm:nominalReadRate {quantity(RATE)} ; qsm:nominalWriteRate {quantity(RATE)}"
    lines += [f":{name} {rates} ." for name in LINKED]
    lines += [f":{name} qsm:servedBy :other ; {rates} ." for name in FREE]
    return "\n".join(lines)


def written_at_once(site: Site, turn: int, count: int) -> list[str]:
    """Create files one after the other that are written on; return the branches they lie on."""
    environment = {"PATH": os.environ["PATH"], **site.chain.preloaded()}
    programs, branches = [], []
    try:
        for number in range(count):
            path = site.storage.union / f"{turn}-{number}.dat"
            command = [sys.executable, "-c", WRITER, str(path)]
            program = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
            programs.append(program)
            assert program.stdout
            assert program.stdout.readline() == "created\n"
            where = basepath(path)
            assert where
            branches.append(site.storage.branch_of(where))
    finally:
        for program in programs:
            program.kill()
            program.communicate()
    return branches


def test_files_go_elsewhere_as_the_share_of_a_link_is_used_up(site: Site) -> None:
    service = site.chain.client()
    service.import_knowledge({"text": described(), "mode": "merge"})
    links: dict[str, float | None] = {}

    def are_read() -> bool:
        links.update(
            {
                element.id.partition("/")[2]: element.server_link_mb_s
                for element in service.elements().elements
            }
        )
        return set(links.values()) == {RATE, None}

    wait_until(are_read, lambda: f"the service reads the link: {links}", every=0.2)
    assert {name for name, link in links.items() if link} == set(LINKED)

    turns: list[list[str]] = []

    def went_elsewhere() -> bool:
        """Several times in a row: by chance it is so once in fourteen times."""
        turns.append(sorted(written_at_once(site, len(turns), len(FREE) + 1)))
        return [branches[1:] for branches in turns[-IN_A_ROW:]] == [list(FREE)] * IN_A_ROW

    wait_until(went_elsewhere, lambda: f"files went to {turns[-1]}", 2 * PATIENCE, every=1)
