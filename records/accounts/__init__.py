"""Who calls: users, roles, directories and credentials."""
