"""What was spent: trials, the ledger, and totals as a fold over it."""
