"""Hidden-profile tasks by machine: `folders` writes them, `hiddenbench` imports others', the rest lets a model make some."""
