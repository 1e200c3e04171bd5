import os, resource, socket, struct, threading, time
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
api = ("api", 8080)

def say(data, read=True):
    try:
        with socket.create_connection(api, 5) as link:
            link.settimeout(5)
            link.sendall(data)
            return link.recv(200) if read else b""
    except OSError as error:
        return repr(error).encode()

head = b"POST /clock/wait HTTP/1.1\r\nHost: api\r\n"
# Of these only two reach the app, as requests for unknown routes: HTTP/9.9 and PRI. The others are no step and no event.
for junk in (
    b"\x00" * 4000, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /a b c HTTP/1.1\r\n\r\n", os.urandom(4000) + b"\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: api\r\nX: " + b"a" * 5_000_000, b"GET /" + b"a" * 5_000_000, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 100_000 + b"\r\n", head + b"Content-Length: -1\r\n\r\n",
    b"\x16\x03\x01\x02\x00" + b"\x00" * 500,
    head + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n", head + b"Transfer-Encoding: x\r\n\r\n",
    head + b"Content-Length: 99999999999999999999999999999999999999999\r\n\r\n",
):
    say(junk)
# Connections that open and break off at once, by ten thousands.
for _ in range(10_000):
    link = socket.socket()
    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    try:
        link.connect(api)
    except OSError:
        pass
    link.close()
# These are stray requests, one step each.
print(say(head + b"Content-Length: 400000\r\n\r\n" + b"[" * 400_000)[:12])
print(say(head + b"Content-Length: 18\r\n\r\n" + b'{"seconds": 1e999}')[:12])
with socket.create_connection(api, 30) as link:
    link.sendall(head + b"Content-Length: 1000000000\r\n\r\n")
    block = b"x" * 1_000_000
    for _ in range(1000):
        link.sendall(block)
    print(link.recv(12))
