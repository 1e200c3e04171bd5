"""Common code for Docker: the engine, images, labels and limits of containers, and sweeping."""

__all__ = ["client", "dockerfile", "images", "limits", "pushing", "sweep"]
