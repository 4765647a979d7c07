"""The drill: a whole production installation on one machine, and what may go wrong with it."""
