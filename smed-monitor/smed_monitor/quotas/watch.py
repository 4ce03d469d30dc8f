"""The thread that looks at quotas once a minute: at exporters, or at this server's own files."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import structlog

from smed_monitor.collectors.base import Source
from smed_monitor.collectors.http import HttpSource
from smed_monitor.config.settings import QuotaSettings, Target
from smed_monitor.core.errors import CollectorError
from smed_monitor.core.model import now
from smed_monitor.core.quotas import Quota
from smed_monitor.quotas import lustre
from smed_monitor.quotas.names import Names
from smed_monitor.quotas.page import new_reader, quotas_of

PERIOD_SECONDS = 60.0
_SECONDS = 10.0  # for a whole page
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SystemQuotas:
    """The quotas of a storage system as last seen, where they are from, and why they are not newer."""

    system: str
    target: str
    quotas: tuple[Quota, ...] = ()
    error: str = "not looked at yet"


class Quotas:
    """Keeps the last quotas of every ``[[quota]]`` of the settings."""

    def __init__(self, settings: Sequence[QuotaSettings]) -> None:
        self._readers = [_Reader(setting) for setting in settings]
        self._latest = tuple(SystemQuotas(setting.system, setting.address) for setting in settings)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="quotas", daemon=True)

    @property
    def latest(self) -> tuple[SystemQuotas, ...]:
        """What was seen last."""
        return self._latest

    def start(self) -> None:
        """Begin, where there is anything to look at."""
        if self._readers:
            self._thread.start()

    def stop(self) -> None:
        """End after the look under way."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(_SECONDS)

    def look(self) -> None:
        """Look at all of them once."""
        self._latest = tuple(
            reader.look(before) for reader, before in zip(self._readers, self._latest, strict=True)
        )

    def _run(self) -> None:
        while True:
            self.look()
            if self._stopping.wait(PERIOD_SECONDS):
                return


class _Reader:
    def __init__(self, settings: QuotaSettings) -> None:
        self._settings = settings
        self._names = Names()
        self._pages = new_reader()
        self._source: Source | None = None
        if settings.url is not None:
            target = Target(
                name="quota", collector="textfile", url=settings.url, ca_file=settings.ca_file,
                timeout_seconds=_SECONDS,
            )  # fmt: skip
            self._source = HttpSource(target)

    def look(self, before: SystemQuotas) -> SystemQuotas:
        """Return what is seen now; after a failure what was seen before, and why."""
        settings = self._settings
        try:
            quotas = self._read()
        except CollectorError as error:
            return self._failed(before, str(error))
        except OSError as error:  # the MDT is unmounted while its folders are listed
            return self._failed(before, f"cannot be read: {error.strerror}")
        if settings.filesystem is not None:
            quotas = [quota for quota in quotas if quota.filesystem == settings.filesystem]
        why = "" if quotas else "shows no quota of it"
        return SystemQuotas(settings.system, settings.address, tuple(quotas), why)

    def _failed(self, before: SystemQuotas, error: str) -> SystemQuotas:
        if error != before.error:
            log.warning("quotas-failed", system=self._settings.system, detail=error)
        return replace(before, error=error)

    def _read(self) -> list[Quota]:
        if self._source is None:
            return lustre.read(Path(self._settings.root), self._names, now().wall)
        return quotas_of(self._source.read().body, self._pages)
