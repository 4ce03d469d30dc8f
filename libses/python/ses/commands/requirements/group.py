"""``ses requirements``: look at requirement sets and replace them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import click
from rich.console import Console
from ses_client.client import ServiceClient
from ses_client.errors import NotFoundError, UsageError
from ses_client.messages.requirements import RequirementSet, RequirementSets, Subject

from ses.columns import Column
from ses.commands.decision import origin
from ses.commands.examples import examples
from ses.commands.groups import WholeSentences
from ses.commands.options import service_command, subject_options
from ses.commands.requirements.derive import derive
from ses.commands.requirements.storing import LEVELS
from ses.commands.requirements.suggest import suggest
from ses.output import console, line, print_json, say, table
from ses.quantities import make_requirement, requirements_in, written


@click.group(cls=WholeSentences)
def requirements() -> None:
    """What users, applications, VOs and the site need from storage.

    Levels and names: application USER:PROGRAM, user USER, vo VO, site default.  Kind by kind, the
    first of these that says something holds.
    """


@requirements.command(epilog=examples("ses requirements get user alice"))
@click.argument("level", required=False, type=click.Choice(LEVELS))
@click.argument("name", required=False)
@click.option("--user", help="All sets that can apply to this user.")
@service_command
def get(client: ServiceClient, as_json: bool, level: str | None, name: str | None, user: str | None) -> None:
    """Show one set (LEVEL NAME), those that can apply to a user, or all."""
    if level is not None:
        if name is None or user is not None:
            raise UsageError("Give LEVEL and NAME, like: ses requirements get user alice (or only --user).")
        stored: RequirementSet | RequirementSets = client.requirement_set(level, name)
    else:
        stored = client.requirement_sets(user)
    if as_json:
        print_json(stored)
    else:
        _show_sets(console(), stored.sets if isinstance(stored, RequirementSets) else [stored])


@requirements.command(epilog=examples("ses requirements effective --user alice --application dd"))
@subject_options
@service_command
def effective(client: ServiceClient, as_json: bool, subject: Subject) -> None:
    """Show what holds for a user's application, and which level each requirement came from.

    Says, too, by what the user belongs to a VO (docs/members.md), and what is stated besides and does not
    count: a more particular level says something else, or it is not its time.
    """
    answer = client.effective(subject)
    if as_json:
        print_json(answer)
        return
    out = console()
    if answer.subject.vo and answer.vo_from:
        line(out, f"{subject.user} belongs to {answer.subject.vo} (by {answer.vo_from}).")
    if answer.requirements:
        table(
            out,
            ("requirement", "from"),
            [[written(requirement), origin(requirement)] for requirement in answer.requirements],
        )
    else:
        line(out, "No requirement applies.")
    if answer.passed_over:
        line(out, "Stated, too, and not counting:")
        rows = [
            [written(requirement), origin(requirement), requirement.reason]
            for requirement in answer.passed_over
        ]
        table(out, ("requirement", "from", "because"), rows)
    for note in answer.notes:
        line(out, f"Note: {note}", "yellow")


@requirements.command(
    name="set",
    epilog=examples(
        "ses requirements set user alice 'current-write-rate>=20MB/s'",
        "ses requirements set application alice:dd 'free-capacity>=100GB,hard'",
        "ses requirements set user alice --profile checkpoint",
    ),
)
@click.argument("level", type=click.Choice(LEVELS))
@click.argument("name")
@click.argument("requirement", nargs=-1)
@click.option("--kind", help="Instead of REQUIREMENT: its kind,")
@click.option("--minimum", metavar="QUANTITY", help="its minimum, like 20MB/s or 2GB,")
@click.option("--weight", type=float, help="its weight, and")
@click.option("--hard", is_flag=True, help="whether elements that miss it are refused.")
@click.option("--profile", help="Take up this profile: what it requires holds for all other kinds.")
@click.option("--clear", is_flag=True, help="Remove all requirements of this set.")
@service_command
def set_command(
    client: ServiceClient,
    as_json: bool,
    level: str,
    name: str,
    requirement: tuple[str, ...],
    kind: str | None,
    minimum: str | None,
    weight: float | None,
    hard: bool,
    profile: str | None,
    clear: bool,
) -> None:
    """Replace all requirements of a set and its profile; shows what it was and what it is.

    REQUIREMENT is KIND>=MINIMUM[,hard][,weight=N][,from=TIME][,until=TIME].  See: ses requirements
    kinds.
    """
    wanted = requirements_in(requirement)
    if (kind is None) != (minimum is None):
        raise UsageError("--kind and --minimum go together, like: --kind free-capacity --minimum 2GB.")
    if kind is not None and minimum is not None:
        wanted.append(make_requirement(kind, minimum, weight, "hard" if hard else "soft"))
    if clear == bool(wanted or profile):
        raise UsageError(
            "Give at least one requirement or a --profile, or --clear to remove all of this set (not both)."
        )
    old = client.requirement_set(level, name)
    new = client.replace_requirements(level, name, wanted, revision=old.revision, profile=profile)
    if as_json:
        print_json({"old": old, "new": new})
    else:
        _show_change(console(), old, new)


@requirements.command(epilog=examples("ses requirements kinds"))
@service_command
def kinds(client: ServiceClient, as_json: bool) -> None:
    """Show what can be required, in which units, and the profiles there are."""
    known = client.vocabulary()
    if as_json:
        print_json(known)
        return
    out = console()
    rows = [
        [kind.kind, "at most" if kind.at_most else "at least", " ".join(kind.units), kind.definition]
        for kind in known.kinds
    ]
    table(out, ("kind", "bound", "units", "meaning"), rows)
    rows = [
        [entry.profile, entry.definition, "\n".join(written(item) for item in entry.requirements)]
        for entry in known.profiles
    ]
    table(out, ("profile", "meaning", "requires"), rows)


@requirements.command(epilog=examples("ses requirements profile checkpoint"))
@click.argument("name")
@service_command
def profile(client: ServiceClient, as_json: bool, name: str) -> None:
    """Print what a profile requires on one line, as SES_REQUIRE and --storage of Slurm take it."""
    vocabulary = client.vocabulary()
    known_profile = vocabulary.profile(name)
    if known_profile is None:
        known = ", ".join(entry.profile for entry in vocabulary.profiles)
        raise NotFoundError(f"There is no profile {name!r}. Profiles are: {known}.")
    if as_json:
        print_json(
            {
                "profile": name,
                "requirements": [requirement.as_json() for requirement in known_profile.requirements],
            }
        )
    else:
        say(" ".join(written(requirement) for requirement in known_profile.requirements))


requirements.add_command(derive)
requirements.add_command(suggest)


def _show_sets(out: Console, sets: Sequence[RequirementSet]) -> None:
    rows = []
    for stored in sets:
        changed = ""
        if stored.modified_at is not None:
            when = datetime.fromtimestamp(stored.modified_at)
            changed = f"{when:%Y-%m-%d %H:%M:%S} by {stored.modified_by or '?'}"
        texts = [f"profile {stored.profile}"] if stored.profile else []
        texts = [*texts, *(written(item) for item in stored.requirements)] or ["nothing"]
        rows.append([stored.level, stored.name, "\n".join(texts), str(stored.revision), changed])
    if not rows:
        line(out, "No requirements are set.")
        return
    headers = (
        Column("level"),
        Column("name", path=True),
        Column("requirement"),
        Column("revision", right=True),
        Column("changed", wraps=True),
    )
    table(out, headers, rows)


def _show_change(out: Console, old: RequirementSet, new: RequirementSet) -> None:
    before = {requirement.kind: written(requirement) for requirement in old.requirements}
    after = {requirement.kind: written(requirement) for requirement in new.requirements}
    for lines, requirement_set in ((before, old), (after, new)):
        if requirement_set.profile:
            lines["profile"] = f"profile {requirement_set.profile}"
    line(out, f"{new.level} {new.name}, revision {old.revision} -> {new.revision}")
    for kind in sorted(before | after):
        was, now = before.get(kind, "not set"), after.get(kind, "removed")
        line(out, f"  {now}  (as before)" if was == now else f"  {was}  ->  {now}")
    if not before and not after:
        line(out, "  nothing was set, and nothing is")
