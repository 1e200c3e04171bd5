"""Scripted assistants that talk in plain sentences: floors for what models do in prose."""
