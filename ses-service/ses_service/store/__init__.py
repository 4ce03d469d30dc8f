"""The database behind the ledger: what a restart must find again.

SQLite by default, PostgreSQL by URL.  Nothing here is asked while a decision is made:
:mod:`ses_service.store.journal` writes behind, and what cannot be written stays in memory.  Modules are
imported one by one: the process that writes needs few of them.
"""
