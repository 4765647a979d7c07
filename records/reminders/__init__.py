"""What people are reminded of by mail, once a day: gathered from every kind of record that somebody has to act on."""
