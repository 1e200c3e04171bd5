"""What runs in the world container: one package per family, on one core."""
