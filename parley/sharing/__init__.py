"""Export of tasks in Harbor's format, based on local images, pinned images or a plain Python image."""
