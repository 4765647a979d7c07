"""The HTTP layer of the JSON interface, apart from the endpoints themselves."""
