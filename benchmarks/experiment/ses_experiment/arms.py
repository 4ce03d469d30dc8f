"""Arms: the ways of placing files that are compared, side by side in every round."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from ses_client.errors import UsageError

PRODUCT = "default"
UNION_POLICIES = ("rand", "pfrd", "mfs", "lus")


@dataclass(frozen=True, slots=True)
class Arm:
    """One way of placing files.

    ``agent`` are further options of the agent whose users run under the library; ``None``: without the
    library, so that the union places by ``policy``.
    """

    name: str
    agent: tuple[str, ...] | None = None
    policy: str = "rand"

    @property
    def supported(self) -> bool:
        """True when programs run under the library."""
        return self.agent is not None


def parse_arms(texts: Sequence[str]) -> tuple[Arm, ...]:
    """Return the arms that texts name; raises UsageError.

    A text is a list, separated by commas, of ``default`` (the product as it comes) and policies of the
    union, or ``NAME=OPTIONS``: the product with these further options of the agent.
    """
    arms: list[Arm] = []
    for text in texts:
        name, equals, options = text.partition("=")
        if equals:
            arms.append(Arm(_plain(name), agent=agent_options(options)))
        else:
            arms += [_known(name.strip()) for name in text.split(",") if name.strip()]
    names = [arm.name for arm in arms]
    if not names or len(set(names)) < len(names):
        raise UsageError(f"Name at least one arm, and each once: {', '.join(names) or 'none was named'}.")
    return tuple(arms)


def agent_options(text: str) -> tuple[str, ...]:
    """Return options of the agent as a shell would read them; raises UsageError."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"{text} is no list of options: {error}.") from None


def _known(name: str) -> Arm:
    if name == PRODUCT:
        return Arm(PRODUCT, agent=())
    if name in UNION_POLICIES:
        return Arm(name, policy=name)
    raise UsageError(
        f"{name} is no arm. Known are {PRODUCT}, {', '.join(UNION_POLICIES)}, and NAME=OPTIONS with options "
        "of the agent."
    )


def _plain(name: str) -> str:
    if not name.isascii() or not name.replace("-", "").isalnum() or name in (PRODUCT, *UNION_POLICIES):
        raise UsageError(f"An arm cannot be called {name!r}: take letters, digits and -, and no known name.")
    return name
