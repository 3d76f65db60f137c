"""`bayes`: Gibbs sampling from the posterior of the forward net."""

from typing import ClassVar

from jaxtyping import Bool, Float, Int, Shaped

from caesura.errors import CaesuraError, whole_number
from caesura.later import Array, field, jax, jnp
from caesura.nets.cells import State
from caesura.nets.frames import Categorical, Frame
from caesura.nets.heads.base import Query
from caesura.nets.heads.linear import Independent
from caesura.nets.pair import Nets
from caesura.nets.rnn import Net, NetName
from caesura.strategies.cursor import Conditional, Cursor
from caesura.strategies.gibbs import Gibbs
from caesura.strategies.window import Window


class Bayes(Gibbs):
    """The paper's Bayesian MCMC: x_t is resampled from its posterior given all other steps.

    Every symbol is tried at t, and the forward net scores all steps that follow. That takes
    minutes for a text, and needs categorical frames.

    Parameters
    ----------
    steps
        The number of resampling steps in the longest gap, M in the paper (default 100). A gap of g
        steps gets M/g sweeps.
    chains
        The number of chains that a log-probability or a marginal averages over (default 100).
    lookahead
        How many steps after the last missing one are scored (default None: all of them).

    Examples
    --------
    >>> Bayes(lookahead=10).stop(missing_stop=20, length=100)
    30
    """

    name: ClassVar[str] = "bayes"
    net: ClassVar[NetName] = "forward"
    interactive: ClassVar[bool] = False

    lookahead: int | None = field(static=True, default=None)

    def __check_init__(self) -> None:
        if self.lookahead is not None:
            whole_number("lookahead", self.lookahead, 0)

    def check(self, net: Net) -> None:
        super().check(net)
        if not isinstance(net.frame, Categorical):
            raise CaesuraError(
                "The strategy 'bayes' tries every value of a frame: it needs categorical frames."
            )

    def stop(self, missing_stop: int, length: int) -> int:
        return length if self.lookahead is None else min(length, missing_stop + self.lookahead)

    def states(self, net: Nets, width: int, longest_gap: int, samples: int) -> int:
        """Return the states of all chains; each tries every symbol at once beside its window."""
        return samples * self.chains * (width + net.frame.cardinality)

    def conditional(self, net: Net, window: Window) -> Conditional:
        symbols = jnp.arange(net.frame.cardinality)[:, None]

        def judge_all(cursor: Cursor) -> Float[Array, "L K"]:
            every_symbol = jnp.broadcast_to(symbols, (len(cursor.at), *symbols.shape))
            return look_ahead(net, cursor, window.valid, every_symbol)

        return Conditional(Logits(net.frame), judge_all)


class Logits(Independent):
    """A head whose context is the distribution itself, up to a constant."""

    frame: Frame

    def marginals(self, query: Query) -> Float[Array, "D K"]:
        return jax.nn.log_softmax(query.context)[None]


def look_ahead(
    net: Net, cursor: Cursor, valid: Bool[Array, "L W"], frames: Shaped[Array, "L K D"]
) -> Float[Array, "L K"]:
    """Return log Π_{τ≥t} P(x_τ | x_1 … x_{τ−1}), Eqs. (8)–(10), for each of K candidates of x_t.

    All candidates run in parallel from the state before t to the end of the window.
    """
    whole = jnp.ones(frames.shape[-1], bool)
    stop = jnp.sum(valid, axis=1)

    def propose(lane: Cursor, frames: Array) -> tuple[Float[Array, " K"], State]:
        before = jax.tree.map(lambda h: h[lane.at], lane.forward)
        context = net.context(before, net.backward.initial())
        inputs = jax.vmap(net.encode, in_axes=(0, None))(frames, ~whole)
        states = jax.vmap(net.forward.step, in_axes=(None, 0))(before, inputs)
        return jax.vmap(lambda x: net.head.log_prob(Query(context, x, whole)))(frames), states

    def judge(
        lane: Cursor, stop: Int[Array, ""], scores: Float[Array, " K"], states: State, ahead: Array
    ) -> tuple[Float[Array, " K"], State]:
        tau = lane.at + ahead
        x = lane.values[tau]
        contexts = jax.vmap(net.context, in_axes=(0, None))(states, net.backward.initial())
        log_probs = jax.vmap(lambda context: net.head.log_prob(Query(context, x, whole)))(contexts)
        states = jax.vmap(net.forward.step, in_axes=(0, None))(states, net.encode(x, ~whole))
        return scores + jnp.where(tau < stop, log_probs, 0.0), states

    def judge_next(ahead: Array, carry: tuple[Array, State]) -> tuple[Array, State]:
        return jax.vmap(judge, in_axes=(0, 0, 0, 0, None))(cursor, stop, *carry, ahead)

    scores, _ = jax.lax.fori_loop(
        1, jnp.max(stop - cursor.at), judge_next, jax.vmap(propose)(cursor, frames)
    )
    return scores
