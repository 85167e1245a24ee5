"""What the representations of logged models hold, of all bodies of work together."""
