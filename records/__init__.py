"""The records rooms: history, sites, reference lists, accounts, the HTTP door, the back-office and one app per endpoint."""
