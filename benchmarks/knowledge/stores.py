"""How long a site takes to load, to notice changed and to read again, on both stores; prints a table.

    .venv/bin/python benchmarks/knowledge/stores.py [--elements N]... [--store NAME]... [--rounds N]

Measured through the service's own code, from an empty store on loopback, which is the oxigraph server the
service starts or the Fuseki of `make fuseki`. What takes seconds is measured once, the rest in each round.
Does not measure decisions: they ask no store.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

# isort: split
from ses.demo.processes import free_port
from ses_benchmarks.arguments import arguments, program, whole
from ses_benchmarks.processes import Usage, server
from ses_listen.logs import log_to_stderr
from ses_service.feeds.site_manager import SiteManager
from ses_service.knowledge.errors import StoreUnavailableError
from ses_service.knowledge.exchange.incoming import Mode
from ses_service.knowledge.knowledge_base import KnowledgeBase
from ses_service.knowledge.store.embedded import EmbeddedStore
from ses_service.knowledge.store.store import HttpStore
from ses_service.model.entities import Kind, Level, Requirement, RequirementSet
from ses_service.model.policies import Policies
from ses_service.state.state import ServiceState

ROOT = Path(__file__).resolve().parents[2]
STORES = ("oxigraph", "fuseki")
SIZES = (24, 1000, 10_000)
PATIENCE = 60.0  # seconds; also the time a request may take
HEAD = """@prefix : <https://example.org/bench/> .
@prefix qsm: <https://w3id.org/qstorman/ontology#> .
@prefix qudt: <http://qudt.org/schema/qudt/> .
@prefix unit: <http://qudt.org/vocab/unit/> .
:fs a qsm:LustreFileSystem ; qsm:name "fs" ; qsm:mountPoint "/mnt/fs" .
"""


@dataclass(frozen=True, slots=True)
class Figures:
    """Seconds, and the resident memory of the server in MB; see the README for what each is."""

    store: str
    elements: int
    start: float
    load: float
    notice: float
    write: float
    requirement: float
    whole: float
    one_element: float
    all_elements: float
    memory_mb: float


def site(elements: int) -> str:
    """Return a Lustre file system of ``elements`` OSTs on servers of eight."""
    servers = [f':oss{n} a qsm:Server ; qsm:name "oss{n}" .' for n in range(-(-elements // 8))]
    targets = [
        f':ost{n} a qsm:ObjectStorageTarget ; qsm:name "OST{n:04x}" ; qsm:elementOf :fs ; qsm:target "{n}" ;'
        f" qsm:servedBy :oss{n // 8} ;"
        " qsm:capacity [ qudt:numericValue 8.0e0 ; qudt:hasUnit unit:TeraBYTE ] ;"
        " qsm:nominalReadRate [ qudt:numericValue 500.0e0 ; qudt:hasUnit unit:MegaBYTE-PER-SEC ] ;"
        " qsm:nominalWriteRate [ qudt:numericValue 400.0e0 ; qudt:hasUnit unit:MegaBYTE-PER-SEC ] ."
        for n in range(elements)
    ]
    return HEAD + "\n".join([*servers, *targets, ""])


@contextlib.contextmanager
def running(name: str, directory: Path) -> Iterator[tuple[HttpStore, int]]:
    """Start a store with its data in an empty directory; yield its client and process."""
    if name == "oxigraph":
        embedded = EmbeddedStore(directory)
        embedded.start()
        try:
            yield embedded.client(PATIENCE), embedded.pid or 0
        finally:
            embedded.stop()
        return
    port = free_port()
    command: list[str | Path] = [ROOT / "packaging/fuseki.sh", "serve", directory, str(port)]
    started: list[HttpStore] = []

    def ready() -> bool:
        with contextlib.suppress(OSError, StoreUnavailableError):
            password = (directory / "writer.txt").read_text().strip().partition(":")[2]
            url, writer = f"http://127.0.0.1:{port}/kb", ("writer", password)
            started.append(HttpStore.for_fuseki(url, writer, timeout=PATIENCE))
            started[-1].select("SELECT * WHERE {} LIMIT 1")
            return True
        return False

    with server(command, directory / "log", ready, PATIENCE) as pid:
        yield started[-1], pid


def measure(name: str, elements: int, rounds: int) -> Figures:
    """Return the figures of one store with one site."""
    turtle = site(elements)
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as cleanup:
        began = time.perf_counter()
        store, pid = cleanup.enter_context(running(name, Path(scratch)))
        start = time.perf_counter() - began
        knowledge = KnowledgeBase(store)
        load = _timed(lambda: knowledge.load_site(turtle, source="the site"))
        state = ServiceState(Policies(), time.time)
        site_manager = SiteManager(knowledge, state, time.time)
        whole = _timed(site_manager.refresh)
        if len(state.environment.elements) != elements:
            raise SystemExit(f"{name} gave {len(state.environment.elements)} of {elements} elements")
        count = 0

        def write() -> None:
            nonlocal count
            count += 1
            stated = [Requirement(Kind.CURRENT_WRITE_RATE, 1e6 * count), Requirement(Kind.FREE_CAPACITY, 1e9)]
            knowledge.replace_requirements(
                RequirementSet(Level.USER, "alice", tuple(stated)), author="alice", now=time.time()
            )

        def refresh() -> float:
            write()
            return _timed(site_manager.refresh)

        def take(text: str, mode: Mode) -> float:
            exchange = knowledge.exchange
            return _timed(
                lambda: exchange.apply(
                    exchange.plan_import(text, "more.ttl", mode, author="admin", now=time.time())
                )
            )

        return Figures(
            store=name,
            elements=elements,
            start=start,
            load=load,
            notice=_median(20 * rounds, knowledge.revision),
            write=_median(rounds, write),
            requirement=statistics.median(refresh() for _ in range(rounds)),
            whole=whole,
            one_element=take(HEAD + ":ost3 qsm:state qsm:Draining .\n", Mode.MERGE),
            all_elements=take(turtle.replace("8.0e0", "9.0e0"), Mode.REPLACE),
            memory_mb=Usage.of(pid).resident_mb,
        )


def _timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def _median(rounds: int, act: Callable[[], object]) -> float:
    return statistics.median(_timed(act) for _ in range(rounds))


def main() -> None:
    """Measure what is asked for, smallest first."""
    parser = arguments(__doc__)
    parser.add_argument("--elements", type=whole(1), action="append", help="size of a site; may be repeated")
    parser.add_argument("--store", choices=STORES, action="append", help="may be repeated")
    parser.add_argument("--rounds", type=whole(1), default=7, help="how often each is measured")
    parser.add_argument("--output", type=Path, help="file for the figures as JSON")
    given = parser.parse_args()
    log_to_stderr("error")
    columns = ("start s", "notice ms", "write ms", "requirement ms", "whole s", "load s", "one s", "all s")
    print(f"| store | elements | {' | '.join(columns)} | memory MB |")
    print("|" + "---|" * (len(columns) + 3))
    results = []
    for elements in given.elements or SIZES:
        for name in given.store or STORES:
            result = measure(name, elements, given.rounds)
            results.append(asdict(result))
            quick = (f"{1000 * seconds:.1f}" for seconds in (result.notice, result.write, result.requirement))
            slow = (
                f"{seconds:.2f}"
                for seconds in (result.whole, result.load, result.one_element, result.all_elements)
            )
            cells = (name, elements, f"{result.start:.2f}", *quick, *slow, f"{result.memory_mb:.0f}")
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    if given.output:
        given.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    program(main)
