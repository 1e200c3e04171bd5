import socket, sys
while True:
    for host in ("127.0.0.1", "0.0.0.0", "::"):
        with socket.socket(socket.AF_INET6 if host == "::" else socket.AF_INET) as server:
            for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
                server.setsockopt(socket.SOL_SOCKET, option, 1)
            if host == "::":
                server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            try:
                server.bind((host, 8080))
                server.listen()
                open("/tmp/bound-" + host, "w").close()
            except OSError:
                open("/tmp/tried", "w").close()
