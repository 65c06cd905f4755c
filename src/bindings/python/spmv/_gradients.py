"""PyTorch's gradients of products: with respect to the operand by the transpose, with respect to the values entry by entry."""
import contextlib

import numpy as np
import torch

from . import _operands


def wanted(x, values=None):
    """Returns whether PyTorch records operations on x or values."""
    tensors = [t for t in (x, values) if isinstance(t, torch.Tensor)]
    return torch.is_grad_enabled() and any(t.requires_grad for t in tensors)


def places_of(A, device):
    """Returns row and column of each value of A, on a device."""
    cache = A._entries.places
    if device not in cache:
        own = A._entries.on_host()
        lines = np.repeat(np.arange(len(own.indptr) - 1), np.diff(own.indptr))
        rows, cols = (own.indices, lines) if own.format == "csc" else (lines, own.indices)
        cache[device] = [torch.as_tensor(np.asarray(at, np.int64), device=device) for at in (rows, cols)]
    rows, cols = cache[device]
    return (cols, rows) if A._transposed else (rows, cols)


@contextlib.contextmanager
def values_of(entries, values, version):
    """Context manager: sets the values of a recorded product, of the given version, and restores the current ones."""
    if entries.version is version:
        yield
        return
    if values is None:
        raise RuntimeError("spmv.matrix: its values were changed after a product whose gradient is asked for")
    before = entries.own, entries.version
    try:
        entries.set_values(..., _operands.numbers_of(values), version)
        yield
    finally:
        entries.replace(*before)


class Product(torch.autograd.Function):
    """A @ x. values: new values of A, in A's order; None: A's current values."""

    @staticmethod
    def forward(ctx, A, values, x):
        ctx.A, ctx.version = A, A._entries.version
        ctx.save_for_backward(values, x if values is not None else None)
        return A.dot(x.detach())

    @staticmethod
    def backward(ctx, gradient):
        A, (values, x) = ctx.A, ctx.saved_tensors
        of_values = of_x = None
        if ctx.needs_input_grad[2]:
            with values_of(A._entries, values, ctx.version):
                of_x = product(A.T, gradient, values) if torch.is_grad_enabled() else A.T.dot(gradient)
        if ctx.needs_input_grad[1]:
            rows, cols = places_of(A, gradient.device)
            of_values = (gradient[rows] * x[cols]).reshape(len(rows), -1).sum(1)
        return None, of_values, of_x


def product(A, x, values=None):
    """A @ x with gradients."""
    if not isinstance(x, torch.Tensor):
        raise TypeError("spmv.matrix: gradients take a PyTorch tensor as operand")
    return Product.apply(A, values, x)
