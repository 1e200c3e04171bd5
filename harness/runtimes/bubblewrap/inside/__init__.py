"""What runs as PID 1 of a sandbox: plain Python without packages, seen there as /opt/parley/inside."""
