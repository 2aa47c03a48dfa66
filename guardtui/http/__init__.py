"""What every remote scanner shares: one client, its retries and its limits; chat completions."""
