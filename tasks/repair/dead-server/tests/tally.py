"""A client of tallyd that knows what the owner's ledger must answer."""

import hashlib
import socket

from owner_data import DOCUMENTS


class Tally:
    """One connection, one question a line."""

    def __init__(self, address: tuple[str, int], timeout: float = 60.0) -> None:
        try:
            self._socket = socket.create_connection(address, timeout)
        except OSError as error:
            raise AssertionError(f"tallyd cannot be reached: {error}") from None
        self._stream = self._socket.makefile("rb")

    def ask(self, line: str) -> str:
        try:
            self._socket.sendall(line.encode() + b"\n")
            answer = self._stream.readline(65536)
        except OSError as error:
            raise AssertionError(f"tallyd does not answer: {error}") from None
        assert answer.endswith(b"\n"), "tallyd ended the conversation"
        return answer[:-1].decode(errors="replace")

    def close(self) -> None:
        self._stream.close()
        self._socket.close()


def proof(nonce: str, records: list[str]) -> str:
    """What PROVE must answer."""
    return hashlib.sha256("\n".join([nonce, *records]).encode()).hexdigest()


def paper(nonce: str, name: str) -> str:
    """What DOC must answer."""
    return hashlib.sha256((nonce + DOCUMENTS[name]).encode()).hexdigest()


def balance(account: str, records: list[str]) -> int:
    """What BAL must answer."""
    rows = (record.split("|") for record in records)
    return sum(int(row[4]) for row in rows if row[2] == account)
