"""The documentation: its pages, the blocks of code on them, and the site."""
