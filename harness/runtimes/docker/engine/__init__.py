"""Common code for Docker: the engine, images, labels and limits of containers, and sweeping."""
