"""Rules of hidden profiles, pure and exact: read `scenario`, `worlds`, `hearing`, in this order.

They use no clock, chance, network or state. World, oracles and validators share exactly these functions.
"""
