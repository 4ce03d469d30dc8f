"""What the list of placements can be narrowed to."""

from __future__ import annotations

from flask_wtf import FlaskForm  # type: ignore[import-untyped]
from wtforms import SelectChoice, SelectField, StringField  # type: ignore[import-untyped]
from wtforms.validators import Length  # type: ignore[import-untyped]

STATES = (
    ("", "files"),
    ("open", "files being written"),
    ("ended", "ended"),
    ("all", "all decisions"),
)


class PlacementsForm(FlaskForm):  # type: ignore[misc]
    """Filters; an empty one does not filter.  ``user`` is for administrators."""

    class Meta:
        """Reading a page needs no CSRF token."""

        csrf = False

    path = StringField("File", [Length(max=4096)])
    element = StringField("Element", [Length(max=200)])
    state = SelectField(
        "State", choices=[SelectChoice(*one) for one in STATES], default="", validate_choice=False
    )
    user = StringField("User", [Length(max=64)])
