"""Commands of the operations room."""
