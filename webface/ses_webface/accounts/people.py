"""Who is signed in, as views see them."""

from dataclasses import dataclass

from ses_webface.accounts.models import NO_PASSWORD, Account


@dataclass(frozen=True, slots=True)
class Person:
    """One account, without its password."""

    id: int
    name: str
    vo: str | None
    is_admin: bool
    is_manager: bool = False
    has_password: bool = True

    @property
    def role(self) -> str:
        """What they may do, in words; empty for what everybody may."""
        if self.is_admin:
            return "administrator"
        return f"manager of VO {self.vo}" if self.is_manager else ""

    @property
    def managed_vo(self) -> str | None:
        """The VO whose requirements this person edits and whose files they see, if there is one."""
        return self.vo if self.is_manager else None


def person_of(account: Account) -> Person:
    """Return whose account this is."""
    return Person(
        account.id,
        account.name,
        account.vo,
        account.is_admin,
        account.is_manager,
        account.password_hash != NO_PASSWORD,
    )
