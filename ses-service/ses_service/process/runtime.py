"""The parts of a running service, what they are made from, and how they start and stop."""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from flask import Flask, current_app

from ses_service.feeds.monitor_history import MonitorHistory
from ses_service.feeds.monitor_quotas import MonitorQuotas
from ses_service.feeds.monitor_reader import Observer, Seen
from ses_service.feeds.site_manager import SiteManager
from ses_service.knowledge.knowledge_base import KnowledgeBase
from ses_service.members.accounts import Accounts
from ses_service.members.homes import Membership
from ses_service.members.members_file import MembersFile
from ses_service.members.memberships import Home, Memberships
from ses_service.members.updater import Members
from ses_service.model.entities import Level
from ses_service.model.policies import Policies
from ses_service.process.files import Files
from ses_service.process.metrics import Metrics
from ses_service.process.placements import Placements
from ses_service.process.quotas import Quotas
from ses_service.process.readiness import Readiness
from ses_service.process.runs import Runs
from ses_service.process.space import Space
from ses_service.security.personal_tokens import PersonalTokens
from ses_service.security.sessions import Sessions
from ses_service.security.tokens import TokenFile
from ses_service.security.trust import Trust
from ses_service.state.state import NoEnvironmentError, ServiceState
from ses_service.store.acknowledged import StoredAnnouncements
from ses_service.store.journal import Journal
from ses_service.store.peers import Peers
from ses_service.store.records import RecordStore
from ses_service.store.turns import Turns
from ses_service.threads.foreground import Foreground
from ses_service.threads.loop import Loop

RUNTIME = "qstorman.runtime"

KEEP_FILES = 90 * 86400.0

_BREATH = 0.002  # seconds for decisions between two rounds of ends


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """What an application is made from.

    ``knowledge`` and ``monitor_url`` may be absent: the service then says so wherever it matters.
    ``portal_uid`` is the portal's user at the socket.  ``sessions`` are of those whom MUNGE knows,
    ``personal_tokens`` those that people made for themselves.
    ``prepare`` loads what the knowledge base must hold, before it is first read.  ``max_body`` is in
    bytes.  Without a ``store`` the ledger is in memory only.  By ``trust`` the monitor is verified.
    ``members`` is a members file; what is known by it is kept in ``members_state``, and what portals report
    of their accounts in ``accounts_state``, how elements fill in ``space_state``, quotas in ``quota_state``,
    and runs in the folder ``runs_state``.  What files received is kept for ``keep_files`` seconds.  ``wall``
    is the clock that tokens of an issuer end by, if it is another.
    """

    knowledge: KnowledgeBase | None = None
    knowledge_url: str | None = None
    prepare: Callable[[], None] | None = None
    monitor_url: str | None = None
    tokens: TokenFile | None = None
    sessions: Sessions | None = None
    personal_tokens: PersonalTokens | None = None
    trust_loopback: bool = False
    portal_uid: int | None = None
    policies: Policies = field(default_factory=Policies)
    store: RecordStore | None = None
    trust: Trust = field(default_factory=Trust)
    members: MembersFile | None = None
    members_state: Path | None = None
    accounts_state: Path | None = None
    space_state: Path | None = None
    quota_state: Path | None = None
    runs_state: Path | None = None
    max_body: int = 2**20
    keep_files: float = KEEP_FILES
    clock: Callable[[], float] = time.time
    wall: Callable[[], float] | None = None


