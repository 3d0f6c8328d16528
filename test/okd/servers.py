"""What the servers of a cluster say to those who check on them: `servers.py master` has the API (6443) and machine configuration (22623),
`servers.py worker` the router (80, 443)."""
import http.server
import json
import ssl
import sys
import threading


class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        port = self.server.server_address[1]
        if port == 80:
            self.send_response(302)
            self.send_header("Location", f"https://{self.headers.get('Host', 'router')}{self.path}")
            self.end_headers()
            return
        known = {6443: {"/readyz", "/version"}, 22623: {"/healthz"}, 443: {self.path}}[port]
        self.send_response(200 if self.path in known else 404)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(json.dumps({"gitVersion": "v1.36.3"}).encode())

    do_HEAD = do_GET


def serve(port, tls):
    server = http.server.ThreadingHTTPServer(("", port), Answers)
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain("/root/cert.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.serve_forever()


ports = {"master": [(6443, True), (22623, True)], "worker": [(80, False), (443, True)]}[sys.argv[1]]
threads = [threading.Thread(target=serve, args=p) for p in ports]
for t in threads:
    t.start()
