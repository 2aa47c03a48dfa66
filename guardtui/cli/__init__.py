"""The command line: one file per command, one writer for stdout and one for stderr."""
