"""The service: does it answer, does it know your token, is it ready, and how fresh are its data."""

from __future__ import annotations

import math
import socket
import stat
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from shlex import quote

import urllib3
from ses_client.address import read_token
from ses_client.client import ServiceClient
from ses_client.errors import NotAllowedError, SesError
from ses_client.messages.elements import Element, Inventory

from ses.doctor.finding import Finding, fault, ok, skipped, warning
from ses.union.hidden import hidden

SERVICE, TOKEN, MONITOR, EXPORTER, DECISION = "service", "token", "monitor", "exporter", "decision"
KNOWLEDGE, DATA, SITE, RATES = "knowledge base", "data of elements", "site", "rates of elements"
NAMES, EXCLUSIONS = "names of nodes", "exclusions"
_SHOWN = 10
_AT_ONCE = 64
_LOOKED_AT_BELOW = ("knowledge-base", "monitor")
_LIMIT_SECONDS = 3.0
_MEND_EXPORTER = "Start the exporter there, or correct the target's url in smed.toml."
_READ_AGAIN = (
    "If it was added since smed-monitor started: ses kb export --site --output /etc/qstorman/site.ttl, and "
    "restart smed-monitor."
)
_MENDS = {
    "site": "Load a description: ses-service serve --site FILE.ttl",
    "knowledge-base": "See below; the site is read as soon as it answers.",
    "monitor": "See below.",
    "database": "Give it room, its folder or its server back, as it says; the service then stores what it "
    "missed.  A damaged file, with the service stopped: ses-service repair-ledger --state-dir DIR",
    "damaged-ledger": "On the service's machine: systemctl stop ses-service, the command it names "
    "(ses-service repair-ledger --state-dir DIR), systemctl start ses-service",
    "certificate": "Renew it as it says, then restart the service.",
    "other-services": "See whether the database answers the service: journalctl -u ses-service",
    "files-of-nodes": "See what runs on that node, and whether its agent is the site's.",
    "members-file": "Correct its rules, or describe the VOs they name; then restart the service.",
    "directory": "See whether it answers the service's machine at the address in the members file.",
    "issuer": "See whether it answers the service's machine at the address in the members file.",
}


def check_token(client: ServiceClient) -> Finding:
    """Look at the token file; whether the service accepts it is found by :func:`inventory`."""
    path = client.address.token_file
    if path is None:
        return ok(TOKEN, "no token file is configured; none may be needed on this machine")
    try:
        read_token(path)
        mode = stat.S_IMODE(path.stat().st_mode)
    except (NotAllowedError, OSError) as error:
        return fault(TOKEN, str(error), f"One line, readable by you alone: chmod 600 {quote(str(path))}")
    return ok(TOKEN, f"{path} (mode {mode:04o})")


def check_readiness(client: ServiceClient) -> tuple[bool, list[Finding]]:
    """Ask the service what is wrong with it; the first result is whether it answers at all."""
    mend = "Start ses-service (ses-service serve --help), or name the right --url."
    try:
        readiness = client.readiness()
    except SesError as error:
        return False, [fault(SERVICE, str(error), error.step or mend)]
    checks, url = readiness.checks, client.address.url
    if readiness.ready:
        lacking = [check for check in checks if not check.ok and check.name not in _LOOKED_AT_BELOW]
        return True, [
            ok(SERVICE, f"{url} is ready"),
            *(ok(DECISION, check.detail) for check in checks if check.name == DECISION),
            *(warning(SERVICE, f"{check.name}: {check.detail}", _mend(check.name)) for check in lacking),
        ]
    faults = [
        fault(
            SERVICE,
            f"{url} is not ready: {check.name}: {check.detail or 'no reason given'}",
            _mend(check.name),
        )
        for check in checks
        if not check.ok
    ]
    silent = fault(SERVICE, f"{url} says it is not ready, but not why.", "Look at its log.")
    return True, faults or [silent]


def _mend(name: str) -> str:
    return _MENDS.get(name, "See its log: journalctl -u ses-service")


