"""What answers whether a prompt triggers a topic, behind one protocol."""
