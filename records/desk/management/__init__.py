"""Commands of the desk room."""
