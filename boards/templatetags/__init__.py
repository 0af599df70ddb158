"""What the templates need besides Django's own tags."""
