"""What everything that uses Docker shares: the engine, images, labels and limits of a container, sweeping."""

__all__ = ["client", "images", "limits", "pushing", "services", "sweep"]
