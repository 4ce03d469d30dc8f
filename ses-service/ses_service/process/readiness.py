"""Whether decisions can be made, and what is missing: what ``/readyz`` and the metrics say."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ses_service.feeds.monitor_reader import Observer
from ses_service.feeds.site_manager import SiteManager
from ses_service.members.updater import Members
from ses_service.model.policies import described
from ses_service.security.certificates import end_of
from ses_service.state.state import NoEnvironmentError, ServiceState
from ses_service.store.journal import Journal
from ses_service.store.peers import Peers
from ses_service.store.set_aside import repair_command
from ses_service.threads.source_status import Check

_SLOW = 10.0  # seconds that a change waits for the database, as in the alert LedgerStoredLate
_REMEMBERED = 600.0  # seconds since a node reported more files than it may
_TO_RENEW = 30 * 86400.0  # seconds before its certificate ends


@dataclass(frozen=True, slots=True)
class Readiness:
    """The parts of a service that are asked; from ``journal`` to ``certificate`` they may be absent.

    ``wall`` is the clock by which the certificate ends.
    """

    state: ServiceState
    site_manager: SiteManager
    observer: Observer
    journal: Journal | None
    others: Peers | None
    members: Members | None
    certificate: Path | None
    wall: Callable[[], float]

    def checks(self) -> list[Check]:
        """Return how each part is; the service is ready when that named ``site`` is ok."""
        base, monitor = self.site_manager.status, self.observer.status
        version = monitor.version and f"version {monitor.version}"
        checks = [
            Check("knowledge-base", base.reachable, base.detail),
            self._site(),
            Check("monitor", monitor.reachable, monitor.detail or version),
            Check("decision", ok=True, detail=described(self.state.policies)),
        ]
        if self.journal is not None:
            stored = self.journal.status
            checks.append(
                Check("database", stored.ok and stored.lag < _SLOW, f"{stored.name}: {stored.detail}")
            )
            if damaged := self.journal.damaged_files:
                checks.append(
                    Check(
                        "damaged-ledger",
                        ok=False,
                        detail=f"{damaged[-1]} was damaged and set aside. To put back what can be read, stop "
                        f"the service and run: {repair_command(damaged[-1])}",
                    )
                )
        if self.others is not None:
            detail = self.others.fault or f"{self.others.running} run"
            checks.append(Check("other-services", ok=not self.others.fault, detail=detail))
        if self.certificate is not None:
            checks.append(self._certificate(self.certificate))
        checks.append(self._nodes())
        if self.members is not None:
            checks += self.members.checks()
        return checks

    def _certificate(self, path: Path) -> Check:
        try:
            end = end_of(path)
        except (OSError, ValueError) as error:
            return Check("certificate", ok=False, detail=f"{path}: {error}")
        left = end.timestamp() - self.wall()
        detail = f"{path} ends on {end:%Y-%m-%d}"
        if left > _TO_RENEW:
            return Check("certificate", ok=True, detail=detail)
        detail += f": renew it (ses-service tls init {path.parent} HOST); then nodes refuse this service"
        return Check("certificate", ok=False, detail=detail)

    def _nodes(self) -> Check:
        refusals = self.state.ledger.totals().refusals
        if self.state.now() - refusals.at > _REMEMBERED:
            return Check("files-of-nodes", ok=True, detail="")
        number = refusals.too_many_open + refusals.too_fast
        detail = f"{number} files were refused, the last of {refusals.node}: look at what runs there"
        return Check("files-of-nodes", ok=False, detail=detail)

    def _site(self) -> Check:
        try:
            return Check("site", ok=True, detail=f"{len(self.state.environment.elements)} elements")
        except NoEnvironmentError as error:
            return Check("site", ok=False, detail=str(error))


def ready(checks: list[Check]) -> bool:
    """Return whether decisions can be made."""
    return all(check.ok for check in checks if check.name == "site")
