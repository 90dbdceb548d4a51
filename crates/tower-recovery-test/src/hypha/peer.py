"""A client of Hypha that does what it is told.

Commands come at the standard input and answers go to the standard output, each a length of four bytes and as much msgpack. Commands run
side by side; an answer bears the number of its command.
"""

import asyncio
import os
import struct
import sys
import threading

import msgpack
from artifact_manager import ArtifactManager
from hypha_rpc import connect_to_server
from ledger import Behaviours, Ledger, execute


class Peer:
    def __init__(self, server_url, root_token, ledger):
        self._url = server_url
        self._root_token = root_token
        self._ledger_path = ledger
        self._behaviours = Behaviours()
        self._server = None
        self._ledger = None
        self._handles = []

    async def connect(self, client_id, workspace=None, token=None):
        self._ledger = Ledger(self._ledger_path, client_id)
        self._server = await self._connection(client_id, workspace, token)
        return {"workspace": self._server.config.workspace, "client_id": client_id}

    async def try_connect(self, client_id, workspace=None, token=None):
        """Connects once more, under this id, and leaves again."""
        other = await self._connection(client_id, workspace, token)
        await other.disconnect()

    async def _connection(self, client_id, workspace, token):
        config = {"server_url": self._url, "client_id": client_id}
        if workspace is None or token is not None:
            return await connect_to_server({**config, "workspace": workspace, "token": token or self._root_token})
        # The root token is good for the workspace of root alone; for others, root makes one. It stays until the client is there, since a
        # workspace that nobody uses is removed.
        async with connect_to_server({"server_url": self._url, "token": self._root_token}) as root:
            if workspace != "public":
                try:
                    await root.create_workspace({"id": workspace, "name": workspace})
                except Exception as error:
                    if "already exists" not in str(error):
                        raise
            made = await root.generate_token({"workspace": workspace})
            return await connect_to_server({**config, "workspace": workspace, "token": made})

    async def register(self, service_id, overwrite=False, visibility="public"):
        service = {"id": service_id, "name": service_id, "config": {"visibility": visibility, "require_context": True}}
        for name in ("echo", "echo_all", "write"):
            service[name] = self._method(name)
        info = await self._server.register_service(service, overwrite=overwrite)
        return info["id"]

    async def register_artifact_manager(self, overwrite=False):
        manager = ArtifactManager(self._ledger, self._behaviours)
        info = await self._server.register_service(manager.service(), overwrite=overwrite)
        return info["id"]

    def _method(self, name):
        async def method(*args, context=None, request_id=None, **kwargs):
            details = {"request_id": request_id, "caller": (context or {}).get("from")}
            work = {
                "echo": lambda: args[0] if args else None,
                "echo_all": lambda: {"args": list(args), "kwargs": kwargs},
                "write": lambda: request_id,
            }[name]
            return await execute(self._ledger, self._behaviours, name, details, work)

        method.__name__ = name
        return method

    async def call(self, service, config, method, args, kwargs):
        resolved = await self._server.get_service(service, config)
        return await resolved[method](*args, **kwargs)

    async def resolve(self, service, config):
        resolved = await self._server.get_service(service, config)
        self._handles.append(resolved)
        return {"number": len(self._handles) - 1, "id": resolved["id"]}

    async def call_handle(self, handle, method, args, kwargs):
        return await self._handles[handle][method](*args, **kwargs)

    async def manager(self, method, args, kwargs):
        """A method of the workspace manager itself: some of those at the connection are the client's own, and do something else."""
        manager = await self._server.rpc.get_manager_service({"case_conversion": "snake"})
        return await manager[method](*args, **kwargs)

    async def run(self, script, arguments):
        # The name shows where its classes and errors are from.
        scope = {"__name__": "script"}
        exec(compile(script, "script.py", "exec"), scope)
        return await scope["main"](self._server, **arguments)

    async def behave(self, method, behaviour):
        self._behaviours.set(method, behaviour)

    async def disconnect(self):
        await self._server.disconnect()


# What is no value of msgpack's is told as text.
def plain(value):
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    return repr(value)


def answer_of(output, lock, number, **result):
    message = msgpack.packb({"number": number, **plain(result)})
    with lock:
        output.write(struct.pack(">I", len(message)) + message)
        output.flush()


async def serve(peer, commands, answer):
    running = set()
    while (command := await commands.get()) is not None:
        task = asyncio.ensure_future(run(peer, command, answer))
        running.add(task)
        task.add_done_callback(running.discard)


async def run(peer, command, answer):
    number = command.pop("number")
    name = command.pop("command")
    try:
        answer(number, value=await getattr(peer, name)(**command))
    except (Exception, asyncio.CancelledError) as error:
        answer(number, kind=type(error).__name__, text=str(error))


def read(source, loop, commands):
    while len(head := source.read(4)) == 4:
        command = msgpack.unpackb(source.read(struct.unpack(">I", head)[0]), strict_map_key=False)
        loop.call_soon_threadsafe(commands.put_nowait, command)
    # Whoever told it is gone.
    os._exit(0)


async def main():
    # Only answers go to the output: what a library prints goes to the log.
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    lock = threading.Lock()
    commands = asyncio.Queue()
    reading = threading.Thread(target=read, args=(sys.stdin.buffer, asyncio.get_running_loop(), commands), daemon=True)
    reading.start()
    peer = Peer(*sys.argv[1:])
    await serve(peer, commands, lambda number, **result: answer_of(output, lock, number, **result))


asyncio.run(main())
