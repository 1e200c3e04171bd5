"""What world, validators and readers of contract episodes agree on, pure: data without clock, chance or web."""
