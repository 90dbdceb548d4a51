"""Writes the frames in this folder with hypha-rpc itself (made with Python 3.11, hypha-rpc 0.21.47): `python generate.py`.

The sender is the client `caller` of the workspace `ws-a`; what the server of hypha 0.21.137 adds to a frame (`RedisRPCConnection.emit_message`) and the
refusal that it writes itself (`websocket.py`, "Dead-peer detection") are repeated here, since they cannot be called alone.
"""

import asyncio
import pathlib
import traceback

import hypha_rpc
import msgpack
import shortuuid
from hypha_rpc.rpc import RPC

FOLDER = pathlib.Path(__file__).resolve().parent
USER = {"id": "root", "is_anonymous": False, "email": None, "roles": ["admin"], "scope": {"workspaces": {"ws-a": "a"}}}


class Connection:
    """Keeps what is sent."""

    manager_id = None

    def __init__(self):
        self.sent = []

    async def emit_message(self, frame):
        self.sent.append(frame)

    def on_message(self, _):
        pass

    def on_connected(self, _):
        pass

    def on_disconnected(self, _):
        pass

    on_connection_lost = on_disconnected


def without_places(text):
    """Traces name files by their path, which is another one on every machine."""
    packages = pathlib.Path(hypha_rpc.__file__).parent.parent
    return text.replace(str(FOLDER), "/app").replace(str(packages), "/site-packages")


def relayed(frame):
    unpacker = msgpack.Unpacker()
    unpacker.feed(frame)
    head = unpacker.unpack()
    head.update({"ws": "ws-a", "to": "ws-b/callee", "from": "ws-a/caller", "user": USER})
    return msgpack.packb(head) + frame[unpacker.tell() :]


def raises_key_error(_):
    return {}["x"]


class Refused(Exception):
    pass


async def lines():
    raise ValueError("first line\n  second line\n\nlast line")


async def chained():
    try:
        raises_key_error(None)
    except KeyError as error:
        raise Refused("no such thing") from error


async def during():
    try:
        raises_key_error(None)
    except KeyError:
        assert not USER


async def group():
    raise ExceptionGroup("two of them", [ValueError("one"), TypeError("two")])


async def key_error():
    return raises_key_error(None)


async def main():
    format_exc, format_exception = traceback.format_exc, traceback.format_exception
    traceback.format_exc = lambda: without_places(format_exc())
    traceback.format_exception = lambda *a, **k: [without_places(part) for part in format_exception(*a, **k)]

    numbers = iter(range(1000))
    shortuuid.uuid = lambda: f"session{next(numbers)}"
    connection = Connection()
    rpc = RPC(connection, client_id="caller", workspace="ws-a", silent=True, server_base_url="http://hypha")

    async def sent(promise, *args, parent=None, method="services.store.get", **kwargs):
        connection.sent.clear()
        target = {"_rtarget": "ws-b/callee", "_rmethod": method, "_rpromise": promise}
        function = rpc._generate_remote_method(target, remote_parent=parent, local_workspace="ws-a")
        future = function(*args, **kwargs)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        if promise:
            future.cancel()
        [frame] = connection.sent
        return frame

    async def rejected(make):
        """The `reject` with which a failure of our method is answered."""
        connection.sent.clear()
        rpc._services["raising"] = {"id": "raising", "raise": make}
        rpc._method_annotations[make] = {"visibility": "public", "method_id": "services.raising.raise"}
        head = {"type": "method", "from": "ws-a/caller", "to": "ws-a/caller", "method": "services.raising.raise"}
        head |= {"session": "theirs", "ws": "ws-a", "user": USER}
        rpc._on_message(msgpack.packb(head) + msgpack.packb({"promise": "*", "t": 15.0}))
        await asyncio.sleep(0.05)
        return next(frame for frame in connection.sent if b"theirs.reject" in frame)

    refusal = {"_rtype": "error", "_rvalue": "Target peer ws-b/callee is not connected", "_rtrace": ""}
    refused = {"type": "method", "from": "ws-b/callee", "to": "ws-a/caller", "method": "session0.reject"}
    plain = {"type": "method", "from": "ws-a/caller", "to": "ws-b/callee", "method": "services.store.get"}
    frames = {
        "sent": await sent("*", 1, "two", overwrite=True),
        "call": relayed(await sent("*", 1, "two", overwrite=True)),
        "full_promise": relayed(await sent(True, b"\x00\x01")),
        "no_promise": relayed(await sent(False, parent="parent1")),
        "headless": msgpack.packb(plain),
        "server_refusal": msgpack.packb(refused) + msgpack.packb({"args": [refusal]}),
        "event": msgpack.packb({"type": "client_disconnected", "to": "*", "data": {"id": "ws-b/callee"}}),
        "error_key": relayed(await rejected(key_error)),
        "error_lines": relayed(await rejected(lines)),
        "error_chained": relayed(await rejected(chained)),
        "error_during": relayed(await rejected(during)),
        "error_group": relayed(await rejected(group)),
        # Not a coroutine: raised before there is a task.
        "error_at_once": relayed(await rejected(lambda: raises_key_error(None))),
    }
    for name, frame in frames.items():
        (FOLDER / f"{name}.msgpack").write_bytes(frame)
        unpacker = msgpack.Unpacker()
        unpacker.feed(frame)
        print(name, *unpacker, sep="\n  ")


asyncio.run(main())
