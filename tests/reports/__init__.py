"""What went wrong in systems like this one, as tests of what is right. ``test_table.py`` lists every rule."""
