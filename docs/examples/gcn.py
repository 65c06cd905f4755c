"""gcn.py: a graph network that learns which group each node of a random graph belongs to, with PyTorch's gradients through
products of spmv.torch.matrix.

    python gcn.py [NODES [DEVICE]]      # cuda: on a GPU

Two layers, H <- relu(A H W): A is the adjacency matrix with self-loops, scaled on both sides by the roots of the degrees.
Features are noise but for a hint at one node in twenty, whose group is told; the others' groups follow from the links."""
import sys

import numpy as np
import scipy.sparse as sparse
import spmv.torch
import torch

GROUPS, FEATURES, HIDDEN, STEPS = 4, 16, 16, 60


def graph(nodes, rng):
    """Links are twenty times as likely within a group; returns the scaled adjacency matrix, and the groups."""
    group = rng.integers(0, GROUPS, nodes)
    source, target = rng.integers(0, nodes, (2, 40 * nodes))
    kept = (group[source] == group[target]) | (rng.random(len(source)) < 0.05)
    links = sparse.csr_matrix((np.ones(kept.sum()), (source[kept], target[kept])), (nodes, nodes))
    links = ((links + links.T + sparse.eye(nodes)) > 0).astype(np.float32)
    scale = sparse.diags(1 / np.sqrt(np.asarray(links.sum(axis=1)).ravel()))
    return (scale @ links @ scale).tocsr().astype(np.float32), torch.as_tensor(group)


def main(nodes=2000, device="cpu"):
    nodes, rng = int(nodes), np.random.default_rng(1)
    torch.manual_seed(1)
    S, group = graph(nodes, rng)
    A, group = spmv.torch.matrix(S, expected=4 * STEPS).to(device), group.to(device)
    told = torch.as_tensor(rng.random(nodes) < 0.05, device=device)
    X = torch.randn(nodes, FEATURES, device=device)
    X[told, group[told]] += 3
    weights = [(0.1 * torch.randn(shape, device=device)).requires_grad_() for shape in ((FEATURES, HIDDEN), (HIDDEN, GROUPS))]
    optimizer = torch.optim.Adam(weights, lr=0.02)
    for _ in range(STEPS):
        scores = A @ torch.relu(A @ (X @ weights[0])) @ weights[1]
        loss = torch.nn.functional.cross_entropy(scores[told], group[told])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    right = (scores.argmax(1) == group)[~told].double().mean()
    print(f"{nodes} nodes, {STEPS} steps, loss {loss:.3f}, {100 * right:.0f} % of the other nodes' groups found")
    for facts in A.info():
        print(f"{'A.T' if facts['transposed'] else 'A'}: {facts['backend']}:{facts['kernel']}")


if __name__ == "__main__":
    main(*sys.argv[1:])
