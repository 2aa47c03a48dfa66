"""The results table of the main screen: rows, columns, filters and views."""
