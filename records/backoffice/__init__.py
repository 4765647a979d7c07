"""What every back-office page builds on."""
