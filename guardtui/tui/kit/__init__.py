"""Parts that dialogs and panes share; none of them belongs to a feature."""
