"""What staff see across entities: start page, charts, search, inbox, profile, the demo."""
