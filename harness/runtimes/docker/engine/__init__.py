"""What everything that uses Docker shares: the engine, images, labels and limits of a container, sweeping."""

__all__ = ["client", "dockerfile", "images", "limits", "pushing", "services", "sweep"]
