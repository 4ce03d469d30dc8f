"""Signing in at the site's OIDC provider: the one of the table [oidc] in the service's members file.

The audience of that table is the portal's client id, so that the service believes the same token: it is shown
to it once, and the service learns by its own rules of which VO the person is.  The portal keeps no token.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from flask import Flask, session, url_for
from ses_client.errors import SesError
from ses_client.names import user_of
from ses_client.text_files import read_toml

from ses_webface.errors import StartError, WebfaceError
from ses_webface.settings import private_bytes

if TYPE_CHECKING:
    from werkzeug.wrappers import Response

MAX_SUBJECT = 255  # characters (OpenID Connect Core 1.0, 2)
_SECONDS = 5
_CLIENT = "site"
_MAX_BEGUN = 3  # tabs
_DISCOVERY = "/.well-known/openid-configuration"
_HERE = ("localhost", "127.0.0.1", "::1")


class ProviderError(WebfaceError):
    """The provider let nobody in, or cannot be asked; the sentence says why."""


@dataclass(frozen=True, slots=True)
class Provider:
    """Who signs people in; ``user_claim`` has the user's name on the nodes, for a new account only.

    With a ``user_domain`` it has NAME@DOMAIN.

    Without a ``secret`` the portal is a public client.
    """

    issuer: str
    client_id: str
    user_claim: str
    user_domain: str | None = None
    ca_file: Path | None = None
    secret: str | None = None

    @property
    def host(self) -> str:
        """What people know it by."""
        return urlsplit(self.issuer).hostname or self.issuer


def provider_of(members: Path, secret_file: Path | None) -> Provider:
    """Return the provider a members file names; raises StartError."""
    try:
        table = read_toml(members).get("oidc")
    except SesError as error:
        raise StartError(f"The members file cannot be read: {error}") from error
    if not isinstance(table, Mapping):
        raise StartError(f"The members file {members} has no table [oidc], so nobody can sign in by it.")
    issuer, audience = table.get("issuer"), table.get("audience")
    if not isinstance(issuer, str) or not isinstance(audience, str):
        raise StartError(f"The table [oidc] of {members} needs an issuer and an audience.")
    url = urlsplit(issuer)
    if url.scheme != "https" and not (url.scheme == "http" and url.hostname in _HERE):
        raise StartError(f"The issuer {issuer} must be https: passwords are typed there.")
    ca_file = table.get("ca_file")
    secret = None
    if secret_file is not None:
        secret = private_bytes(secret_file, "client secret").decode("utf-8-sig").strip()
    return Provider(
        issuer.rstrip("/"), audience, str(table.get("user_claim") or "preferred_username"),
        str(table["user_domain"]) if table.get("user_domain") else None,
        members.parent / str(ca_file) if ca_file else None, secret,
    )  # fmt: skip


class OidcSignIn:
    """Sends browsers to the provider, and reads what they bring back."""

    def __init__(self, app: Flask, provider: Provider) -> None:
        from authlib.integrations.flask_client import OAuth  # type: ignore[import-untyped]

        self.provider = provider
        self._client: Any = OAuth(app).register(
            _CLIENT,
            client_id=provider.client_id,
            client_secret=provider.secret,
            server_metadata_url=provider.issuer + _DISCOVERY,
            client_kwargs={
                "scope": "openid profile",
                "code_challenge_method": "S256",
                "verify": str(provider.ca_file) if provider.ca_file else True,
                "default_timeout": _SECONDS,
                **({} if provider.secret else {"token_endpoint_auth_method": "none"}),
            },
        )

    def begin(self) -> Response:
        """Return the way to the provider; raises ProviderError."""
        _forget_attempts()
        try:
            self._check_issuer()
            sent: Response = self._client.authorize_redirect(url_for("accounts.oidc_back", _external=True))
        except ProviderError:
            raise
        except Exception as error:  # of requests, of JSON, of Authlib: all say that it cannot be asked
            raise ProviderError(f"{self.provider.host} does not answer. Try again later.") from error
        return sent

    def finish(self) -> tuple[str, str, str]:
        """Return subject and name of who came back, and the token that says so; raises ProviderError.

        State, nonce, signature, issuer, audience and times are checked.
        """
        try:
            self._check_issuer()
            token = self._client.authorize_access_token()
            claims = token["userinfo"]
            claim = claims.get(self.provider.user_claim)
            name = user_of(claim, self.provider.user_domain)
            subject = claims.get("sub")
        except ProviderError:
            raise
        except Exception as error:  # also of joserfc: whatever is wrong with it, it is not believed
            raise ProviderError(f"{self.provider.host} did not sign you in. Try again.") from error
        if name is None:
            of = f", a user of {self.provider.user_domain}" if self.provider.user_domain else ""
            says = "does not say who you are"
            if claim:
                says = f"says you are “{str(claim)[:80]}”, which cannot be an account's name"
            raise ProviderError(f"{self.provider.host} {says} here (claim {self.provider.user_claim}{of}).")
        if not isinstance(subject, str) or not 0 < len(subject) <= MAX_SUBJECT:
            raise ProviderError(f"{self.provider.host} does not say who you are there (claim sub).")
        return subject, name, str(token["id_token"])

    def _check_issuer(self) -> None:
        named = str(self._client.load_server_metadata().get("issuer", "")).rstrip("/")
        if named != self.provider.issuer:
            raise ProviderError(f"{self.provider.host} calls itself {named}: it is not believed.")


def _forget_attempts() -> None:
    """Forget all but the last ways to the provider: browsers drop a cookie that is longer than they keep."""
    begun = [name for name in session if name.startswith(f"_state_{_CLIENT}_")]
    for name in sorted(begun, key=lambda key: session[key]["exp"])[: 1 - _MAX_BEGUN]:
        session.pop(name)
