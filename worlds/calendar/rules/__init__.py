"""The rules of calendar games, pure: read `items`, `scenario`, `batch`, `resolution`, in this order.

No clock, no chance, no web, no state: data in, data out. World, oracles and validators share exactly these functions.
"""
