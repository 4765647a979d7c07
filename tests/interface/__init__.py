"""Generic checks over every operation; a new one is covered before anyone writes a test for it."""
