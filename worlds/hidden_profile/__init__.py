"""The hidden-profile family's world: seats that each hold a piece, votes before and after they talk in turns."""
