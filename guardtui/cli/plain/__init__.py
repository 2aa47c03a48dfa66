"""The use cases of the app as lines of text: `guardtui open --plain`."""
