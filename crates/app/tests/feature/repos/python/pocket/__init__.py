"""A ledger for pocket money in one plain text file."""
