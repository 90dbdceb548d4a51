"""What services were asked for and did, in one file for all processes of a server.

A line is written whole with one call of the system, at the end of the file: it survives the process, and needs no lock that a frozen
process would hold.
"""

import asyncio
import json
import os


class Ledger:
    def __init__(self, path, client_id):
        self._path = path
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._read = 0
        self._client_id = client_id

    def append(self, event, method, **details):
        line = {"event": event, "client_id": self._client_id, "pid": os.getpid(), "method": method, **details}
        os.write(self._file, json.dumps(line, default=repr).encode() + b"\n")

    def unread(self):
        """The lines that were written since the last time, by anybody."""
        with open(self._path, "rb") as file:
            file.seek(self._read)
            text = file.read()
        # A line whose end is not there yet is for the next time.
        whole = text[: text.rfind(b"\n") + 1]
        self._read += len(whole)
        return [json.loads(line) for line in whole.splitlines()]


class Behaviours:
    """What methods are told to do besides their work."""

    def __init__(self):
        self._of = {}

    def set(self, method, behaviour):
        self._of[method] = behaviour

    def take(self, method):
        behaviour = self._of.get(method)
        if behaviour is None:
            return {"outcome": "answer", "delay": 0}
        if behaviour.get("times") is not None:
            behaviour["times"] -= 1
            if behaviour["times"] == 0:
                del self._of[method]
        return behaviour


ERRORS = {"KeyError": KeyError, "ValueError": ValueError, "TypeError": TypeError, "PermissionError": PermissionError,
          "RuntimeError": RuntimeError, "TimeoutError": TimeoutError, "Exception": Exception}


async def execute(ledger, behaviours, method, details, work):
    """Runs a method by its behaviour, and writes that down before it takes effect."""
    behaviour = behaviours.take(method)
    outcome = behaviour["outcome"]
    ledger.append("received", method, **details)
    if behaviour["delay"]:
        await asyncio.sleep(behaviour["delay"])
    if outcome == "hang_before":
        await asyncio.Event().wait()
    if outcome == "exit_before":
        os._exit(1)
    failed = {"raised": behaviour["kind"]} if outcome == "raise" else {}
    ledger.append("executed", method, **details, **failed)
    if outcome == "raise":
        raise ERRORS[behaviour["kind"]](behaviour["text"])
    result = work()
    if outcome == "hang_after":
        await asyncio.Event().wait()
    if outcome == "exit_after":
        os._exit(1)
    return result
