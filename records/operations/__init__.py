"""The HTTP door of the JSON interface; it holds no models."""
