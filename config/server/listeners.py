"""Lets a listener be closed without a reset: the kernel ignores new connections before those that wait are accepted.

When the last process closes a listener, Linux resets the connections that still wait in its queue, and a client may
connect at any moment between the last `accept` and the closing. A filter in the kernel therefore drops the first packet
of each new connection. The client sends it again after a second, and is then refused, or served by the next server.
"""

import ctypes
import socket
import struct

_ATTACH_FILTER, _DETACH_FILTER = 26, 27
"""Options of Linux sockets that Python has no names for."""
_INSTRUCTION = struct.Struct("HBBI")
_FLAGS_AT, _SYN, _SYN_OR_ACK = 13, 0x02, 0x12
"""Where the flags are in a TCP header; a first packet has SYN and not ACK."""
_DROP_FIRST_PACKETS = b"".join(
    _INSTRUCTION.pack(*instruction)
    for instruction in (
        (0x30, 0, 0, _FLAGS_AT),  # load the byte with the flags
        (0x54, 0, 0, _SYN_OR_ACK),  # keep these two
        (0x15, 0, 1, _SYN),  # is it SYN alone?
        (0x06, 0, 0, 0),  # drop the packet
        (0x06, 0, 0, 0xFFFFFFFF),  # take the packet
    )
)


def ignore_new(listener: socket.socket) -> bool:
    """Let the kernel ignore new connections, for every process that has the listener; False if it cannot do that."""
    if listener.family not in (socket.AF_INET, socket.AF_INET6):
        return False
    program = ctypes.create_string_buffer(_DROP_FIRST_PACKETS)
    length = len(_DROP_FIRST_PACKETS) // _INSTRUCTION.size
    try:
        listener.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, struct.pack("HP", length, ctypes.addressof(program)))
    except OSError:
        return False
    return True


def heed_new(listener: socket.socket) -> None:
    """Undo `ignore_new`, which a worker may have done that was stopped alone."""
    try:
        listener.setsockopt(socket.SOL_SOCKET, _DETACH_FILTER, 0)
    except OSError:
        return
