"""How long records are kept at least, and legal holds, which keep a consumer's identity from being erased."""
