"""Why a requirement applies: kind by kind, all that is stated, with what the service says of each."""

from dataclasses import dataclass

from ses_client.messages.requirements import LEVELS, Effective, ResolvedRequirement
from ses_client.messages.vocabulary import Kind, Vocabulary


@dataclass(frozen=True, slots=True)
class Statement:
    """One requirement somebody stated, and why it does not count; empty: it applies."""

    requirement: ResolvedRequirement
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """One kind: what applies (None: nothing) and every statement of it, most particular level first.

    ``kind`` is None for one that is not described any more.
    """

    name: str
    kind: Kind | None
    applying: ResolvedRequirement | None
    statements: tuple[Statement, ...]


def explain(effective: Effective, vocabulary: Vocabulary) -> tuple[Explanation, ...]:
    """Explain every kind that applies or is passed over."""
    applying = {requirement.kind: requirement for requirement in effective.requirements}
    stated: dict[str, list[Statement]] = {
        kind: [Statement(requirement)] for kind, requirement in applying.items()
    }
    for passed in effective.passed_over:
        stated.setdefault(passed.kind, []).append(Statement(passed, passed.reason))
    names = sorted(stated, key=lambda name: (vocabulary.rank(name), name))
    return tuple(
        Explanation(name, vocabulary.kind(name), applying.get(name), tuple(sorted(stated[name], key=_place)))
        for name in names
    )


def _place(statement: Statement) -> tuple[int, bool]:
    level = statement.requirement.level
    return LEVELS.index(level) if level in LEVELS else -1, statement.requirement.profile is not None
