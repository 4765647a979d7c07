"""How the server sends answers to clients that read slowly or not at all, and shares connections among its workers."""

import socket
from pathlib import Path

import pytest

from config.server.board import FREE, Board
from config.server.outgoing import KEPT_IN_MEMORY, Outlet


def drain(ours: socket.socket, outlet: Outlet, size: int) -> bytes:
    """Read as a client does while the poller sends on."""
    received = b""
    while len(received) < size:
        outlet.flush()
        received += ours.recv(1_000_000)
    return received


def test_an_answer_that_nobody_reads_is_kept_on_the_disk_and_sent_in_order(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    outlet = Outlet(theirs)
    pieces = [bytes([number]) * 100_000 for number in range(40)]
    stored = tmp_path / "file"
    stored.write_bytes(b"head" + b"f" * 300_000 + b"tail")
    with ours, theirs:
        for piece in pieces[:20]:
            outlet.sendall(piece)
        with stored.open("rb") as file:
            outlet.sendfile(file, offset=4, count=300_000)
        for piece in pieces[20:]:
            outlet.sendall(piece)
        assert outlet.left > 3_000_000
        assert outlet._in_memory <= KEPT_IN_MEMORY
        whole = b"".join(pieces[:20]) + b"f" * 300_000 + b"".join(pieces[20:])
        assert drain(ours, outlet, len(whole)) == whole
        assert outlet.left == 0
        outlet.close()


def test_writing_to_a_client_that_has_gone_is_a_broken_pipe() -> None:
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    outlet = Outlet(theirs)
    ours.close()
    with theirs, pytest.raises(OSError):  # noqa: PT011 (the system names it a broken pipe or a reset)
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


def test_old_workers_go_on_until_a_new_one_can_serve() -> None:
    board = Board()
    assert not board.successor_is_loading(30)
    board.reload()
    assert board.successor_is_loading(30)
    assert not board.successor_is_loading(0)
    board.ready()
    assert not board.successor_is_loading(30)
