"""The form of one requirement set: one row per kind of the vocabulary, an empty number asks for nothing."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from zoneinfo import ZoneInfo

from flask import request
from flask_wtf import FlaskForm  # type: ignore[import-untyped]
from ses_client.limits import MAX_WEIGHT
from ses_client.messages.requirements import Requirement, required
from ses_client.messages.vocabulary import Kind
from wtforms import Field, Form, FormField, HiddenField, SelectChoice, SelectField, StringField  # type: ignore[import-untyped]

from ses_webface.moments import UnreadableTimeError, from_field, read_moment, to_field, zone_named
from ses_webface.quantities import UnreadableNumberError, as_stated, read_number, read_quantity, to_canonical

STRICTNESS = (("soft", "rank it lower"), ("hard", "refuse it"))
_FIELD_OF = {"minimum": "bound", "maximum": "bound"}  # the service's name of a member to the form's
_TIMES = (("valid_from", "Valid from"), ("valid_until", "Valid until"))


def bound_of(kind: Kind) -> str:
    """Return what a kind's number is called."""
    return "At most" if kind.at_most else "At least"


def field_of(kind: Kind) -> str:
    """Return the name of a kind's fields in a form; never one of the form's own."""
    return "kind_" + kind.kind.replace("-", "_")


def _row_of(kind: Kind) -> type[Form]:
    class Row(Form):  # type: ignore[misc]
        bound = StringField(bound_of(kind))
        unit = SelectField("Unit", choices=list(kind.choices), default=kind.unit)
        strictness = SelectField(
            "If a place misses it",
            choices=[SelectChoice(*strictness) for strictness in STRICTNESS],
            default="soft",
        )
        weight = StringField("Weight", default=format(kind.default_weight, "g"))
        valid_from = StringField("Valid from")
        valid_until = StringField("Valid until")

    return Row


class RequirementsForm(FlaskForm):  # type: ignore[misc]
    """All kinds at one level; ``revision`` is the one that was read before typing began.

    ``zone`` names the time zone its times are in: the one the page was made in, whatever it is now.
    Made for the kinds there are by :func:`form_for`.
    """

    kinds: tuple[Kind, ...] = ()
    revision = HiddenField(default="0")
    profile = StringField("Profile", default="")
    sentence = StringField("Sentence about the program", default="")
    sentence_values = StringField("Values the sentence does not name", default="")
    zone = HiddenField(default="UTC")
    _rows_read: list[tuple[Requirement | None, bool]] | None = None

    def rows(self) -> Iterator[tuple[Kind, Form]]:
        """Give each kind with its row."""
        for kind in self.kinds:
            yield kind, self[field_of(kind)].form

    def read(self) -> tuple[Requirement, ...] | None:
        """Return the requirements typed, in the units of their kinds; None when a field is wrong.

        Wrong fields carry their error afterwards.
        """
        sound = all(row_sound for _requirement, row_sound in self._read_rows())
        return self.read_sound_rows() if sound else None

    def read_sound_rows(self) -> tuple[Requirement, ...]:
        """Return the requirements of the rows without a fault (for a preview while typing)."""
        return tuple(requirement for requirement, _sound in self._read_rows() if requirement)

    def _read_rows(self) -> list[tuple[Requirement | None, bool]]:
        """Return what each row holds; rows are read once, so that errors put beside them stay."""
        if self._rows_read is None:
            self._rows_read = [_read_row(kind, row, self.time_zone()) for kind, row in self.rows()]
        return self._rows_read

    def chosen_profile(self) -> str | None:
        """Return the name of the profile chosen, None for none."""
        return (self.profile.data or "").strip() or None

    def time_zone(self) -> ZoneInfo:
        """Return the zone its times are in."""
        return zone_named(self.zone.data) or ZoneInfo("UTC")

    def base_revision(self) -> int:
        """Return the revision typing began from; 0 when the field is not a number."""
        text = self.revision.data or ""
        return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0

    def posted_kinds(self) -> frozenset[str]:
        """Return the kinds whose number was on the page that was sent; of others nothing was sent."""
        return frozenset(kind.kind for kind, row in self.rows() if row.bound.name in request.form)

    def blame(self, problems: Iterable[tuple[str, str]], sent: Sequence[Requirement]) -> list[str]:
        """Put what the service says of ``sent`` beside the fields it concerns; return the rest."""
        rest = []
        for location, message in problems:
            detail = message.removeprefix("Value error, ")
            field = self._field_at(location, detail, sent)
            if field is None:
                rest.append(f"{location}: {detail}" if location else detail)
            else:
                field.errors = [*field.errors, f"{detail[:1].upper()}{detail[1:]}."]
        return rest

    def understood(self, row: Form) -> str:
        """Return what a number that was typed with its unit is read as; empty for other numbers."""
        typed = str((row.bound.raw_data or [""])[0])
        has_unit = any(letter.isalpha() for letter in typed) and not row.bound.errors
        return f"{row.bound.data}\u00a0{row.unit.data}" if has_unit else ""

    def problems(self) -> list[tuple[str, str, str]]:
        """Return (field's id, its name in words, message) of every error, in page order."""
        own = [
            (field.id, field.label.text, str(message))
            for field in (self.sentence, self.sentence_values, self.profile)
            for message in field.errors
        ]
        return own + [
            (field.id, _name_of(kind, field), str(message))
            for kind, row in self.rows()
            for field in row
            for message in field.errors
        ]

    def _field_at(self, location: str, message: str, sent: Sequence[Requirement]) -> Field | None:
        parts = location.removeprefix("json.").split(".")
        if parts == ["profile"]:
            return self.profile
        name, member = message.partition(":")[0], "bound"
        if parts[0] == "requirements" and len(parts) > 1 and parts[1].isdigit() and int(parts[1]) < len(sent):
            name = sent[int(parts[1])].kind
            member = parts[2] if len(parts) > 2 else message.partition(" ")[0]
        row = next((row for kind, row in self.rows() if kind.kind == name), None)
        if row is None:
            return None
        member = _FIELD_OF.get(member, member)
        return row[member if member in row else "bound"]


