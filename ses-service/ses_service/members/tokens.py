"""Who sends a token that an OIDC issuer signed, and which organisation its claims stand for.

Checks signature, issuer, audience and times with keys that are known already, and asks nobody.  So a token
that the issuer withdrew counts until it expires.  Tokens of symmetric or no signature are never accepted.
"""

from collections.abc import Callable, Mapping
from typing import Any

import jwt
from ses_client.names import user_of

from ses_service.members.issuer import Keys
from ses_service.members.members_file import Issuer

_MAX_TOKEN = 16 * 1024
_LEEWAY = 60
_VALUES = 10_000


class TokenError(Exception):
    """The token is not accepted; the message says why, and is safe to be shown to who sent it."""


class Tokens:
    """Reads tokens of one issuer.

    ``show`` is called with each: the user, the place of the first rule that fits (``None``: the claims are
    there and fit none), until when that counts, and the time.
    """

    def __init__(
        self,
        settings: Issuer,
        keys: Keys,
        clock: Callable[[], float],
        show: Callable[[str, int | None, float, float], None],
    ) -> None:
        self._settings = settings
        self._keys = keys
        self._clock = clock
        self._show = show

    def user(self, token: str) -> str:
        """Return whose token this is.  Raises TokenError."""
        claims = self._claims(token)
        user = user_of(_at(claims, self._settings.user_claim), self._settings.user_domain)
        if user is None:
            of = f" of {self._settings.user_domain}" if self._settings.user_domain else ""
            raise TokenError(f"its claim {self._settings.user_claim} is no user's name{of}")
        now = self._clock()
        values_of_rules = [
            (place, rule, values_of(claims, rule.claim)) for place, rule in enumerate(self._settings.rules)
        ]
        if any(values is not None for _place, _rule, values in values_of_rules):
            fitting = (place for place, rule, values in values_of_rules if any(map(rule.fits, values or ())))
            until = now + self._settings.keep if self._settings.keep else float(claims["exp"])
            self._show(user, next(fitting, None), until, now)
        return user

    def _claims(self, token: str) -> Mapping[str, Any]:
        settings = self._settings
        if len(token) > _MAX_TOKEN:
            raise TokenError("it is too large")
        try:
            header = jwt.get_unverified_header(token)
            algorithm, name = header.get("alg"), header.get("kid")
            if algorithm not in settings.algorithms:
                raise TokenError(f"it must be signed with {' or '.join(settings.algorithms)}")
            key = self._keys.find(name if isinstance(name, str) else None)
            if key is None:
                raise TokenError("the key it is signed with is not known (yet); try again in some seconds")
            claims: dict[str, Any] = jwt.decode(
                token,
                key.key,
                algorithms=[algorithm],
                audience=settings.audience,
                issuer=settings.issuer,
                leeway=_LEEWAY,
                options={"require": ["exp", "iss", "aud"]},
            )
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
            raise TokenError(str(error)[:200].rstrip(".") or "it cannot be read") from None
        return claims


def values_of(claims: Mapping[str, Any], name: str) -> list[str] | None:
    """Return the texts of a claim, which may be one or a list; ``None`` when it is not there."""
    claim = _at(claims, name)
    if claim is None:
        return None
    listed = claim if isinstance(claim, list) else [claim]
    return [value for value in listed[:_VALUES] if isinstance(value, str)]


def _at(claims: Mapping[str, Any], name: str) -> Any:
    """Return a claim by its name or, within others, by names with dots between."""
    if name in claims:
        return claims[name]
    claim: Any = claims
    for part in name.split("."):
        claim = claim.get(part) if isinstance(claim, dict) else None
    return claim
