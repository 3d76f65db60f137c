"""The routes: what may be asked over HTTP, and what is said when it cannot be answered."""

import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import jax.numpy as jnp
from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse, StreamingResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from caesura import __version__
from caesura.errors import CaesuraError
from caesura.filler.filler import Filler
from caesura.kinds import Kind, Music, Text
from caesura.strategies import GSN
from caesura.web import answers, tables
from caesura.web.fits import Fits
from caesura.web.gone import GoneError, unless_gone
from caesura.web.limits import BODY_BYTES, Limits
from caesura.web.metrics import CONTENT_TYPE, Measured, Metrics
from caesura.web.queue import BusyError, ClosedError, LateError, Line
from caesura.web.schemas import (
    AnyFill,
    AnyFilled,
    AnyQuestion,
    ChainStep,
    FitLine,
    Health,
    LogProbAnswer,
    MarginalsAnswer,
    OfferedModel,
    Problem,
    SeriesFill,
    SongAnswer,
    SongQuestion,
    StrategyName,
    TableAnswer,
    TableQuestion,
)
from caesura.web.security import Guard

STATIC = Path(__file__).parent / "static"
CHAIN_STEPS = (5, 10, 20, 50, 100)  # after which a chain shows what it has come to
SCORING_CHAINS = 25  # a quarter of what `gsn` has elsewhere, since each of those shows is scored
RETRY_SECONDS = 2
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": description}
    for status, description in {
        400: "The body is not JSON.",
        413: "The body is too long.",
        415: "The body is not sent as JSON.",
        422: "The question makes no sense to the model, or is too large.",
        429: "Too many wait already.",
        504: "The answer did not come in time.",
    }.items()
}

# The same where the answer comes in lines, which would be taken for the type of refusals, too.
AS_JSON = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
PROBLEMS_OF_LINES: dict[int | str, dict[str, Any]] = {
    status: {"content": AS_JSON, "description": told["description"]}
    for status, told in PROBLEMS.items()
}


class Lines(StreamingResponse):
    """JSON documents, each in a line of its own, as they come."""

    media_type = "application/x-ndjson"


def make_app(
    fillers: Mapping[str, Filler], *, hosts: Sequence[str] = (), limits: Limits | None = None
) -> FastAPI:
    """The application that offers some fillers by their names.

    `hosts` are the names that the server answers to, or empty for any.
    """
    limits = limits or Limits()
    line = Line(limits.waiting, limits.together, limits.seconds)
    fit_line = Line(limits.fits_waiting, 1, limits.fit_seconds)
    fits = Fits(fit_line, before=line)
    metrics = Metrics()

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        yield
        line.close()
        fit_line.close()

    app = FastAPI(
        title="caesura",
        summary="Fill gaps in sequences, and know how sure you are.",
        version=__version__,
        lifespan=life,
        docs_url=None,  # FastAPI's own page of the description loads scripts from elsewhere
        redoc_url=None,
    )
    app.state.fits = fits  # so that the server can stop them before it waits for requests
    app.add_middleware(Guard, hosts=hosts, most_bytes=BODY_BYTES, seconds=limits.seconds)
    app.add_middleware(Measured, metrics=metrics)
    _say_problems(app)

    async def ask(asked: Any, request: Request, answer: Callable[[answers.Task], Any]) -> Any:
        task = await run_in_threadpool(answers.read_question, fillers, asked, limits)
        return await unless_gone(request, line.run(partial(_each, answer), task))

    @app.get("/api/models")
    async def models() -> list[OfferedModel]:
        """The models that the server offers."""
        return [_offer(name, filler) for name, filler in fillers.items()]

    @app.post("/api/fill", responses=PROBLEMS)
    async def fill(asked: AnyFill, request: Request) -> AnyFilled:
        """Complete a sequence, as `caesura fill` does."""
        task = await run_in_threadpool(answers.read_question, fillers, asked, limits)
        work = partial(answers.fill_all, size=limits.together)
        like = answers.likeness(task, limits)
        return await unless_gone(request, line.run(work, task, like))

    @app.post(
        "/api/fill/chain",
        responses=PROBLEMS_OF_LINES | {200: {"model": ChainStep}},
        response_class=Lines,
    )
    async def chain(asked: AnyFill, request: Request) -> Lines:
        """Complete a sequence by `gsn`, and show what chains of 5, 10, 20, 50 and 100 steps give.

        Every line of the answer is a JSON document. The last has the samples that `/api/fill` would
        have, their probabilities averaged over 25 chains instead of 100. A line with a `detail`
        says why no more will come.
        """
        asked = asked.model_copy(update={"strategy": "gsn"})
        task = await run_in_threadpool(answers.read_question, fillers, asked, limits)

        async def after(steps: int) -> str:
            # An array, so that one compiled program serves any number of steps.
            so_far = task._replace(strategy=GSN(jnp.asarray(steps), SCORING_CHAINS))
            filled = await line.run(partial(_each, answers.fill), so_far)
            return ChainStep(steps=steps, fill=filled).model_dump_json() + "\n"

        first = await unless_gone(request, after(CHAIN_STEPS[0]))

        async def lines() -> AsyncIterator[str]:
            yield first
            for steps in CHAIN_STEPS[1:]:
                try:
                    yield await after(steps)
                except (BusyError, LateError) as problem:
                    yield Problem(detail=_sentence(problem)).model_dump_json() + "\n"
                    return

        return Lines(lines())

    @app.post(
        "/api/fill/series",
        responses=PROBLEMS_OF_LINES | {200: {"model": FitLine}},
        response_class=Lines,
    )
    async def fill_series(asked: SeriesFill, request: Request) -> Lines:
        """Complete a table of numbers, as `caesura fill series` does.

        Every line of the answer is a JSON document: how the training on the table gets on, and in
        the last one the table. A line with a `detail` says why no more will come. Training stops
        when the client goes away.
        """
        table = await run_in_threadpool(tables.read_fill, fillers, asked)
        told = fits.run(partial(tables.fill_table, table, limits.updates), request)
        first = await anext(told)  # there is a place in the line

        async def lines() -> AsyncIterator[str]:
            try:
                yield first.model_dump_json() + "\n"
                async for one in told:
                    yield one.model_dump_json() + "\n"
            except Exception as problem:
                yield Problem(detail=_sentence(problem)).model_dump_json() + "\n"

        return Lines(lines())

    @app.post("/api/log_prob", responses=PROBLEMS)
    async def log_prob(asked: AnyQuestion, request: Request) -> LogProbAnswer:
        """How probable what a complete sequence has at some places is, given the rest of it."""
        return await ask(asked, request, answers.log_prob)

    @app.post("/api/marginals", responses=PROBLEMS)
    async def marginals(asked: AnyQuestion, request: Request) -> MarginalsAnswer:
        """The distribution at each missing place."""
        return await ask(asked, request, answers.marginals)

    @app.post("/api/song", responses=PROBLEMS)
    def song(asked: SongQuestion) -> SongAnswer:
        """A MIDI file as a model sees it: its notes on a grid of steps, its bars and its time."""
        return answers.song(fillers, asked)

    @app.post("/api/table", responses=PROBLEMS)
    def table(asked: TableQuestion) -> TableAnswer:
        """A table as it can be drawn: its columns of numbers, and the times of its rows."""
        return tables.tell_table(asked)

    @app.get("/healthz")
    async def healthz() -> Health:
        """That the server serves."""
        return Health(waiting=line.waiting)

    @app.get("/metrics", response_class=PlainTextResponse)
    async def tell_metrics() -> PlainTextResponse:
        """Counts and times of requests, for Prometheus."""
        gauges = {"waiting": line.waiting, "fits_waiting": fit_line.waiting}
        return PlainTextResponse(metrics.render(gauges), media_type=CONTENT_TYPE)

    @app.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(STATIC / "index.html")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> FileResponse:
        return FileResponse(STATIC / "docs.html")

    app.mount("/static", StaticFiles(directory=STATIC))
    return app


