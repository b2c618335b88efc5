"""How fast it is: measurements that are commands, never timed tests."""
