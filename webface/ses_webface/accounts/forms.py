"""Forms of accounts."""

from flask_wtf import FlaskForm  # type: ignore[import-untyped]
from ses_client.names import VO, VO_FORM
from wtforms import (  # type: ignore[import-untyped]
    Form,
    HiddenField,
    IntegerField,
    PasswordField,
    SelectChoice,
    SelectField,
    StringField,
)
from wtforms.validators import (  # type: ignore[import-untyped]
    EqualTo,
    InputRequired,
    Length,
    NumberRange,
    Optional,
    Regexp,
    ValidationError,
)

from ses_webface.accounts.services import MAX_PASSWORD, MIN_PASSWORD

ROLES = (
    ("", "user: edits their own requirements"),
    ("manager", "manager: edits those of their VO, too"),
    ("admin", "administrator: edits all, and the site"),
)
_PASSWORD_RULE = f"At least {MIN_PASSWORD} characters."
SCOPES = (("all", "do everything you may do"), ("read", "read only"))


class _Within(NumberRange):  # type: ignore[misc]
    """A whole number between two bounds, also where it has more digits than a float can hold."""

    def __call__(self, form: Form, field: IntegerField) -> None:
        if field.data is not None and not self.min <= field.data <= self.max:
            raise ValidationError(self.message)
        super().__call__(form, field)


def _chosen_password(label: str, missing: str) -> PasswordField:
    length = Length(MIN_PASSWORD, MAX_PASSWORD, f"Use at least {MIN_PASSWORD} characters.")
    return PasswordField(label, [InputRequired(missing), length], description=_PASSWORD_RULE)


def _repeated_password(label: str) -> PasswordField:
    return PasswordField(label, [EqualTo("password", "The two do not match.")])


class SignInForm(FlaskForm):  # type: ignore[misc]
    """Name and password; ``next`` is where the person wanted to go."""

    name = StringField("User name", [InputRequired("Enter your user name.")])
    password = PasswordField("Password", [InputRequired("Enter your password.")])
    next = HiddenField()


class PasswordForm(FlaskForm):  # type: ignore[misc]
    """A change of one's own password."""

    current = PasswordField("Current password", [InputRequired("Enter your current password.")])
    password = _chosen_password("New password", "Enter a new password.")
    again = _repeated_password("New password, again")


class WelcomeForm(FlaskForm):  # type: ignore[misc]
    """The password, and of the first administrator the name, of who came by a link."""

    name = StringField("User name", [InputRequired("Enter your user name on the nodes.")])
    password = _chosen_password("Password", "Enter a password.")
    again = _repeated_password("Password, again")


class PersonForm(FlaskForm):  # type: ignore[misc]
    """Who somebody is: their VO and role, and for a further account the name.

    ``was_vo`` and ``was_role`` are what they were when the form was made.
    """

    name = StringField("User name", [InputRequired("Enter the user's name on the nodes.")])
    vo = StringField(
        "Virtual organisation",
        [
            Optional(),
            Regexp(rf"{VO.pattern}\Z", message=f"Use {VO_FORM}."),
        ],
    )
    role = SelectField("Role", choices=[SelectChoice(*role) for role in ROLES], default="")
    was_vo = HiddenField()
    was_role = HiddenField()


class TokenForm(FlaskForm):  # type: ignore[misc]
    """A token for a person's own scripts and machines."""

    name = StringField(
        "Name",
        [
            InputRequired("Enter a name."),
            Regexp(r"[A-Za-z0-9._-]{1,63}\Z", message="Use up to 63 letters, digits, dots and dashes."),
        ],
    )
    scope = SelectField("It may", choices=[SelectChoice(*scope) for scope in SCOPES], default="all")
    days = IntegerField("Days until it ends", [_Within(1, 3660, "Choose 1 to 3660 days.")], default=90)
