"""Forms of accounts."""

from __future__ import annotations

from flask_wtf import FlaskForm  # type: ignore[import-untyped]
from wtforms import HiddenField, PasswordField, StringField  # type: ignore[import-untyped]
from wtforms.validators import EqualTo, InputRequired, Length  # type: ignore[import-untyped]

from ses_webface.accounts.services import MAX_PASSWORD, MIN_PASSWORD


class SignInForm(FlaskForm):  # type: ignore[misc]
    """Name and password; ``next`` is where the person wanted to go."""

    name = StringField("User name", [InputRequired("Enter your user name.")])
    password = PasswordField("Password", [InputRequired("Enter your password.")])
    next = HiddenField()


class PasswordForm(FlaskForm):  # type: ignore[misc]
    """A change of one's own password."""

    current = PasswordField("Current password", [InputRequired("Enter your current password.")])
    password = PasswordField(
        "New password",
        [
            InputRequired("Enter a new password."),
            Length(MIN_PASSWORD, MAX_PASSWORD, f"Use at least {MIN_PASSWORD} characters."),
        ],
    )
    again = PasswordField("New password, again", [EqualTo("password", "The two do not match.")])
