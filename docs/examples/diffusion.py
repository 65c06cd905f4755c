"""diffusion.py: an inverse problem with JAX: how well does each place of a plate conduct heat? A few pulses of heat are known, and
what is left of them after some steps; gradients pass through all steps to the values of the matrix.

    python diffusion.py [SIDE [STEPS]]

A step of the time is U <- U - L(k) U for all pulses at once, where L(k) is the Laplacian of a grid whose links conduct k. Its
pattern stays, and its values are linear in k: v = M k, by a matrix too. Two patches of the plate conduct four times as well."""
import sys

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sparse
import spmv.jax

PULSES, TIME, RATE = 8, 40, 0.03


def laplacian(side):
    """Returns L for k = 1, and M: the values of L in the order of its rows are M k."""
    place = np.arange(side * side).reshape(side, side)
    ends = np.concatenate([np.stack([place[:, :-1], place[:, 1:]], -1).reshape(-1, 2),
                           np.stack([place[:-1], place[1:]], -1).reshape(-1, 2)])
    (a, b), link = ends.T, np.arange(len(ends))
    row, col = np.concatenate([a, b, a, b]), np.concatenate([a, b, b, a])
    sign = np.repeat([1.0, 1.0, -1.0, -1.0], len(ends))
    L = sparse.coo_array((sign, (row, col)), shape=(side**2, side**2)).tocsr()
    numbered = sparse.csr_array((np.arange(L.nnz), L.indices, L.indptr), shape=L.shape)
    M = sparse.coo_array((sign, (numbered[row, col], np.tile(link, 4))), shape=(L.nnz, len(ends))).tocsr()
    return L, M, ends


def main(side=24, steps=300):
    side, steps, rng = int(side), int(steps), np.random.default_rng(1)
    scipys_L, scipys_M, ends = laplacian(side)
    L, M = spmv.jax.matrix(scipys_L), spmv.jax.matrix(scipys_M)

    def after(k, U):
        A = L.with_values(M @ k)
        return jax.lax.scan(lambda U, _: (U - A @ U, None), U, None, length=TIME)[0]

    at = np.stack(np.divmod(ends.mean(axis=1), side)) / side
    is_patch = (np.hypot(at[0] - 0.3, at[1] - 0.3) < 0.18) | (np.hypot(at[0] - 0.7, at[1] - 0.65) < 0.15)
    truth = jnp.asarray(np.where(is_patch, 0.2, 0.05), jnp.float32)
    pulses = jnp.asarray((rng.random((side * side, PULSES)) < 0.03) * 10.0, jnp.float32)
    seen = after(truth, pulses)

    def misfit(logs):
        return jnp.sum((after(jnp.exp(logs), pulses) - seen) ** 2)

    @jax.jit
    def step(logs, moments, count):
        """One of Adam's."""
        loss, g = jax.value_and_grad(misfit)(logs)
        mean, square = 0.9 * moments[0] + 0.1 * g, 0.99 * moments[1] + 0.01 * g * g
        move = RATE * (mean / (1 - 0.9**count)) / (jnp.sqrt(square / (1 - 0.99**count)) + 1e-8)
        return logs - move, (mean, square), loss

    logs = jnp.full(len(ends), jnp.log(0.08), jnp.float32)
    moments, first = (jnp.zeros_like(logs), jnp.zeros_like(logs)), None
    for count in range(1, steps + 1):
        logs, moments, loss = step(logs, moments, float(count))
        first = loss if first is None else first
    found = np.asarray(jnp.exp(logs))
    print(f"{side} x {side} places, {len(ends)} links, {PULSES} pulses, {TIME} steps of time: misfit {first:.3g}, after {steps} steps {loss:.3g}")
    print(f"conductivity of links in the patches {np.median(found[is_patch]):.3f} (0.200), elsewhere {np.median(found[~is_patch]):.3f} (0.050)")


if __name__ == "__main__":
    main(*sys.argv[1:])
