"""The state of the selection service: records and counts of its ledger, which ``libses/state`` holds."""