def inventory(client: ServiceClient) -> tuple[Inventory | None, Finding]:
    """Return the elements the service describes; ``None`` and the fault when it gives no answer."""
    try:
        described = client.elements()
    except NotAllowedError as error:
        mend = "Ask the service's administrator: ses-service token new --help"
        return None, fault(TOKEN, error.full_message, mend)
    except SesError as error:
        return None, fault(SITE, error.full_message, "Mend the service first.")
    if not described.elements:
        return described, fault(SITE, "The site describes no element.", _MENDS["site"])
    systems = sorted({element.storage_system for element in described.elements})
    return described, ok(SITE, f"{len(described.elements)} elements in {', '.join(systems)}")


def check_sources(described: Inventory) -> Iterator[Finding]:
    """Look at monitor and knowledge base as the service sees them."""
    for link, source, what in (
        (KNOWLEDGE, described.knowledge_base, "Start it; the embedded one comes back with ses-service."),
        (MONITOR, described.monitor, "Start smed-monitor, and name it to ses-service with --monitor-url."),
    ):
        if source.reachable:
            yield ok(link, f"{source.url or 'embedded'} answers the service")
        elif link == MONITOR and not source.url:
            yield fault(link, "The service has no monitor: it decides by static facts.", what)
        else:
            yield fault(link, f"{source.url or 'embedded'} does not answer the service.", what)


def check_data(described: Inventory) -> Iterator[Finding]:
    """Look at the age of each element's data."""
    if not described.monitor.reachable:
        yield skipped(DATA, "the monitor is not reachable")
        return
    seen = [(element, element.observation) for element in described.elements]
    stale = [element for element, observed in seen if observed is None or observed.state != "ok"]
    blind = [element for element, observed in seen if observed and observed.load_unseen]
    if not stale:
        ages = [observed.age_seconds or 0.0 for _, observed in seen if observed]
        yield ok(DATA, f"all {len(seen)} are fresh, the oldest {max(ages, default=0.0):.1f} s")
    yield from map(_stale, stale[:_SHOWN])
    if len(stale) > _SHOWN:
        yield fault(DATA, f"{len(stale) - _SHOWN} more elements without fresh data.", "See: ses elements")
    yield from map(_blind, blind[:_SHOWN])


def check_rates(elements: Sequence[Element]) -> Iterator[Finding]:
    """Look whether it is known what each element gives at best."""
    lacking = [
        element.id
        for element in elements
        if element.nominal.read_mb_s is None or element.nominal.write_mb_s is None
    ]
    if lacking:
        named = ", ".join(lacking[:_SHOWN]) + (" and more" if len(lacking) > _SHOWN else "")
        yield warning(
            RATES,
            f"It is not described what these give at best: {named}. They meet no requirement of a rate; "
            "the programs that use them order them.",
            "Measure it: ses calibrate --all --yes --turtle FILE, then ses kb import FILE",
        )
    elif elements:
        yield ok(RATES, f"described for all {len(elements)} elements")


def _blind(element: Element) -> Finding:
    reason = element.observation.load_unseen if element.observation else ""
    return warning(
        DATA,
        f"The load of {element.id} is not seen ({reason}).",
        "It counts as unknown, not as idle. What can be seen of what: docs/mergerfs.md, docs/directories.md",
    )


