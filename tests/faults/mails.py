"""A mail server of our own."""

import socketserver
import threading
import time


class Mails(socketserver.ThreadingTCPServer):
    """A mail server that keeps what it takes, and can stall behind the end of a mail."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        self.received: list[str] = []
        self.stalls_for = ""
        super().__init__(("127.0.0.1", 0), _Mail)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Mail(socketserver.StreamRequestHandler):
    server: Mails

    def handle(self) -> None:
        """Speak as much SMTP as a client needs."""
        self.wfile.write(b"220 here\r\n")
        while line := self.rfile.readline():
            word = line[:4].upper()
            if word == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                mail = b""
                while (line := self.rfile.readline()) not in (b".\r\n", b""):
                    mail += line
                self.server.received.append(mail.decode())
                while self.server.stalls_for and f"To: {self.server.stalls_for}".encode() in mail:
                    time.sleep(0.1)
            self.wfile.write(b"221 bye\r\n" if word == b"QUIT" else b"250 fine\r\n")
            if word == b"QUIT":
                return


def mails_to(mails: Mails, address: str, about: str = "") -> list[str]:
    """Return the mails to an address with a word in them; the demo has mails of its own."""
    return [mail for mail in mails.received if f"To: {address}" in mail and about in mail]


def invitations(mails: Mails) -> list[str]:
    return mails_to(mails, "nora@example.com")


def ids_of(mails: list[str]) -> list[str]:
    lines = [line for mail in mails for line in mail.splitlines() if line.lower().startswith("message-id:")]
    return [line.partition(":")[2].strip() for line in lines]
