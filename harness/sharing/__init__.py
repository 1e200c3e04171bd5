"""Our tasks as others take them: a folder in Harbor's format that builds on our images, on pinned ones, or on none of ours."""

__all__ = ["bases", "catalogue", "folder", "standalone"]
