"""Calendar tasks by machine: read `generator`, `suite`, `folders`, in this order; `calbench` imports others'."""
