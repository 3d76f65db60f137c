"""The paper's equations and strategies in plain NumPy loops, to hold the library against."""

from itertools import permutations, product

import numpy as np

# Of a net only the weights are read. A sequence is `values` [T, D]; `missing` has that shape, as
# has `unknown`, which is what the net must not see at the moment; a value of −1 it must not see
# ever, nor is it predicted. Every probability comes from a
# pass over the whole sequence, and every expectation is a sum over all cases.


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def softmax(a):
    e = np.exp(a - a.max())
    return e / e.sum()


# The nets: Eqs. (1)-(5).


def array(weights):
    return np.asarray(weights, np.float64)


def step(cell, state, x, m):
    """The next (h, c) of one cell; only an LSTM uses c. m is the missing part of the frame."""
    h, c = state
    a = array(cell.W_h) @ h
    if cell.gate is not None:
        a = 2 * sigmoid(m * array(cell.gate)) * a
    u = array(cell.W_x) @ x + array(cell.b_h)
    kind, n = type(cell).__name__, len(h)
    if kind == "Tanh":
        return np.tanh(a + u), c
    if kind == "GRU":
        r = sigmoid(a[:n] + u[:n])
        z = sigmoid(a[n : 2 * n] + u[n : 2 * n])
        new = np.tanh(u[2 * n :] + r * a[2 * n :])
        return z * h + (1 - z) * new, c
    if kind == "LSTM":
        i, f, o = (sigmoid((a + u)[k * n : (k + 1) * n]) for k in (0, 1, 3))
        g = np.tanh((a + u)[2 * n : 3 * n])
        c = f * c + i * g
        return o * np.tanh(c), c
    raise ValueError(kind)


def run(cells, xs, ms):
    """The top layer's h after every step, from zero states."""
    for cell in cells:
        zero = np.zeros(cell.W_h.shape[1])
        state, hs = (zero, zero), []
        for x, m in zip(xs, ms, strict=True):
            state = step(cell, state, x, m)
            hs.append(state[0])
        xs = hs
    return xs


def encode(net, frame, unknown):
    """The input vector of one step, and the part of its frame that is unknown."""
    unknown = np.array([u or v == -1 for u, v in zip(unknown, frame, strict=True)])
    if type(net.head).__name__ == "Softmax":
        x = np.zeros(len(net.head.b_y))
        x[frame[0]] = not unknown[0]
    else:
        x = np.where(unknown, 0.0, frame)
    m = np.mean(unknown)
    more = {"added": [m], "each": unknown / np.sqrt(len(unknown))}.get(net.missing_input, [])
    return np.append(x, more), m


def join(layer, context):
    """What a hidden layer of the head adds, if there is one."""
    if layer is None:
        return 0.0
    a = array(layer.W_z) @ context + array(layer.b_z)
    z = 0.5 * a * (1 + np.tanh(np.sqrt(2 / np.pi) * (a + 0.044715 * a**3)))  # GELU
    return array(layer.V_y) @ z


def predict(net, values, unknown):
    """Eq. (1) or (3) at every step: the probabilities [T, D, K] of all values of its components."""
    xs, ms = zip(*(encode(net, *now) for now in zip(values, unknown, strict=True)), strict=True)
    W_y, b_y = array(net.head.W_y), array(net.head.b_y)
    size = net.forward.cells[0].W_h.shape[1]
    h_f = run(net.forward.cells, xs, ms)
    h_b = run(net.backward.cells, xs[::-1], ms[::-1])[::-1] if net.backward.cells else None
    T, probs = len(values), []
    outside = np.zeros(size)  # of the sequence the states are zero
    for t in range(T):
        context = h_f[t - 1] if t > 0 else outside
        if h_b:
            context = np.concatenate([context, h_b[t + 1] if t < T - 1 else outside])
        y = b_y + W_y @ context + join(net.head.join, context)
        if type(net.head).__name__ == "Softmax":
            probs.append([softmax(y)])
        else:
            probs.append([[1 - sigmoid(a), sigmoid(a)] for a in y])
    return np.array(probs)


# Gaps, orders and fills.


def prob_of_frame(probs, frame, missing):
    """The probability of a frame's missing components, from their [D, K] values."""
    here = zip(probs, frame, missing, strict=True)
    return np.prod([p[v] for p, v, m in here if m and v != -1])


def gaps(missing):
    """The runs of steps where something is missing, from left to right."""
    runs = [[]]
    for t, here in enumerate(missing.any(axis=1)):
        if here:
            runs[-1].append(t)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def orders(missing, rightward=True):
    """All ways to visit the missing steps gap by gap, with every order inside each gap."""
    in_turn = gaps(missing) if rightward else gaps(missing)[::-1]
    return [sum(order, ()) for order in product(*(permutations(gap) for gap in in_turn))]


def fills(values, missing, K):
    """All sequences that agree with `values` where nothing is missing."""
    filled = []
    for choice in product(range(K), repeat=missing.sum()):
        new = values.copy()
        new[missing] = choice
        filled.append(new)
    return filled


