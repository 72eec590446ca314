"""A network that takes its time: a TCP relay on loopback that hands on what comes after a delay."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHUNK_BYTES = 65536


@contextmanager
def relay(to_port: int, delay_s: float) -> Iterator[int]:
    """Serve on a free port of 127.0.0.1; each way takes `delay_s`. Gives the port."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def begin() -> asyncio.Server:
        return await asyncio.start_server(_handler(to_port, delay_s), "127.0.0.1", 0)

    try:
        server = asyncio.run_coroutine_threadsafe(begin(), loop).result()
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            asyncio.run_coroutine_threadsafe(_end(server), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _end(server: asyncio.Server) -> None:
    server.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def _handler(to_port: int, delay_s: float):  # noqa: ANN202 - what asyncio calls
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", to_port)
        ways = [_carry(reader, far_writer, delay_s), _carry(far_reader, writer, delay_s)]
        try:
            await asyncio.gather(*ways)
        finally:
            for end in (writer, far_writer):
                end.close()

    return handle


async def _carry(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: float
) -> None:
    """Hand on one direction; each piece leaves `delay_s` after it came, and they may overlap."""
    loop = asyncio.get_running_loop()
    while data := await reader.read(_CHUNK_BYTES):
        loop.call_later(delay_s, _write, writer, data)
    loop.call_later(delay_s, writer.close)


def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    if not writer.is_closing():
        writer.write(data)
