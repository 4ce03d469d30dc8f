"""The form of one requirement set: one row per kind, an empty number asks for nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flask_wtf import FlaskForm  # type: ignore[import-untyped]
from wtforms import Field, Form, FormField, HiddenField, SelectChoice, SelectField, StringField  # type: ignore[import-untyped]

from ses_webface.quantities import (
    KIND_BY_NAME,
    KINDS,
    Kind,
    UnreadableNumberError,
    read_number,
    shortest_writing,
    to_canonical,
)
from ses_webface.selection_model import Requirement

STRICTNESS = (("soft", "rank it lower"), ("hard", "refuse it"))
_MAX_WEIGHT = 1000.0


def _row_of(kind: Kind) -> type[Form]:
    class Row(Form):  # type: ignore[misc]
        minimum = StringField("At least")
        unit = SelectField("Unit", choices=list(kind.units), default=kind.unit)
        strictness = SelectField(
            "If a place has less", choices=[SelectChoice(*one) for one in STRICTNESS], default="soft"
        )
        weight = StringField("Weight", default="1")

    return Row


class RequirementsForm(FlaskForm):  # type: ignore[misc]
    """All kinds at one level; ``revision`` is the one that was read before typing began."""

    revision = HiddenField(default="0")
    profile = StringField(default="")

    def rows(self) -> Iterator[tuple[Kind, Form]]:
        """Give each kind with its row."""
        for kind in KINDS:
            yield kind, self[kind.field].form

    def read(self) -> tuple[Requirement, ...] | None:
        """Return the requirements typed, in canonical units; None when a field is wrong.

        Wrong fields carry their error afterwards.
        """
        found = []
        sound = True
        for kind, row in self.rows():
            requirement, row_sound = _read_row(kind, row)
            sound = sound and row_sound
            if requirement:
                found.append(requirement)
        return tuple(found) if sound else None

    def read_sound_rows(self) -> tuple[Requirement, ...]:
        """Return the requirements of the rows without a fault (for a preview while typing)."""
        pairs = (_read_row(kind, row) for kind, row in self.rows())
        return tuple(requirement for requirement, _sound in pairs if requirement)

    def chosen_profile(self) -> str | None:
        """Return the name of the profile chosen, None for none."""
        return (self.profile.data or "").strip() or None

    def base_revision(self) -> int:
        """Return the revision typing began from; 0 when the field is not a number."""
        text = self.revision.data or ""
        return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0

    def problems(self) -> list[tuple[str, str, str]]:
        """Return (field's id, its name in words, message) of every error, in page order."""
        return [
            (field.id, _name_of(kind, field), str(message))
            for kind, row in self.rows()
            for field in row
            for message in field.errors
        ]


for _kind in KINDS:
    setattr(RequirementsForm, _kind.field, FormField(_row_of(_kind), label=_kind.label))


def form_data(requirements: Iterable[Requirement]) -> dict[str, dict[str, str]]:
    """Return what the form shows for stored requirements (canonical units)."""
    shown = {}
    for requirement in requirements:
        kind = KIND_BY_NAME.get(requirement.kind)
        if kind:
            number, unit = shortest_writing(requirement.minimum, kind)
            shown[kind.field] = {
                "minimum": number,
                "unit": unit,
                "strictness": requirement.strictness,
                "weight": format(requirement.weight, "g"),
            }
    return shown


def _name_of(kind: Kind, field: Field) -> str:
    first = field.short_name == "minimum"
    return kind.label if first else f"{kind.label}, {field.label.text.lower()}"


def _read_row(kind: Kind, row: Form) -> tuple[Requirement | None, bool]:
    for field in row:
        field.errors = []
    minimum, weight = 0.0, 1.0
    if not (row.minimum.data or "").strip():
        return None, True
    try:
        minimum = read_number(row.minimum.data)
    except UnreadableNumberError as error:
        row.minimum.errors = [str(error)]
    if row.unit.data not in kind.units:
        row.unit.errors = [f"Choose one of {', '.join(kind.units)}."]
    if row.strictness.data not in ("soft", "hard"):
        row.strictness.errors = ["Choose what happens to a place that has less."]
    try:
        weight = read_number(row.weight.data or "1")
        if weight > _MAX_WEIGHT:
            raise UnreadableNumberError(f"The weight may be at most {_MAX_WEIGHT:g}.")
    except UnreadableNumberError as error:
        row.weight.errors = [str(error)]
    if any(field.errors for field in row):
        return None, False
    canonical = to_canonical(minimum, row.unit.data, kind)
    return Requirement(kind.name, canonical, kind.unit, weight, row.strictness.data), True
