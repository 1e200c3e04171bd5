"""Creation of calendar tasks: read `generator`, `suite`, `folders`, in this order; `calbench` imports published ones."""
