#!/bin/sh
# Dense products of bfloat16 or float16 numbers add up in a wider type, in JAX and in TensorFlow. Sparse products of the same matrix
# add up in the type of the values, one after the other, so that a sum stops growing at 256 (bfloat16) or 2048 (float16): a row of
# 4000 ones times a vector of ones is 256 instead of 4000. It holds for JAX's BCOO and BCSR, compiled or not, and for its
# segment_sum; for TensorFlow's sparse_dense_matmul in bfloat16 (float16 is right) and its segment sums in both. Sums of the
# same row by reduce_sum and by BCOO.sum are right. Nothing warns of it: JAX's warning says that a default implementation is slower.
# A graph convolution in mixed precision loses the degree of every node that has more than 256 neighbours.
# JAX 0.10.2 and TensorFlow 2.21.0 for CPUs, NumPy 2.4.6, Python 3.11.
# Exit 0: as described. Exit 1: something changed; each line says what was seen.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/jax"
python3 -m venv "$work/tensorflow"
"$work/jax/bin/pip" -q install numpy==2.4.6 jax==0.10.2 jaxlib==0.10.2
"$work/tensorflow/bin/pip" -q install numpy==2.4.6 tensorflow-cpu==2.21.0
cat >"$work/jax.py" <<'PYTHON'
import jax, jax.numpy as jnp
from jax.experimental import sparse

def counts(kind):
    A, x = jnp.ones((2, 4000), kind), jnp.ones(4000, kind)
    B, C = sparse.BCOO.fromdense(A), sparse.BCSR.fromdense(A)
    return {"dense": A @ x, "BCOO": B @ x, "BCOO compiled": jax.jit(lambda B, x: B @ x)(B, x), "BCOO 8 vectors": B @ jnp.ones((4000, 8), kind),
            "BCSR": C @ x, "segment_sum": jax.ops.segment_sum(A[0], jnp.zeros(4000, int), 1), "BCOO.sum": B.sum(axis=1).todense()}

EXPECTED = {"bfloat16": [4000, 256, 256, 256, 256, 256, 4000], "float16": [4000, 2048, 2048, 2048, 2048, 2048, 4000], "float32": [4000] * 7}
PYTHON
cat >"$work/tensorflow.py" <<'PYTHON'
import numpy as np, tensorflow as tf

def counts(kind):
    ones = np.ones((2, 4000), "f4")
    A, D, zeros = tf.cast(tf.sparse.from_dense(ones), kind), tf.cast(ones, kind), np.zeros(4000, int)
    return {"dense": tf.linalg.matmul(D, tf.ones((4000, 1), kind)), "sparse": tf.sparse.sparse_dense_matmul(A, tf.ones((4000, 1), kind)),
            "sparse, 8 vectors": tf.sparse.sparse_dense_matmul(A, tf.ones((4000, 8), kind)),
            "segment_sum": tf.math.segment_sum(D[0], zeros), "unsorted_segment_sum": tf.math.unsorted_segment_sum(D[0], zeros, 1),
            "reduce_sum": tf.sparse.reduce_sum(A, axis=1)}

EXPECTED = {"bfloat16": [4000, 256, 256, 256, 256, 4000], "float16": [4000, 4000, 4000, 2048, 2048, 4000], "float32": [4000] * 6}
PYTHON
cat >"$work/t.py" <<'PYTHON'
import sys
package = sys.argv[1]
scope = {}
exec(open(f"{package}.py").read(), scope)
import numpy as np
changed = False
for kind, expected in scope["EXPECTED"].items():
    for (name, sums), wanted in zip(scope["counts"](kind).items(), expected):
        seen = float(np.asarray(sums).astype("f8").ravel()[0])
        print(package, kind, name, seen, "" if seen == wanted else f"  CHANGED: was {wanted}")
        changed |= seen != wanted
sys.exit(changed)
PYTHON
cd "$work"
changed=0
"$work/jax/bin/python" -I t.py jax 2>jax.log || changed=1
TF_CPP_MIN_LOG_LEVEL=3 "$work/tensorflow/bin/python" -I t.py tensorflow 2>tensorflow.log || changed=1
exit $changed
