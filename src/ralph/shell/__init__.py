"""The only I/O: git, processes, boxes, the journal, configuration."""
