"""A web server that answers each path in its own way, mostly a bad one."""

import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = b""
        self.asked = []
        self.closing = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        with suppress(ConnectionError):  # the client may hang up, as it should
            getattr(self, "answer_" + self.path.strip("/"))(self.server.content)

    def log_message(self, *_):
        pass

    def start(self, code=200, **headers):
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()

    def answer_good(self, content):
        self.start(Content_Length=len(content))
        self.wfile.write(content)

    def answer_unannounced(self, content):
        self.start()
        self.wfile.write(content)

    def answer_truncated(self, content):
        self.start(Content_Length=len(content))
        self.wfile.write(content[: len(content) // 2])

    def answer_truncated_unannounced(self, content):
        self.start()
        self.wfile.write(content[: len(content) // 2])

    def answer_truncated_chunk(self, content):
        self.protocol_version = "HTTP/1.1"
        self.start(Transfer_Encoding="chunked", Connection="close")
        self.wfile.write(b"%x\r\n" % len(content) + content[:9])
        self.close_connection = True

    def answer_altered(self, content):
        self.answer_good(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])

    def answer_missing(self, _):
        self.send_error(404)

    def answer_hangup(self, _):
        self.close_connection = True

    def answer_nonsense(self, _):
        self.wfile.write(b"this is not HTTP\r\n\r\n")

    def answer_announced_large(self, content):
        self.start(Content_Length=1 << 40)
        self.wfile.write(content)

    def answer_endless(self, _):
        self.start()
        while not self.server.closing.is_set():
            self.wfile.write(bytes(1 << 16))

    def answer_redirect(self, _):
        self.start(302, Location="/good")

    def answer_redirect_loop(self, _):
        self.start(302, Location="/redirect_loop")

    def answer_redirect_to_file(self, _):
        self.start(302, Location=Path(__file__).as_uri())

    def answer_redirect_to_ftp(self, _):
        self.start(302, Location="ftp://127.0.0.1/set")

    def answer_silent(self, _):
        self.server.closing.wait()

    def answer_stalling(self, content):
        self.start(Content_Length=len(content))
        self.wfile.write(content[:9])
        self.wfile.flush()
        self.server.closing.wait()


def serving(monkeypatch):
    """The server, for as long as a test takes."""
    monkeypatch.setenv("no_proxy", "*")
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.closing.set()
        server.shutdown()
        thread.join()
