import http.server, socket, time, urllib.request
try:
    urllib.request.urlopen("http://api:8080/die", timeout=5)
except OSError:
    pass

class Server(http.server.HTTPServer):
    allow_reuse_address = True

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"ok":true}')
    do_POST = do_GET

for _ in range(200):
    try:
        server = Server(("", 8080), Handler)
        break
    except OSError:
        time.sleep(0.05)
open("/tmp/up", "w").close()
server.serve_forever()
