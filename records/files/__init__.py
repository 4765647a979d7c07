"""Files: how they come in, where they are kept, and how they are served; for every record that has one."""
