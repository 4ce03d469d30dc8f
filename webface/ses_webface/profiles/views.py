"""Pages of profiles: all of them, and one with what files got of what was predicted."""

from flask import Blueprint, abort, render_template

from ses_webface.portal import person, service, vocabulary, words
from ses_webface.profiles.services import OTHERS, by_owner, takers, uses

blueprint = Blueprint("profiles", __name__, url_prefix="/profiles")


@blueprint.get("")
def overview() -> str:
    """List the profiles, with the sets of the reader's that take each up."""
    owners = by_owner(vocabulary().profiles, person())
    return render_template(
        "profiles/overview.html", profiles=owners, others=OTHERS, takers=takers(service(), person())
    )


@blueprint.get("/<name>")
def show(name: str) -> str:
    """Show a profile: the run it was measured in, what it requires, and predicted against measured."""
    profile = words().profile(name)
    if profile is None:
        abort(404)
    return render_template(
        "profiles/profile.html",
        profile=profile,
        uses=uses(service(), person(), profile),
    )