def _stale(element: Element) -> Finding:
    seen = element.observation
    if seen is None or seen.state == "missing":
        reason = f" ({seen.detail})" if seen is not None and seen.detail else ""
        looked_at = [path for path in (element.mount_point, element.target) if path.startswith("/")]
        if element.backend in ("mergerfs", "directories") and (reasons := hidden(looked_at)):
            return fault(
                DATA, f"{element.id} was never seen by the monitor{reason}. {reasons[0][0]}", reasons[0][1]
            )
        return fault(
            DATA,
            f"{element.id} was never seen by the monitor{reason}.",
            "Give smed.toml a [[target]] for the Lustre exporter of its server: see docs/lustre.md."
            if element.backend == "lustre"
            else f"Name {element.target} among the paths of a [[target]] in smed.toml whose collector is "
            f"directories: see docs/directories.md. {_READ_AGAIN}"
            if element.backend == "directories"
            else f"Name {element.mount_point} among the paths of a [[target]] in smed.toml whose collector "
            f"is mergerfs, or give it an [[element]] whose mount_point or device its exporter reports. "
            f"{_READ_AGAIN}",
        )
    age = "unknown" if seen.age_seconds is None else f"{seen.age_seconds:.0f} s"
    reason = f" ({seen.detail})" if seen.detail else ""
    mend = f"See whether its exporter answers: {seen.target}"
    if not seen.target.startswith(("http://", "https://")):
        mend = "Look on the machine of the monitor: smed-monitor check --config /etc/qstorman/smed.toml"
    return fault(DATA, f"{element.id}: last seen {age} ago{reason}.", mend)


def check_exclusions(elements: Sequence[Element]) -> list[Finding]:
    """Look for elements that the agent of this machine leaves out for some users."""
    here = socket.gethostname().partition(".")[0]
    pairs = [
        (element.id, other)
        for element in elements
        for other in element.excluded
        if other.user and other.node.partition(".")[0] == here
    ]
    return [
        warning(
            EXCLUSIONS,
            f"{name} is {other}.",
            "Its files go elsewhere until a create there works again, which is tried after 30 s.",
        )
        for name, other in pairs[:_SHOWN]
    ]


def check_node_names(client: ServiceClient) -> list[Finding]:
    """Look for nodes that are known by a short name and by one with a domain: two nodes to all who count."""
    try:
        known = client.nodes()
    except SesError:
        return []
    names = {node.node for node in (*known.nodes, *known.silent)}
    twice = sorted(name for name in names if (short := name.partition(".")[0]) != name and short in names)
    return [
        warning(
            NAMES,
            f"The service knows {name.partition('.')[0]} and {name}: "
            "if that is one machine, it counts as two.",
            "Start its agent with the name that Slurm and the site's node classes use: ses-agent --node NAME "
            "(/etc/default/ses-agent; its token is for that name).",
        )
        for name in twice[:_SHOWN]
    ]


def check_exporters(elements: Sequence[Element]) -> list[Finding]:
    """Ask each exporter the monitor reads; from this machine, which may see less than the monitor."""
    targets = sorted({element.observation.target for element in elements if element.observation})
    urls = [target for target in targets if target.startswith(("http://", "https://"))]
    waiting, findings = deque(urls), dict[str, Finding]()

    def ask() -> None:
        with suppress(IndexError):
            while url := waiting.popleft():
                findings[url] = _exporter(url)

    seconds = 2 * _LIMIT_SECONDS * math.ceil(len(urls) / _AT_ONCE)  # to connect, and to answer
    until = time.monotonic() + seconds
    # Those that do not answer are waited for together; one that answers without an end is left behind.
    threads = [threading.Thread(target=ask, daemon=True) for _ in urls[:_AT_ONCE]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    late = f"did not end its answer within {seconds:g} s."
    return [findings.get(url) or fault(EXPORTER, f"{url} {late}", _MEND_EXPORTER) for url in urls]


def _exporter(url: str) -> Finding:
    try:
        response = urllib3.request("GET", url, timeout=_LIMIT_SECONDS, retries=False, preload_content=False)
        status = response.status
        response.close()
    except urllib3.exceptions.SSLError:
        return ok(EXPORTER, f"{url} answers; whether it is the one is the monitor's to verify (ca_file)")
    except urllib3.exceptions.HTTPError:
        return fault(EXPORTER, f"Nothing answers at {url}.", _MEND_EXPORTER)
    if status != 200:
        return fault(EXPORTER, f"{url} answers with HTTP status {status}.", _MEND_EXPORTER)
    return ok(EXPORTER, f"{url} answers")
