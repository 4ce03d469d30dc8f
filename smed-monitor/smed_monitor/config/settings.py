"""The settings file (TOML), read once and checked whole.

A fault is reported with the file and the key, all faults at once.  Nothing is reloaded while running.
"""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from ses_client.errors import SesError
from ses_client.text_files import read_toml

from smed_monitor.core.errors import SettingsError


def _exporter_url(url: str) -> str:
    parts = urlsplit(url)
    try:
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # the port is not a number
        usable = False
    if not usable or any(character.isspace() for character in url):
        raise ValueError("must be an address like http://host:9100/metrics")
    if parts.username or parts.password:
        raise ValueError("must not hold a user name or password: the address is shown in public answers")
    return url


def _mount_point(path: str) -> str:
    if not path.startswith("/"):
        raise ValueError("must be an absolute path")
    return path.rstrip("/") or "/"


Seconds = Annotated[float, Field(gt=0, le=86400)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=128)]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)


class Target(_Model):
    """One source: an exporter, or files of this node."""

    name: Name
    """What elements call it."""
    collector: str
    """What reads it: one of the names that ``smed-monitor check`` lists for a wrong one."""
    url: Annotated[str, AfterValidator(_exporter_url)] | None = None
    """Address of an exporter."""
    ca_file: Annotated[str, AfterValidator(_mount_point)] | None = None
    """With https: authorities (PEM), where the system's did not sign its certificate."""
    root: Annotated[str, AfterValidator(_mount_point)] = "/"
    """Collectors of files: where proc and sys are."""
    paths: tuple[Annotated[str, AfterValidator(_mount_point)], ...] = ()
    """Collectors of files: mount points or directories to look at, or the union whose branches they are."""
    table: Annotated[str, AfterValidator(_mount_point)] | None = None
    """Collector sampler: the file that smed-sampler or smed-mirror writes."""
    timeout_seconds: Annotated[float, Field(gt=0, le=30)] = 1.0
    """A scrape that takes longer in all is cut off."""
    max_reply_bytes: Annotated[int, Field(ge=1024)] = 32 * 1024 * 1024
    """A longer answer is cut off."""

    @property
    def address(self) -> str:
        """Where the figures come from, as shown to people."""
        return self.url or f"this node, {self.table or ', '.join(self.paths) or self.root}"


class ElementSettings(_Model):
    """One storage element and where to find it.

    Needed for elements only that the description of the site (``--site``) does not name, or names otherwise.
    """

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$", max_length=256)]
    """The name the site's description gives it."""
    target: str
    """The target that usually shows it."""
    mount_point: Annotated[str, AfterValidator(_mount_point)] | None = None
    """Where it is mounted; the device is found from it."""
    device: Annotated[str, Field(min_length=1)] | None = None
    """Its device; needed only where the exporter does not say what is mounted at ``mount_point``."""
    ost: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$", max_length=128)] | None = None
    """Name of an OST, in place of mount point and device."""
    file_system: str = ""
    """Which one a branch was described on, as ``ses discover`` says; another one is not looked at."""
    failover: tuple[str, ...] = ()
    """Targets that may show it when ``target`` does not."""
    read_capability_mb_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """What it can give to readers at best, in MB/s."""
    write_capability_mb_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """What it can take from writers at best, in MB/s."""

    @property
    def targets(self) -> tuple[str, ...]:
        """Every target it may be seen at, the usual one first."""
        return (self.target, *self.failover)

    @model_validator(mode="after")
    def _findable(self) -> ElementSettings:
        if self.mount_point is None and self.device is None and self.ost is None:
            raise ValueError("needs mount_point or device")
        return self


class Rule(_Model):
    """Elements that need no entry each.  An OST shown by several targets is one element."""

    targets: Annotated[tuple[str, ...], Field(min_length=1)]
    """Names of targets; ``*`` stands for any characters."""
    match: Annotated[str, Field(min_length=1)]
    """Shell pattern for OST names or mount points; each that fits is an element."""
    element: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+/[A-Za-z0-9._-]*\{(name|last)\}[A-Za-z0-9._-]*$")]
    """The id to give: ``{name}`` is the whole name, ``{last}`` what follows its last ``-`` or ``/``, so that
    ``lustre-OST0003`` becomes ``lustre/OST0003`` by ``lustre/{last}``."""

    def covers(self, target: str) -> bool:
        """Whether it applies to what ``target`` shows."""
        return any(fnmatchcase(target, pattern) for pattern in self.targets)

    def settings_for(self, target: str, name: str, kind: str) -> ElementSettings | None:
        """The element ``name`` (an ``ost`` or a ``mount_point``) is, if it is one by this rule."""
        if not fnmatchcase(name, self.match):
            return None
        last = re.split(r"[-/]", name)[-1]
        whole = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-")
        fields = {"id": self.element.format(name=whole, last=last), "target": target, kind: name}
        try:
            return ElementSettings.model_validate(fields)
        except ValidationError:
            return None


