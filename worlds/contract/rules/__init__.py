"""Pure data shared by world, validators and readers of contract episodes; it needs no clock, chance or network."""
