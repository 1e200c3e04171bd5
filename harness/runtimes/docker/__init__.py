"""Runtime `docker`: pods of hardened containers, their images, and foreign Harbor tasks."""
