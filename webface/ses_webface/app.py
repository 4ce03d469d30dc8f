"""Makes the portal's application; nothing happens at import."""

import time
from collections.abc import Callable

from argon2 import PasswordHasher
from flask import Flask, Response, redirect, request, url_for
from ses_client.client import ServiceClient
from werkzeug.middleware.proxy_fix import ProxyFix

from ses_webface import help as help_page
from ses_webface import pages, probes
from ses_webface.accounts import administration, tokens, welcome
from ses_webface.accounts import views as accounts
from ses_webface.accounts.identities import IdentityService
from ses_webface.accounts.links import LinkService
from ses_webface.accounts.oidc import OidcSignIn, provider_of
from ses_webface.accounts.revocations import RevocationService
from ses_webface.accounts.services import AccountService
from ses_webface.accounts.sessions import SessionService
from ses_webface.database import Database
from ses_webface.files import views as files
from ses_webface.health import views as health
from ses_webface.history import views as history
from ses_webface.metrics import Metrics
from ses_webface.portal import Portal, portal
from ses_webface.profiles import views as profiles
from ses_webface.quotas import views as quotas
from ses_webface.requirements import views as requirements
from ses_webface.runs import views as runs
from ses_webface.settings import Settings, prepare_state_dir, secret_key, service_address
from ses_webface.storage import changing as element_changes
from ses_webface.storage import views as storage
from ses_webface.web_security import protect


def create_app(
    settings: Settings,
    *,
    selection: ServiceClient | None = None,
    clock: Callable[[], float] = time.time,
    hasher: PasswordHasher | None = None,
) -> Flask:
    """Return the application; its database is brought up to date.

    ``selection`` stands in for the service at ``settings.service_url``.  Raises StartError, and
    NotAllowedError for a token that cannot be used.
    """
    prepare_state_dir(settings.state_dir)
    database = Database(settings.database_url)
    database.upgrade()
    metrics = Metrics()
    app = Flask("ses_webface")
    provider = None if settings.members is None else provider_of(settings.members, settings.oidc_secret_file)
    people = AccountService(database, clock, hasher)
    selection = selection or ServiceClient(
        service_address(settings),
        settings.service_deadline_seconds,
        long_seconds=max(60.0, settings.service_deadline_seconds),
        shows_address=False,
        observe=metrics.service_call,
    )
    app.extensions["ses_webface"] = Portal(
        database=database,
        accounts=people,
        links=LinkService(database, people, clock),
        identities=IdentityService(database, people, clock),
        revocations=RevocationService(database, selection, clock),
        oidc=None if provider is None else OidcSignIn(app, provider),
        sessions=SessionService(database, clock),
        selection=selection,
        metrics=metrics,
        clock=clock,
    )
    if settings.behind_proxy:
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=1, x_proto=1, x_host=1, x_prefix=1)  # type: ignore[method-assign]
    protect(app, secret_key(settings.state_dir))
    pages.register(app)
    features = (
        accounts,
        welcome,
        tokens,
        administration,
        requirements,
        profiles,
        storage,
        element_changes,
        files,
        runs,
        history,
        health,
        quotas,
        help_page,
    )
    for feature in features:
        app.register_blueprint(feature.blueprint)
    app.register_blueprint(probes.blueprint)
    app.add_url_rule("/", "home", lambda: redirect(url_for("requirements.overview")))
    app.after_request(_count)
    return app


def _count(response: Response) -> Response:
    if request.endpoint != "static":
        portal().metrics.requests.labels(request.endpoint or "none", str(response.status_code)).inc()
    return response
