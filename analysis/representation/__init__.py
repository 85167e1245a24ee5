"""What the representations of logged models carry."""
