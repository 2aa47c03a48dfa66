"""The parts shared by all remote scanners: client, retries, limits and chat completions."""
