"""Generic checks over every operation row; a new row is covered before anyone writes a test for it."""
