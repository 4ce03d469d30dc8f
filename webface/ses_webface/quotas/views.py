"""The quotas page: everybody sees their own and their VO's, administrators all."""

from flask import Blueprint, render_template, request

from ses_webface.portal import person, service

blueprint = Blueprint("quotas", __name__, url_prefix="/quotas")
PAGE = 50
SOON_DAYS = 30.0
_MAX_PAGES = 10_000


@blueprint.get("")
def overview() -> str:
    """Show some quotas, those that are used up first before the others."""
    text = request.args.get("page", "")
    is_number = text.isascii() and text.isdecimal() and len(text) < 19  # int() refuses thousands of digits
    page = min(_MAX_PAGES, max(1, int(text))) if is_number else 1
    system = request.args.get("system") or None
    user = None if person().is_admin else person().name
    quotas = service().quotas(user=user, system=system, offset=(page - 1) * PAGE, limit=PAGE)
    return render_template(
        "quotas/overview.html",
        quotas=quotas,
        system=system,
        page=page,
        page_count=max(1, -(-quotas.total // PAGE)),
        soon_days=SOON_DAYS,
    )
