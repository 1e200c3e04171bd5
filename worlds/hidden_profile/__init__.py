"""World of the hidden-profile family: each seat holds part of the facts, and votes before and after a discussion."""