class QuotaSettings(_Model):
    """Where the quotas of a storage system are seen; of a Lustre, on the server of its first MDT."""

    system: Name
    """The storage system, as the site's description names it."""
    url: Annotated[str, AfterValidator(_exporter_url)] | None = None
    """Address of a node_exporter fed by ``smed-monitor textfile``; without it, this node's files are read."""
    ca_file: Annotated[str, AfterValidator(_mount_point)] | None = None
    """With https: authorities (PEM), where the system's did not sign its certificate."""
    root: Annotated[str, AfterValidator(_mount_point)] = "/"
    """Without ``url``: where proc and sys are."""
    filesystem: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    """Its own name, where the target shows several."""

    @property
    def address(self) -> str:
        """Where they come from, as shown to people."""
        return self.url or f"this node, {self.root}"


class HistorySettings(_Model):
    """How much of the past is kept in memory, and the Prometheus server that knows more of it."""

    period_seconds: Annotated[float, Field(ge=0.1, le=3600)] = 10.0
    """One point this often: the mean of that time."""
    points: Annotated[int, Field(ge=2, le=100_000)] = 360
    """How many points; each costs 12 bytes per element."""
    prometheus: Annotated[str, AfterValidator(_exporter_url)] | None = None
    """Address of a server that scrapes this monitor."""
    timeout_seconds: Annotated[float, Field(gt=0, le=30)] = 2.0
    """Longest time of one question to it."""


class Settings(_Model):
    """All settings of the monitor."""

    interval_seconds: Seconds = 1.0
    """Each target is scraped this often."""
    current_window_seconds: Seconds = 2.0
    """Time constant of the weighted mean behind "current"."""
    average_window_seconds: Seconds = 60.0
    """The same for "average"; not shorter."""
    stale_after_seconds: Seconds = 3.0
    """An observation older than this is stale; at least two intervals."""
    concurrent_scrapes: Annotated[int, Field(ge=2, le=1024)] = 32
    """Threads for targets that make one wait; those that hang get at most half."""
    learn_capability: bool = False
    """Learn what an element can give from what it gave with a full queue."""
    targets: Annotated[tuple[Target, ...], Field(alias="target", min_length=1)]
    elements: Annotated[tuple[ElementSettings, ...], Field(alias="element")] = ()
    rules: Annotated[tuple[Rule, ...], Field(alias="rule")] = ()
    quotas: Annotated[tuple[QuotaSettings, ...], Field(alias="quota")] = ()
    history: HistorySettings = HistorySettings()

    @model_validator(mode="after")
    def _windows_fit(self) -> Settings:
        if self.stale_after_seconds < 2 * self.interval_seconds:
            raise ValueError("stale_after_seconds must be at least twice interval_seconds")
        if self.average_window_seconds < self.current_window_seconds:
            raise ValueError("average_window_seconds must not be shorter than current_window_seconds")
        return self


class Kind(Protocol):
    """What settings and description must know of a collector."""

    @property
    def local(self) -> bool:
        """Whether it reads this node's files."""

    @property
    def finds_by(self) -> Literal["ost", "mount_point"]:
        """The setting of an element by which it is found in a sample."""


_TABLES: dict[str, type[BaseModel]] = {
    "target": Target,
    "element": ElementSettings,
    "rule": Rule,
    "quota": QuotaSettings,
    "history": HistorySettings,
}


