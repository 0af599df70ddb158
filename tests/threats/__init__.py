"""Every threat of the table with its own inputs. ``test_table.py`` says which tests prove which row."""
