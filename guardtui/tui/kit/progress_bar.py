"""A progress bar of block characters."""


def progress_bar(done: float, total: float, cells: int) -> str:
    """Return a bar of so many cells, filled by the part that is done; empty for a total of 0."""
    filled = min(cells, int(cells * done / total)) if total > 0 else 0
    return f"{'█' * filled}{'░' * (cells - filled)}"
