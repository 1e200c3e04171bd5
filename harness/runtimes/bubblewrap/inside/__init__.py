"""Code of PID 1 in a sandbox: plain Python without packages, available there below /opt/parley under the same name."""
