"""Reports to the selection service which VO each account is of, and whose tokens end.

Looks every half minute, and reports what changed at once and all VOs again every five minutes: a service
that was restored or replaced would otherwise not know.  A service that is away gets it later; nobody waits.
"""

import threading
import time
from collections.abc import Callable

import structlog
from ses_client.client import ServiceClient
from ses_client.errors import SesError
from ses_client.names import VO
from sqlalchemy.exc import SQLAlchemyError

from ses_webface.accounts.revocations import RevocationService
from ses_webface.accounts.services import AccountService

_log = structlog.get_logger("ses_webface")

_PAUSE = 30.0
_AGAIN = 300.0


class AccountSync:
    """``step`` looks once; ``start`` does so again and again in a thread.  ``ticks`` are seconds."""

    def __init__(
        self,
        accounts: AccountService,
        selection: ServiceClient,
        revocations: RevocationService,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._accounts = accounts
        self._selection = selection
        self._revocations = revocations
        self._ticks = ticks
        self._reported: dict[str, str] | None = None
        self._reported_at = 0.0
        self._failure = ""

    def start(self) -> None:
        """Begin, in a thread that ends with the process."""
        threading.Thread(target=self._run, name="accounts", daemon=True).start()

    def step(self) -> None:
        """Report what is to be reported.  What fails is logged, once, and tried again by the next step.

        Neither of the two waits for the other.
        """
        failures = []
        for report in (self._end_tokens, self._report):
            try:
                report()
            except (SesError, SQLAlchemyError) as error:
                failures.append(str(error))
        failure = "; ".join(dict.fromkeys(failures))
        if failure and failure != self._failure:
            _log.warning("accounts and revocations not reported", detail=failure)
        self._failure = failure

    def _end_tokens(self) -> None:
        self._revocations.end_unseen()
        self._revocations.settle()

    def _report(self) -> None:
        homes = {account.name: account.vo for account in self._accounts.everybody() if account.vo}
        reported = {name: vo for name, vo in homes.items() if VO.fullmatch(vo)}
        if reported == self._reported and self._ticks() - self._reported_at < _AGAIN:
            return
        self._selection.send_accounts(reported)
        left_out = sorted(homes.keys() - reported.keys())
        if left_out and reported != self._reported:
            _log.warning("no name of an organisation", accounts=left_out[:10], count=len(left_out))
        self._reported, self._reported_at = reported, self._ticks()

    def _run(self) -> None:
        while True:
            self.step()
            time.sleep(_PAUSE)
