"""Calendar tasks by machine: read `parameters`, `generator`, `suite`, `folders`, in this order; `calbench` imports others'."""
