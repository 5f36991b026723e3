"""Serve the built site on this machine: `python -m booksite.serve [PORT]`."""

import functools
import http.server
import sys
from pathlib import Path

SITE = Path("_build/html")


class _Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass  # one line per request would bury the address


def make_server(site: Path, port: int) -> http.server.ThreadingHTTPServer:
    """A server of `site` for this machine alone; port 0 takes any free one."""
    if not (site / "index.html").exists():
        raise FileNotFoundError(f"there is no site in {site}: build it first (make html)")
    return http.server.ThreadingHTTPServer(("127.0.0.1", port), functools.partial(_Handler, directory=site))


def main(port: int) -> str | None:
    """Serve until interrupted. Returns what went wrong, if anything did."""
    try:
        server = make_server(SITE, port)
    except FileNotFoundError as error:
        return str(error)
    except OSError as error:
        return f"cannot serve on port {port} ({error.strerror}): choose another, as in: make book PORT={port + 1}"
    print(f"The book is at http://localhost:{server.server_port}/ (Ctrl-C stops it)", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()
    return None


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 8000))
