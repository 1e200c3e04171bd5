"""Creation of hidden-profile tasks: `folders` writes them, `hiddenbench` imports published ones, the others use a model."""