def load(
    path: Path,
    *,
    collectors: Mapping[str, Kind],
    described: Callable[[Settings], Sequence[ElementSettings]] | None = None,
) -> Settings:
    """Read and check ``path``; ``collectors`` are the names a target may use.

    ``described`` gives the elements of the site that the settings do not name themselves.

    Raises :class:`SettingsError` with one line per fault, each naming the file and the key.
    """
    try:
        tree = read_toml(path)
    except SesError as error:
        raise SettingsError(str(error)) from None
    try:
        settings = Settings.model_validate_json(json.dumps(tree, default=str))
    except ValidationError as error:
        faults = [
            f"{_key(e['loc'], tree)}: {_sentence(e['type'], e['msg'], e['loc'])}" for e in error.errors()
        ]
    else:
        faults = _contradictions(settings, collectors)
    if faults:
        raise SettingsError("\n".join(f"{path}: {fault}" for fault in faults))
    if described is not None:
        settings = settings.model_copy(update={"elements": (*settings.elements, *described(settings))})
    if not settings.elements and not settings.rules:
        raise SettingsError(
            f"{path}: element: is required, unless there is a [[rule]] or a description (--site) that has "
            "elements with qsm:observedAt (ses kb validate says what is wrong in one)"
        )
    return settings


def _contradictions(settings: Settings, collectors: Mapping[str, Kind]) -> list[str]:
    """What is right by itself but not together."""
    faults = []
    names = [target.name for target in settings.targets]
    for number, target in enumerate(settings.targets, start=1):
        where = f"[[target]] number {number} ({target.name})"
        if target.collector not in collectors:
            known = ", ".join(sorted(collectors))
            faults.append(f"{where}, collector: no collector is called {target.collector!r}; known: {known}")
        elif not collectors[target.collector].local and target.url is None:
            faults.append(f"{where}, url: is required by collector {target.collector}")
        elif collectors[target.collector].local and target.url is not None:
            faults.append(
                f"{where}, url: collector {target.collector} reads this node's files, not an address"
            )
        if target.collector == "sampler" and target.table is None:
            faults.append(f"{where}, table: is required by collector sampler")
        faults += _authorities(where, target)
        if names.index(target.name) != number - 1:
            faults.append(f"{where}, name: is used by an earlier [[target]]")
    for number, quota in enumerate(settings.quotas, start=1):
        faults += _authorities(f"[[quota]] number {number} ({quota.system})", quota)
    ids = {element.id: number for number, element in reversed([*enumerate(settings.elements, start=1)])}
    known_targets = frozenset(names)
    for number, element in enumerate(settings.elements, start=1):
        where = f"[[element]] number {number} ({element.id})"
        for name in element.targets:
            if name not in known_targets:
                key, known = (
                    "target" if name == element.target else "failover",
                    ", ".join(sorted(known_targets)),
                )
                faults.append(f"{where}, {key}: no [[target]] is called {name!r}; known: {known}")
        if ids[element.id] != number:
            faults.append(f"{where}, id: is used by [[element]] number {ids[element.id]}")
    return faults


def _authorities(where: str, asked: Target | QuotaSettings) -> list[str]:
    """What is wrong with the authorities that an address is verified by."""
    if asked.ca_file is None or urlsplit(asked.url or "").scheme != "https":
        return []
    try:
        ssl.create_default_context(cafile=asked.ca_file)
    except ssl.SSLError:
        return [f"{where}, ca_file: {asked.ca_file} holds no certificate (PEM)"]
    except OSError as error:
        return [f"{where}, ca_file: {asked.ca_file} cannot be read: {error.strerror}"]
    return []


def _key(location: Sequence[int | str], tree: dict[str, Any]) -> str:
    """``("element", 2, "id")`` as a person would say it, with the entry's own name where it has one."""
    if len(location) < 2 or not isinstance(location[1], int):
        return ".".join(str(part) for part in location) or "the whole file"
    table, index, *rest = location
    entry = tree[str(table)][index]
    own_name = entry.get("id") or entry.get("name") if isinstance(entry, dict) else None
    named = f" ({own_name})" if isinstance(own_name, str) else ""
    return f"[[{table}]] number {int(index) + 1}{named}" + "".join(f", {part}" for part in rest)


def _sentence(kind: str, message: str, location: Sequence[int | str]) -> str:
    if kind == "extra_forbidden":
        near = get_close_matches(str(location[-1]), _settings_beside(location), 1)
        return f"is not a setting of the monitor{f'; did you mean {near[0]}?' if near else ''}"
    if kind == "missing":
        return "is required"
    return re.sub(r"^(Value error, |Input )", "", message)


def _settings_beside(location: Sequence[int | str]) -> list[str]:
    """Return the names that the table of the setting at ``location`` takes."""
    model: type[BaseModel] = Settings
    for part in location[:-1]:
        model = _TABLES.get(str(part), model)
    return [field.alias or name for name, field in model.model_fields.items()]