def marginals(fills, probs, target):
    """By a distribution over fills: of each value [T, D, K], and of the frames of `target` [T]."""
    K = np.max(fills) + 1
    values = np.einsum("f,ftdk->tdk", probs, np.eye(K)[np.array(fills)])
    same = [[np.array_equal(a, b) for a, b in zip(fill, target, strict=True)] for fill in fills]
    return values, probs @ np.array(same, float)


# nade: Eq. (7).


def nade(net, values, missing):
    """The joint probability of `values` where missing, averaged over all orders of filling."""
    return np.mean([in_order(net, values, missing, order) for order in orders(missing)])


def in_order(net, values, missing, order):
    """The same in one order."""
    unknown, prob = missing.copy(), 1.0
    for t in order:
        prob *= prob_of_frame(predict(net, values, unknown)[t], values[t], missing[t])
        unknown[t] = False
    return prob


# The forward net: Eqs. (6) and (8)-(10).


def oneway(net, values, missing):
    """The chain rule over the missing steps, from left to right."""
    probs = predict(net, values, np.zeros_like(missing))
    return np.prod([prob_of_frame(*now) for now in zip(probs, values, missing, strict=True)])


def posterior(net, fills):
    """P(fill | everything else), by the probability of each whole sequence."""
    joint = np.array([oneway(net, fill, np.ones(fill.shape, bool)) for fill in fills])
    return joint / joint.sum()


# sir: K fills proposed by nade, one of them taken by its weight.


class Proposals:
    """All fills in all orders: how often nade proposes them, and how much they weigh.

    `joint` is the forward net's probability of each fill with what follows, up to a constant.
    """

    def __init__(self, joint, net, fills, missing):
        ways = orders(missing)
        self.numbers = np.repeat(np.arange(len(fills)), len(ways))
        q = np.array([[in_order(net, fill, missing, order) for order in ways] for fill in fills])
        self.chances = q.ravel() / len(ways)
        self.weights = joint[self.numbers] / q.ravel()

    def sir(self, K):
        """The probability that each fill is the one taken of K proposals, a sum over them all."""
        probs = np.zeros(self.numbers[-1] + 1)
        for others in product(range(len(self.weights)), repeat=K - 1):
            others = list(others)
            share = self.weights / (self.weights + self.weights[others].sum())
            chances = K * np.prod(self.chances[others]) * self.chances
            np.add.at(probs, self.numbers, chances * share)
        return probs

    def spread(self):
        """The variance of the weights over their squared mean."""
        mean = self.chances @ self.weights
        return self.chances @ (self.weights / mean) ** 2 - 1


# Gibbs sampling: the chain's distribution over all fills, without sampling.


class Chain:
    """A Gibbs chain over `fills`; `conditional(fill, t)` is where a fill goes when x_t is redrawn.

    That is a vector over all fills; those that differ from the fill elsewhere than at t have
    probability zero. So redraw[t] is a transition matrix.
    """

    def __init__(self, fills, missing, conditional):
        self.fills, self.missing = fills, missing
        steps = np.flatnonzero(missing.any(axis=1))
        self.redraw = {t: np.array([conditional(fill, t) for fill in fills]) for t in steps}

    def sweep_orders(self, i):
        """Sweep i visits the gaps from left to right if i is even, and else from right to left."""
        return orders(self.missing, rightward=i % 2 == 0)

    def after(self, sweeps, start):
        """The distribution over fills after some sweeps from the distribution `start`."""
        now = start
        for i in range(sweeps):
            ends = []
            for order in self.sweep_orders(i):
                end = now
                for t in order:
                    end = end @ self.redraw[t]
                ends.append(end)
            now = np.mean(ends, axis=0)
        return now

    def forced(self, sweeps, start, target):
        """Mean and deviation of the probability that the last sweep, forced, gives to `target`."""
        now = self.after(sweeps - 1, start)
        probs, weights = [], []
        for order in self.sweep_orders(sweeps - 1):
            for i, weight in enumerate(now):
                at, prob = i, 1.0
                for t in order:
                    to = self.forced_step(at, t, target)
                    prob *= self.redraw[t][at, to]
                    at = to
                probs.append(prob)
                weights.append(weight)
        mean = np.average(probs, weights=weights)
        return mean, np.sqrt(np.average((probs - mean) ** 2, weights=weights))

    def forced_step(self, i, t, target):
        """The number of the fill that is like fill i, but like `target` at t."""
        new = self.fills[i].copy()
        new[t] = target[t]
        return next(j for j, fill in enumerate(self.fills) if np.array_equal(fill, new))


def differ_only_at(t, a, b):
    return np.array_equal(np.delete(a, t, axis=0), np.delete(b, t, axis=0))


def gsn(net, fills, missing):
    """The chain that redraws x_t from Eq. (3)."""

    def conditional(fill, t):
        probs = predict(net, fill, np.zeros_like(missing))[t]
        return [
            prob_of_frame(probs, other[t], missing[t]) if differ_only_at(t, fill, other) else 0.0
            for other in fills
        ]

    return Chain(fills, missing, conditional)


def bayes(net, fills, missing):
    """The chain that redraws x_t from the posterior given all other steps, Eq. (8)."""
    probs = posterior(net, fills)

    def conditional(fill, t):
        here = probs * [differ_only_at(t, fill, other) for other in fills]
        return here / here.sum()

    return Chain(fills, missing, conditional)
