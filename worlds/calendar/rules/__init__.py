"""Rules of calendar games, as pure functions: read `items`, `scenario`, `batch`, `resolution`, in this order.

They use no clock, chance, network or state. World, oracles and validators share exactly these functions.
"""
