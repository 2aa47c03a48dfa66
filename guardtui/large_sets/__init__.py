"""Large prompt sets: workers that embed them, and a sample for the screen."""
