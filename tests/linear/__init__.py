"""Can what many processes saw of a task at once have happened one after the other? And faults put in on purpose."""
