"""What Python offers to the tests."""

import asyncio
import collections
import time
import zlib

import numpy

EXECUTED = collections.Counter()


class Refused(Exception):
    pass


def echo(value=None):
    return value


def echo_all(*args, **kwargs):
    return {"args": args, "kwargs": kwargs}


def describe(value):
    return [type(value).__name__, repr(value)]


def executed(request_id):
    return EXECUTED[request_id]


KINDS = {"KeyError": KeyError, "ValueError": ValueError, "Refused": Refused}


def fail(kind, message, request_id):
    EXECUTED[request_id] += 1
    raise KINDS[kind](message)


async def fail_async(kind, message, request_id):
    await asyncio.sleep(0)
    fail(kind, message, request_id)


async def fail_with_cause(request_id):
    try:
        fail("KeyError", "inner", request_id)
    except KeyError as error:
        raise ValueError("outer") from error


def two(first, second):
    return [first, second]


async def slow(seconds):
    await asyncio.sleep(seconds)
    return "done"


def pattern(length):
    return (bytes(range(251)) * (length // 251 + 1))[:length]


def checked(data):
    """How long it is and its checksum."""
    return [type(data).__name__, len(data), zlib.crc32(data)]


def numbers():
    yield 1
    yield 2


def special(kind):
    return {
        "tuple": lambda: (1, (2, "three")),
        "set": lambda: {1},
        "ndarray": lambda: numpy.arange(6, dtype="int32").reshape(2, 3),
        "error": lambda: KeyError("x"),
        "function": lambda: echo,
        "callback": lambda: lambda value: value,
        "generator": numbers,
        "memoryview": lambda: memoryview(b"abc"),
        "nested": lambda: {"list": [{1}, {"deep": {2}}]},
    }[kind]()


async def call_back(callback, value):
    return await callback(value)


def freeze(seconds):
    """Nothing else runs meanwhile, also no heartbeat."""
    time.sleep(seconds)


async def main(server):
    functions = [echo, echo_all, describe, executed, fail, fail_async, fail_with_cause, two, slow, pattern, checked, special, call_back, freeze]
    await server.register_service(
        {
            "id": "probe",
            "name": "probe",
            "config": {"visibility": "public"},
            "arithmetic": {"of_two": {"add": lambda first, second: first + second}},
            **{function.__name__: function for function in functions},
        }
    )
