"""Locks that a child of a fork gets anew: threads of the parent that held them at the fork do not exist in the child."""
import os
import threading
import weakref

made = weakref.WeakKeyDictionary()  # the name of an object's lock, and what makes one


def give(owner, name="lock", make=threading.Lock):
    """owner.name becomes a new lock, and again in every child. It is for `with owner.name:` alone, which releases the lock
    that it acquired, whatever a signal's handler raises."""
    setattr(owner, name, make())
    made[owner] = name, make


def renew():
    for owner, (name, make) in list(made.items()):
        setattr(owner, name, make())


os.register_at_fork(after_in_child=renew)
