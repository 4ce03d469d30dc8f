"""What the storage page can be asked to show."""

from __future__ import annotations

from flask_wtf import FlaskForm  # type: ignore[import-untyped]
from wtforms import SelectChoice, SelectField, StringField  # type: ignore[import-untyped]

MEASURES = (("write", "Write rate"), ("read", "Read rate"), ("free", "Free space"))


class StorageForm(FlaskForm):  # type: ignore[misc]
    """The measure that colours the map, and one storage system or all (``system`` empty)."""

    class Meta:
        """Reading a page needs no CSRF token."""

        csrf = False

    show = SelectField("Show", choices=[SelectChoice(*one) for one in MEASURES], default="write")
    system = StringField("Storage system")
