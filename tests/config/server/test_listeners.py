"""A listener that is to be closed takes no new connection and loses none that has begun."""

import socket
import sys

import pytest

from config.server.listeners import heed_new, ignore_new

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Only Linux can ignore new connections.")


def test_new_connections_are_ignored_until_the_listener_is_closed_and_those_that_wait_are_kept() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as early:
        assert ignore_new(listener)
        with pytest.raises(TimeoutError):
            socket.create_connection(listener.getsockname(), 0.2)
        server, _ = listener.accept()
        with server:
            early.sendall(b"x")
            assert server.recv(1) == b"x"
        address = listener.getsockname()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address, 10)


def test_a_worker_that_serves_on_undoes_what_a_stopped_one_did() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        heed_new(listener)
        assert ignore_new(listener)
        heed_new(listener)
        with socket.create_connection(listener.getsockname(), 5):
            listener.accept()[0].close()


def test_a_listener_in_the_file_system_is_left_as_it_is() -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        assert not ignore_new(listener)
