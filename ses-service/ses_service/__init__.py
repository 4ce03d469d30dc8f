"""The selection service: resolves requirements, predicts, ranks, keeps the ledger, explains."""
