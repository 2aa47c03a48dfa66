"""Large prompt sets: cut into shards, evaluated separately, merged exactly."""