class Runtime:
    """The parts of a running service.  ``instance`` distinguishes one start of the service from another."""

    def __init__(self, config: ServiceConfig) -> None:
        self.instance = secrets.token_hex(8)
        self.foreground = Foreground()
        self.members = None
        if config.members is not None:
            memberships = Memberships(config.members, config.members_state)
            self.members = Members(
                config.members, memberships, config.wall or config.clock, self._organisations
            )
        self.accounts = Accounts(config.accounts_state)
        self.membership = Membership(members=self._home)
        self.state = ServiceState(config.policies, config.clock, self.membership.homes, self.instance)
        self.site_manager = SiteManager(
            config.knowledge,
            self.state,
            config.clock,
            url=config.knowledge_url,
            prepare=config.prepare,
        )
        self.observer = Observer(
            config.monitor_url,
            self._take_observations,
            config.clock,
            between=self.foreground.wait_for_idle,
            trust=config.trust,
        )
        self.space = Space(config.space_state)
        self.past = MonitorHistory(config.monitor_url, config.trust)
        self.quotas = Quotas(
            MonitorQuotas(config.monitor_url, config.trust), config.clock, config.quota_state
        )
        ledger = self.state.ledger
        self.journal: Journal | None = None
        self.others: Peers | None = None
        self.turns: Turns | None = None
        self.acknowledged = StoredAnnouncements()
        store = config.store
        if store is not None:
            self.journal = journal = Journal(ledger, store, keep_files=config.keep_files, now=config.clock)
            self.acknowledged = StoredAnnouncements(journal.mark, lambda: journal.stored)
            if store.database.shared:
                self.others = Peers(ledger, store, journal, config.clock)
                self.turns = Turns(store.database, self.others, journal)
        self.placements = Placements(self.state, store, self.journal)
        self.files = Files(self.state, self.placements, None if store is None else store.files, self.journal)
        own = config.trust.own
        self.readiness = Readiness(
            self.state,
            self.site_manager,
            self.observer,
            self.journal,
            self.others,
            self.members,
            None if own is None else own.certificate,
            config.wall or config.clock,
        )
        self.metrics = Metrics(self.readiness)
        self.personal_tokens = config.personal_tokens or PersonalTokens(None, config.clock)
        self.runs = Runs(config.runs_state, config.clock)
        steps = {
            "quotas": self.quotas.step,
            "housekeeping": self._expire,
            "membership": self.membership.step,
            "personal tokens": self.personal_tokens.write_uses,
        }
        if config.knowledge is not None:
            steps["environment"] = self.site_manager.step
        self._loops = [Loop(name, step) for name, step in steps.items()]

    def start(self) -> None:
        """Start reading the database, the knowledge base and the monitor, and ending leases that ran out.

        Raises DatabaseUrlError when the database can never be used.
        """
        if self.journal is not None:
            self.journal.start()
        self.observer.start()
        for loop in self._loops:
            loop.start()
        if self.members is not None:
            self.members.start()
        if self.others is not None and self.turns is not None:
            self.others.start()
            self.turns.start()

    def stop(self) -> None:
        """Stop all of it."""
        if self.others is not None and self.turns is not None:
            self.turns.stop()
            self.others.stop()
        if self.members is not None:
            self.members.stop()
        for loop in self._loops:
            loop.stop()
        self.personal_tokens.write_uses()
        self.observer.stop()
        if self.journal is not None:
            self.journal.stop()

    def notes(self) -> list[str]:
        """Return what a person reading a decision should know about its sources."""
        now = self.state.now()
        journal = [] if self.journal is None else self.journal.notes()
        members = [] if self.members is None else self.members.notes()
        return [*self.site_manager.notes(now), *self.observer.notes(now), *journal, *members]

    def notes_on(self, vo: str | None) -> list[str]:
        """Return what a person who names an organisation should know of it: that there is none."""
        known = None if vo is None else self._organisations()
        if vo is None or known is None or vo in known:
            return []
        near = get_close_matches(vo, sorted(known), 1)
        hint = f": did you mean {near[0]}?" if near else "."
        return [f"Neither the site nor a requirement set has a VO {vo}{hint}"]

    def _take_observations(self, seen: Seen) -> None:
        self.state.take_observations(
            seen.observations, self.foreground.wait_for_idle, seen.window, seen.average_window
        )
        self.space.take(seen.observations, self.state.now())

    def _home(self, user: str) -> Home | None:
        """Return the VO of a user by the members file, else by the account of a portal."""
        home = None if self.members is None else self.members.home(user)
        return home or self.accounts.home(user)

    def _organisations(self) -> frozenset[str] | None:
        """Return the organisations there are, by site and requirements; ``None`` before they are read."""
        try:
            described = self.state.environment.organisations
        except NoEnvironmentError:
            return None
        return described | {name for level, name in self.state.sets if level is Level.VO}

    def _expire(self) -> float:
        self.foreground.wait_for_idle()
        if self.state.expire():
            return _BREATH
        self.state.grow_old()
        if self.journal is None:
            self.state.ledger.learn()
        return 1.0


def runtime(app: Flask | None = None) -> Runtime:
    """Return the runtime of an application, by default of the one that serves this request."""
    parts: Runtime = (app or current_app).extensions[RUNTIME]
    return parts
