"""What layers of a network hold, trained and not."""
