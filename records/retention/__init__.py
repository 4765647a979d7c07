"""How long records are kept at least, and legal holds, which keep personal data from being erased."""
