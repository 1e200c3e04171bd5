"""Reports: run folders in, tables out. Reading, statistics and rendering live here; what a table says is a family's own."""
