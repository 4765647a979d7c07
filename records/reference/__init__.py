"""The lists that records point into, and their seed."""