@lru_cache(maxsize=16)
def form_for(kinds: tuple[Kind, ...]) -> type[RequirementsForm]:
    """Return the form with a row for each of these kinds."""
    rows = {field_of(kind): FormField(_row_of(kind), label=kind.title) for kind in kinds}
    return type("RequirementsFormOfKinds", (RequirementsForm,), {"kinds": kinds, **rows})


def form_data(
    kinds: Iterable[Kind], requirements: Iterable[Requirement], zone: ZoneInfo
) -> dict[str, dict[str, str]]:
    """Return what the form shows for stored requirements (in the units of their kinds)."""
    by_name = {kind.kind: kind for kind in kinds}
    shown = {}
    for requirement in requirements:
        kind = by_name.get(requirement.kind)
        if kind:
            number, unit = as_stated(requirement, kind)
            shown[field_of(kind)] = {
                "bound": number,
                "unit": unit,
                "strictness": requirement.strictness,
                "weight": format(requirement.weight or kind.default_weight, "g"),
                "valid_from": to_field(requirement.valid_from, zone),
                "valid_until": to_field(requirement.valid_until, zone),
            }
    return shown


def _name_of(kind: Kind, field: Field) -> str:
    first = field.short_name == "bound"
    return kind.title if first else f"{kind.title}, {field.label.text.lower()}"


def _read_row(kind: Kind, row: Form, zone: ZoneInfo) -> tuple[Requirement | None, bool]:
    for field in row:
        field.errors = []
    bound, weight = 0.0, kind.default_weight
    if not (row.bound.data or "").strip():
        return None, True
    try:
        bound, row.bound.data, row.unit.data = read_quantity(row.bound.data, row.unit.data, kind)
    except UnreadableNumberError as error:
        row.bound.errors = [str(error)]
    if row.unit.data not in kind.sizes:
        row.unit.errors = [f"Choose one of {', '.join(kind.choices)}."]
    if row.strictness.data not in ("soft", "hard"):
        row.strictness.errors = ["Choose what happens to a place that misses it."]
    try:
        if (row.weight.data or "").strip():
            weight = read_number(row.weight.data)
        if weight > MAX_WEIGHT:
            raise UnreadableNumberError(f"The weight may be at most {MAX_WEIGHT:.0f}.")
    except UnreadableNumberError as error:
        row.weight.errors = [str(error)]
    times = {name: _read_time(row[name], zone) for name, _label in _TIMES}
    start, end = read_moment(times["valid_from"]), read_moment(times["valid_until"])
    if start and end and end <= start:
        row.valid_until.errors = ["This is not after the time it is valid from."]
    if any(field.errors for field in row):
        return None, False
    requirement = required(
        kind.kind,
        to_canonical(bound, row.unit.data, kind),
        kind.unit,
        weight,
        row.strictness.data,
        at_most=kind.at_most,
        **times,
        stated_unit=None if row.unit.data == kind.unit else row.unit.data,
    )
    return requirement, True


def _read_time(field: Field, zone: ZoneInfo) -> str | None:
    if not (field.data or "").strip():
        return None
    try:
        return from_field(field.data, zone)
    except UnreadableTimeError as error:
        field.errors = [str(error)]
        return None
