"""What a routine proof of all hidden profiles takes: two seeds, since proving one on a seed takes a second and there are 65."""

SEEDS = "0-1"
