"""Memory for results on a CPU. The system hands out fresh memory page by page as it is written to, which costs up to ten
products: large results get memory that was a result before.

A result is an array of NumPy's whose base is an owner. Whatever refers to its memory (views, tensors of PyTorch's, exports by
DLPack) keeps the array or the owner alive, and no object that collects garbage sees through an array: the owner dies behind all
of them, and gives the memory back. A result that is alive shares its memory with none."""
import os
import sys

import numpy as np

LEAST = 1 << 20  # bytes of a result: the allocator keeps smaller blocks itself
FIT = 1.25  # memory that is longer than a result by more than this stays for others


def default_limit():
    try:
        installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 1 << 28
    return min(1 << 30, installed // 16)


class Kept:
    """Memory that no result has. Each step on the dictionary is one that other threads, and owners that die meanwhile, cannot
    interrupt: there is no lock to wait for, also in the child of a fork."""

    def __init__(self):
        self.limit = default_limit()
        self.rooms = {}  # by identity, the oldest first
        self.reused = 0

    def take(self, count):
        for key in list(self.rooms):
            room = self.rooms.get(key)
            if room is None or not count <= len(room) <= FIT * count:
                continue
            room = self.rooms.pop(key, None)  # another one by now, maybe
            if room is not None and count <= len(room) <= FIT * count:
                self.reused += 1
                return room
            if room is not None:
                self.give(room)
        try:
            return np.empty(count, np.uint8)
        except MemoryError:
            self.rooms.clear()
            return np.empty(count, np.uint8)

    def give(self, room):
        if len(room) > self.limit:
            return
        self.rooms[id(room)] = room
        self.trim()

    def trim(self):
        keys = list(self.rooms)
        sizes = [len(room) if (room := self.rooms.get(key)) is not None else 0 for key in keys]
        excess = sum(sizes) - self.limit
        for key, size in zip(keys, sizes):
            if excess <= 0:
                return
            self.rooms.pop(key, None)
            excess -= size


kept = Kept()


class Owner:
    """Owns the memory of a result."""
    __slots__ = "__array_interface__", "room"

    def __init__(self, room, shape, dtype, order):
        size, strides = dtype.itemsize, None
        if order == "F" and len(shape) == 2:
            strides = size, shape[0] * size
        self.room = room
        self.__array_interface__ = {"version": 3, "shape": shape, "typestr": dtype.str, "strides": strides,
                                    "data": (room.__array_interface__["data"][0], False)}

    def __del__(self, is_ending=sys.is_finalizing):
        if not is_ending():
            kept.give(self.room)


def empty(shape, dtype, order="C"):
    """An array for a result, as np.empty makes it."""
    count = dtype.itemsize
    for length in shape:
        count *= length
    if count < LEAST or count > kept.limit:
        return np.empty(shape, dtype, order=order)
    return np.asarray(Owner(kept.take(count), shape, dtype, order))


NUMPYS = {8: np.dtype(np.float64), 4: np.dtype(np.float32)}


def empty_tensor(like, shape):
    """A tensor for a result in float64 or float32, as like.new_empty makes it."""
    size = like.element_size()
    count = size
    for length in shape:
        count *= length
    torch = sys.modules["torch"]
    if count < LEAST or count > kept.limit or like.is_cuda or type(like) is not torch.Tensor:
        return like.new_empty(shape)
    return torch.from_numpy(empty(shape, NUMPYS[size]))


def keep_results(limit):
    """Keeps at most so many bytes of memory of results that are gone, for results to come; 0: none. At first it is a sixteenth of
    the installed memory, 1 GiB at most."""
    from ._plan import whole
    kept.limit = whole("limit", limit, 0)
    kept.trim()
