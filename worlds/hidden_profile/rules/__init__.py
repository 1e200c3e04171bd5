"""The rules of hidden profiles, pure and exact: read `scenario`, `worlds`, `hearing`, in this order.

No clock, no chance, no web, no state: data in, data out. World, oracles and validators share exactly these functions.
"""
