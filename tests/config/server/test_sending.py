"""How the server sends answers to clients that read slowly or not at all, and shares connections among its workers."""

import socket
import time
from pathlib import Path

import pytest

from config.server import outgoing
from config.server.board import FREE, Board
from config.server.outgoing import MEMORY_LIMIT, Outlet


def drain(client: socket.socket, outlet: Outlet, size: int) -> bytes:
    """Read as a client does while the poller sends on."""
    data = b""
    while len(data) < size:
        outlet.flush()
        data += client.recv(1_000_000)
    return data


def test_an_answer_that_nobody_reads_is_kept_on_the_disk_and_sent_in_order(tmp_path: Path) -> None:
    client, server = socket.socketpair()
    server.setblocking(False)
    outlet = Outlet(server)
    pieces = [bytes([number]) * 100_000 for number in range(40)]
    stored = tmp_path / "file"
    stored.write_bytes(b"head" + b"f" * 300_000 + b"tail")
    with client, server:
        for piece in pieces[:20]:
            outlet.sendall(piece)
        with stored.open("rb") as file:
            outlet.sendfile(file, offset=4, count=300_000)
        for piece in pieces[20:]:
            outlet.sendall(piece)
        assert outlet.remaining > 3_000_000
        assert outlet._in_memory <= MEMORY_LIMIT
        content = b"".join(pieces[:20]) + b"f" * 300_000 + b"".join(pieces[20:])
        assert drain(client, outlet, len(content)) == content
        assert outlet.remaining == 0
        outlet.close()


def test_writing_to_a_client_that_has_gone_is_a_broken_pipe() -> None:
    client, server = socket.socketpair()
    server.setblocking(False)
    outlet = Outlet(server)
    client.close()
    with server, pytest.raises(OSError):  # noqa: PT011 (the system names it a broken pipe or a reset)
        outlet.sendall(b"x")


def test_the_board_names_the_fewest_connections_of_the_other_workers() -> None:
    board = Board()
    assert board.fewest_of_others(1) is None
    board.set_count(1, 7)
    board.set_count(2, 3)
    board.set_count(3, 5)
    assert (board.fewest_of_others(1), board.fewest_of_others(2)) == (3, 5)
    board.set_count(2, FREE)
    assert board.fewest_of_others(1) == 5


def test_old_workers_go_on_until_all_new_ones_can_serve() -> None:
    board, start = Board(), time.monotonic()
    assert not board.successors_are_loading(1, start, 2, 30)
    board.reload()
    assert board.successors_are_loading(1, start, 2, 30)
    assert not board.successors_are_loading(1, start, 2, 0)
    # Those that were started after it have no successors.
    assert not board.successors_are_loading(3, time.monotonic(), 2, 30)
    board.set_count(3, 0)
    assert board.successors_are_loading(1, start, 2, 30)
    board.set_count(4, 0)
    assert not board.successors_are_loading(1, start, 2, 30)


def test_an_answer_that_many_do_not_read_is_held_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outgoing, "shared", outgoing.Shared(1_000_000))
    document, pairs = b"d" * 900_000, [socket.socketpair() for _ in range(5)]
    outlets = []
    for _, server in pairs:
        server.setblocking(False)
        outlets.append(Outlet(server))
        outlets[-1].sendall(document)
    assert all(outlet._spool is None for outlet in outlets)
    assert outgoing.shared.size == 900_000
    outlets[0].sendall(b"e" * 900_000)
    assert outlets[0]._spool is not None
    assert drain(pairs[0][0], outlets[0], 1_800_000) == document + b"e" * 900_000
    for outlet in outlets:
        outlet.close()
    assert outgoing.shared.size == 0
    for pair in pairs:
        for end in pair:
            end.close()
