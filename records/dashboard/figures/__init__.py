"""The figures of the start page, and how their charts are drawn."""
