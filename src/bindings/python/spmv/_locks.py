"""Locks that are replaced in a forked child: the parent's threads that held them at the fork do not exist in the child."""
import os
import threading
import weakref

made = weakref.WeakKeyDictionary()  # for each object: name of its lock, and the lock's constructor


def give(owner, name="lock", make=threading.Lock):
    """Sets owner.name to a new lock, now and in every forked child. Use it only in `with owner.name:`, which releases the lock
    that it acquired even if a signal handler raises."""
    setattr(owner, name, make())
    made[owner] = name, make


def renew():
    for owner, (name, make) in list(made.items()):
        setattr(owner, name, make())


os.register_at_fork(after_in_child=renew)
