"""Hands connections to a TCP address on to libvirt's socket: relay.py ADDRESS PORT."""
import asyncio
import sys


async def pump(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


async def meet(reader, writer):
    other_reader, other_writer = await asyncio.open_unix_connection("/run/libvirt/libvirt-sock")
    await asyncio.gather(pump(reader, other_writer), pump(other_reader, writer), return_exceptions=True)


async def main():
    server = await asyncio.start_server(meet, sys.argv[1], int(sys.argv[2]))
    await server.serve_forever()


asyncio.run(main())
