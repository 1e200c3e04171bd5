"""What the machine knows of the contract family: its path mutations, coaching, reports and export."""
