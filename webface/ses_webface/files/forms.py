"""What the list of files can be narrowed to."""

from zoneinfo import ZoneInfo

from flask_wtf import FlaskForm  # type: ignore[import-untyped]
from ses_client.limits import MAX_APPLICATION, MAX_ELEMENT, MAX_JOB, MAX_NAME
from wtforms import SelectChoice, SelectField, StringField, ValidationError  # type: ignore[import-untyped]
from wtforms.validators import Length  # type: ignore[import-untyped]
from wtforms.widgets import DateTimeLocalInput  # type: ignore[import-untyped]

from ses_webface.accounts.people import Person
from ses_webface.moments import UnreadableTimeError, from_field, read_moment
from ses_webface.portal import zone

STATES = (("", "any"), ("open", "being written or read"), ("ended", "ended"))
VERDICTS = (
    ("", "any"),
    ("met", "met"),
    ("nearly", "nearly met"),
    ("missed", "missed"),
    ("cannot-say", "cannot say"),
)
MINE, VO, ALL = "mine", "vo", "all"

Filters = dict[str, str | float | None]
"""Which files to list or sum up, as the service takes it; None does not filter."""


def _select(label: str, choices: tuple[tuple[str, str], ...]) -> SelectField:
    return SelectField(label, choices=[SelectChoice(*choice) for choice in choices], default="")


def _readable(_form: FlaskForm, field: StringField) -> None:
    try:
        _seconds(field.data, zone())
    except UnreadableTimeError as error:
        raise ValidationError(str(error)) from None


class FilesForm(FlaskForm):  # type: ignore[misc]
    """Filters; an empty one does not filter.  Times are those of the end, as clocks of the reader show them.

    ``whose`` and ``user`` count for administrators and managers of a VO only.
    """

    class Meta:
        """Reading a page needs no CSRF token."""

        csrf = False

    path = StringField("Path contains", [Length(max=4096)])
    application = StringField("Application", [Length(max=MAX_APPLICATION)])
    job = StringField("Job", [Length(max=MAX_JOB)])
    element = StringField("Element", [Length(max=MAX_ELEMENT)])
    state = _select("State", STATES)
    verdict = _select("Verdict", VERDICTS)
    since = StringField("Ended from", [_readable], widget=DateTimeLocalInput())
    until = StringField("Ended until", [_readable], widget=DateTimeLocalInput())
    whose = SelectField("Whose", validate_choice=False)
    user = StringField("User", [Length(max=MAX_NAME)])

    def offer(self, person: Person) -> None:
        """Offer whose files this person may see; the first is meant where nothing was chosen."""
        choices = [(ALL, "everybody's")] if person.is_admin else []
        choices.append((MINE, "mine"))
        if person.managed_vo:
            choices.append((VO, f"VO {person.managed_vo}"))
        self.whose.choices = [SelectChoice(*choice) for choice in choices]
        if self.whose.data not in dict(choices):
            self.whose.data = choices[0][0]

    def wanted(self, person: Person) -> Filters:
        """Return what a valid form asks for, of the files this person may see."""
        texts = {
            name: (self[name].data or "").strip() or None
            for name in ("path", "application", "job", "element", "state", "verdict")
        }
        return {
            "user": person.name if self.whose.data == MINE else (self.user.data or "").strip() or None,
            "vo": person.managed_vo if self.whose.data == VO else None,
            "since": _seconds(self.since.data, zone()),
            "until": _seconds(self.until.data, zone()),
            **texts,
        }

    @property
    def given(self) -> dict[str, str]:
        """What the address of a page with the same filters says."""
        of_others = () if len(self.whose.choices) > 1 else ("whose", "user")
        return {
            name: str(field.data)
            for name, field in self._fields.items()
            if field.data and name not in of_others
        }

    @property
    def chosen(self) -> int:
        """How many fields were filled in, but whose files they are."""
        return len(self.given.keys() - {"whose"})

    @property
    def problems(self) -> list[str]:
        """What is wrong with the form, a sentence for each field."""
        return [f"{self[name].label.text}: {' '.join(errors)}" for name, errors in self.errors.items()]


def _seconds(text: str | None, where: ZoneInfo) -> float | None:
    moment = read_moment(from_field(text, where)) if text and text.strip() else None
    return None if moment is None else moment.timestamp()