def _each(answer: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    return [answer(item) for item in items]


def _offer(name: str, filler: Filler) -> OfferedModel:
    kind = filler.kind
    return OfferedModel(
        name=name,
        kind=_kind_name(kind),
        strategy=filler.strategy,
        strategies=[s for s in get_args(StrategyName) if _serves(filler, s)],
        gap_char=kind.gap_char if isinstance(kind, Text) else None,
        steps_per_beat=kind.steps_per_beat if isinstance(kind, Music) else None,
    )


def _kind_name(kind: Kind) -> Literal["text", "music", "series"]:
    if isinstance(kind, Text):
        return "text"
    return "music" if isinstance(kind, Music) else "series"


def _serves(filler: Filler, strategy: str) -> bool:
    try:
        filler.method(strategy)
    except CaesuraError:
        return False
    return True


def _sentence(problem: Exception) -> str:
    match problem:
        case BusyError():
            return "Too many requests wait already: try again in a moment."
        case ClosedError():
            return "The server is being stopped."
        case GoneError():
            return "The client has gone."
        case LateError():
            return "The answer did not come in time: ask for less, or try again."
        case CaesuraError():
            return str(problem)
        case _:
            logging.getLogger("caesura").exception("A request failed.", exc_info=problem)
            return "Something went wrong here; the server's log has it."


def _say_problems(app: FastAPI) -> None:
    """Every mistake and mishap as one sentence."""

    def answer(status: int, **headers: str) -> Callable[[Request, Exception], JSONResponse]:
        def say(_: Request, problem: Exception) -> JSONResponse:
            return JSONResponse({"detail": _sentence(problem)}, status, headers)

        return say

    def say_invalid(_: Request, problem: Exception) -> JSONResponse:
        assert isinstance(problem, RequestValidationError)
        status = 400 if problem.errors()[0]["type"] == "json_invalid" else 422
        return JSONResponse({"detail": _first_mistake(problem)}, status)

    def say_refused(_: Request, problem: Exception) -> JSONResponse:
        assert isinstance(problem, HTTPException)
        sentence = f"{problem.detail.rstrip('.')}."
        return JSONResponse({"detail": sentence}, problem.status_code, problem.headers)

    app.add_exception_handler(CaesuraError, answer(422))
    app.add_exception_handler(BusyError, answer(429, **{"Retry-After": str(RETRY_SECONDS)}))
    app.add_exception_handler(LateError, answer(504))
    app.add_exception_handler(GoneError, answer(499))  # which nobody will see
    app.add_exception_handler(HTTPException, say_refused)
    app.add_exception_handler(RequestValidationError, say_invalid)
    app.add_exception_handler(Exception, answer(500))


def _first_mistake(problem: RequestValidationError) -> str:
    """The first of them; what was sent is not repeated, since it may be long or not even text."""
    mistake = problem.errors()[0]
    if mistake["type"] == "json_invalid":
        return "The body of the request is not JSON."
    place = ".".join(str(part) for part in mistake["loc"][1:])
    message = mistake["msg"][0].lower() + mistake["msg"][1:]
    return f"In '{place}': {message}." if place else f"In the body: {message}."
