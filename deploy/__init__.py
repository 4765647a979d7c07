"""How Larder is deployed, and the drill that tries it."""
