"""The contract family in the harness: path mutations, coaching, reports and export."""
