"""Management of the stored files."""
