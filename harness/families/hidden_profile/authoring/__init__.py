"""Creation of hidden-profile tasks: `folders` writes them, `hiddenbench` imports published ones, other modules generate by a model."""
