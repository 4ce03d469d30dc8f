"""The part of the selection service inside the process that keeps personal tokens."""

from collections.abc import Callable

from ses_client.errors import ConflictError, NotFoundError
from ses_client.messages.access import MadeToken, PersonalToken, PersonalTokens

DAY = 86400.0


class TokensInMemory:
    """``kept`` has each person's tokens by name; secrets are told once and not kept."""

    _clock: Callable[[], float]
    person: str

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, PersonalToken]] = {}
        super().__init__()

    def tokens(self) -> PersonalTokens:
        self._called()
        return PersonalTokens(user=self.person, shown=None, tokens=tuple(self._mine().values()))

    def make_token(self, name: str, scope: str, days: int) -> MadeToken:
        self._called()
        if name in self._mine():
            raise ConflictError(f"You have a token named {name!r}.", 409)
        now = self._clock()
        made = PersonalToken(name=name, scope=scope, made=now, ends=now + days * DAY, used=None)
        self._mine()[name] = made
        return MadeToken(**made, token=f"ses_secret-of-{self.person}-{name}")

    def revoke_token(self, name: str) -> PersonalTokens:
        self._called()
        if self._mine().pop(name, None) is None:
            raise NotFoundError(f"You have no token named {name!r}.")
        return self.tokens()

    def revoke_tokens(self) -> PersonalTokens:
        self._called()
        self.kept.pop(self.person, None)
        return self.tokens()

    def use(self, user: str, name: str) -> None:
        """Let a token have been used now."""
        self.kept[user][name] = self.kept[user][name].but(used=self._clock())

    def _mine(self) -> dict[str, PersonalToken]:
        return self.kept.setdefault(self.person, {})
