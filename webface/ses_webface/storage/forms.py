"""What the storage pages can be asked to show, and what an administrator may change of an element."""

from collections.abc import Mapping
from zoneinfo import ZoneInfo

from flask_wtf import FlaskForm  # type: ignore[import-untyped]
from ses_client.messages.elements import Element
from ses_client.messages.message import JSON
from ses_client.messages.vocabulary import Kind, Vocabulary
from wtforms import IntegerField, SelectChoice, SelectField, StringField  # type: ignore[import-untyped]

from ses_webface.moments import UnreadableTimeError, from_field
from ses_webface.quantities import UnreadableNumberError, read_quantity
from ses_webface.storage.services import BY, Question

MEASURES = (("write", "Write rate"), ("read", "Read rate"), ("free", "Free space"))
STATES = ("active", "degraded", "draining", "read-only", "inactive")
SPANS = {"hour": (3600, 120), "day": (86400, 144)}
"""Seconds, and how many steps they are shown in."""
_TEXTS = ("label", "server", "tier", "pool", "target")
_RATES = {"read_rate": "current-read-rate", "write_rate": "current-write-rate"}
_NEEDED = ("server", "target")


class StorageForm(FlaskForm):  # type: ignore[misc]
    """The measure that colours the map, how it is grouped, and which elements it leaves out."""

    class Meta:
        """Reading a page needs no CSRF token."""

        csrf = False

    show = SelectField("Show", choices=[SelectChoice(*measure) for measure in MEASURES], default="write")
    by = SelectField("Group by", choices=[SelectChoice("", "nothing"), *(SelectChoice(by, by) for by in BY)])
    system = StringField("Storage system")
    tier = StringField("Tier")
    server = StringField("Server")
    pool = StringField("Pool")
    page = IntegerField("Page", default=1)
    find = StringField("Element")

    def question(self) -> Question:
        """Return what is asked for; what cannot be is left out."""
        page = self.page.data if isinstance(self.page.data, int) else 1
        return Question(
            show=self.show.data if self.show.data in dict(MEASURES) else "write",
            by=self.by.data if self.by.data in BY else "",
            system=self.system.data or "",
            only={name: getattr(self, name).data or "" for name in BY},
            page=max(1, min(page, 10_000)),
        )


class FaultsError(ValueError):
    """What was typed cannot be meant; ``faults`` are sentences by field."""

    def __init__(self, faults: Mapping[str, str]) -> None:
        super().__init__("; ".join(faults.values()))
        self.faults = dict(faults)


def stated(element: Element) -> dict[str, str]:
    """Return what is stated of an element, as the fields show it."""
    return {
        "label": element.name,
        "server": element.server,
        "tier": element.tier or "",
        "pool": element.pool or "",
        "target": element.target,
        "state": element.state,
        "read_rate": "" if element.nominal.read_mb_s is None else f"{element.nominal.read_mb_s:.15g} MB/s",
        "write_rate": "" if element.nominal.write_mb_s is None else f"{element.nominal.write_mb_s:.15g} MB/s",
        "capacity_bytes": "",
    }


def seen(fields: Mapping[str, str], element: Element) -> dict[str, str]:
    """Return what was stated of an element when the form was made, which says so; else what is stated now."""
    return {name: fields.get(f"was_{name}", value) for name, value in stated(element).items()}


def drained(fields: Mapping[str, str], zone: ZoneInfo) -> JSON:
    """Return why and until when an element is to be drained; raises FaultsError."""
    how: JSON = {}
    if reason := fields.get("reason", "").strip():
        how["reason"] = reason
    if until := fields.get("until", "").strip():
        try:
            how["until"] = from_field(until, zone)
        except UnreadableTimeError as error:
            raise FaultsError({"until": str(error)}) from None
    return how


def changed(fields: Mapping[str, str], before: Mapping[str, str], words: Vocabulary) -> JSON:
    """Return the facts that were typed anew, rates and sizes in bytes; None: stated no more.

    Raises FaultsError.
    """
    facts: JSON = {}
    faults: dict[str, str] = {}
    for name in (*_TEXTS, "state", *_RATES, "capacity_bytes"):
        typed = fields.get(name, before.get(name, "")).strip()
        if typed == before.get(name, ""):
            continue
        try:
            facts[name] = _fact(name, typed, words)
        except UnreadableNumberError as error:
            faults[name] = str(error)
    if faults:
        raise FaultsError(faults)
    return facts


def _fact(name: str, typed: str, words: Vocabulary) -> object:
    if not typed:
        if name in _NEEDED:
            raise UnreadableNumberError(f"An element has a {name} always.")
        return None
    if name in _TEXTS:
        return typed
    if name == "state":
        if typed not in STATES:
            raise UnreadableNumberError(f"A state is one of {', '.join(STATES)}.")
        return typed
    kind = words.kind(_RATES.get(name, "free-capacity"))
    if kind is None:
        raise UnreadableNumberError("The selection service names no units of this.")
    return _bytes(typed, kind, 1e6 if name in _RATES else 1e9)


def _bytes(typed: str, kind: Kind, unit_bytes: float) -> float:
    value, _number, unit = read_quantity(typed, kind.unit, kind)
    amount = value * kind.size(unit) * unit_bytes
    if amount <= 0:
        raise UnreadableNumberError("Write more than nothing.")
    return amount
