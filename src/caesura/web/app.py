"""The routes of the server, and its answers to requests that fail."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax.numpy as jnp
from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse, StreamingResponse
from fastapi.staticfiles import StaticFiles
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException

from caesura import __version__
from caesura.errors import CaesuraError
from caesura.filler import Filler
from caesura.programs import PROGRAMS
from caesura.strategies import GSN
from caesura.web import answers, tables
from caesura.web.fits import Fits
from caesura.web.gone import GoneError, unless_gone
from caesura.web.limits import BODY_BYTES, Limits
from caesura.web.memory import FullError, Memory, is_measured, resident
from caesura.web.metrics import Measured, Metrics
from caesura.web.queue import BusyError, ClosedError, LateError, Line
from caesura.web.schemas import (
    ChainStep,
    ComposedQuestion,
    EditionAnswer,
    EditionQuestion,
    Filled,
    FillQuestion,
    FitLine,
    Health,
    LogProbAnswer,
    MarginalsAnswer,
    OfferedModel,
    Problem,
    Question,
    Ready,
    TableAnswer,
    TableFillQuestion,
    TableQuestion,
)
from caesura.web.security import Guard
from caesura.web.warming import NotReadyError, Warming

STATIC = Path(__file__).parent / "static"
CHAIN_STEPS = (5, 10, 20, 50, 100)  # after which a chain shows its fill
SCORING_CHAINS = 25  # a quarter of what `gsn` has elsewhere, since every shown fill is scored
RETRY_SECONDS = 2
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": description}
    for status, description in {
        400: "The body is not JSON.",
        413: "The body is too long.",
        415: "The body is not sent as JSON.",
        422: "The model cannot answer the question, or it is too large.",
        429: "Too many requests wait already.",
        503: "The server holds as much memory as it may, or is not ready.",
        504: "The answer did not come in time.",
    }.items()
}

# The same for answers in lines, whose content type would otherwise be that of refusals, too.
AS_JSON = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
PROBLEMS_OF_LINES: dict[int | str, dict[str, Any]] = {
    status: {"content": AS_JSON, "description": told["description"]}
    for status, told in PROBLEMS.items()
}


class Lines(StreamingResponse):
    """JSON documents, one per line, as they are made."""

    media_type = "application/x-ndjson"


def make_app(
    fillers: Mapping[str, Filler],
    *,
    hosts: Sequence[str] = (),
    limits: Limits | None = None,
    warm: Callable[[str], None] | None = None,
) -> FastAPI:
    """Return the application that offers some fillers by their names.

    Parameters
    ----------
    fillers
        The models by the names that clients use.
    hosts
        The host names that the server answers to; if empty, any.
    limits
        What one request may ask of the machine.
    warm
        If given, the server compiles at its start what fills by the default strategies need, and
        reports to this function.
    """
    limits = limits or Limits()
    memory = Memory(limits.memory) if is_measured() else None
    after, after_fit = (memory.tidy, memory.tidy_after_training) if memory else (_pass, _pass)
    line = Line(limits.waiting, limits.together, limits.seconds, after=after)
    fit_line = Line(limits.fits_waiting, 1, limits.fit_seconds, after=after_fit)
    warming = Warming(fillers if warm else {}, line)
    fits = Fits(fit_line, before=line)
    metrics = Metrics(
        {
            "caesura_waiting": ("Requests that wait for the model.", lambda: line.waiting),
            "caesura_fits_waiting": ("Tables that wait for training.", lambda: fit_line.waiting),
            "caesura_programs": ("Compiled programs that are kept.", lambda: len(PROGRAMS)),
            "caesura_programs_evicted": (
                "Compiled programs that were let go.",
                lambda: PROGRAMS.evicted,
            ),
            "caesura_shapes_left": (
                "Shapes to be compiled before the server is ready.",
                lambda: warming.left,
            ),
        }
        | ({"caesura_resident_bytes": ("Resident memory.", resident)} if memory else {})
    )

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        compiling = asyncio.create_task(warming.run(warm)) if warm else None
        yield
        if compiling:
            compiling.cancel()
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

    async def check_memory() -> None:
        if memory:
            await run_in_threadpool(memory.check)

    async def read(asked: Question) -> answers.Task:
        await check_memory()
        return await run_in_threadpool(answers.read_question, fillers, asked, limits)

    async def ask(asked: Question, request: Request, answer: Callable[[answers.Task], Any]) -> Any:
        task = await read(asked)
        size = task.size._replace(sort=(answer, task.size.sort))
        work = line.run(lambda tasks, _: list(map(answer, tasks)), task, size=size)
        return await unless_gone(request, work)

    @app.get("/api/models")
    async def models() -> list[OfferedModel]:
        """The models that the server offers."""
        return [answers.offer(name, filler) for name, filler in fillers.items()]

    @app.post("/api/fill", responses=PROBLEMS)
    async def fill(asked: FillQuestion, request: Request) -> Filled:
        """Complete a sequence, as `caesura fill` does."""
        task = await read(asked)
        done = await unless_gone(request, line.run(answers.fill_all, task, task.like, task.size))
        return await run_in_threadpool(answers.tell_fill, done, task)

    @app.post(
        "/api/fill/chain",
        responses=PROBLEMS_OF_LINES | {200: {"model": ChainStep}},
        response_class=Lines,
    )
    async def chain(asked: FillQuestion, request: Request) -> Lines:
        """Complete a sequence by `gsn`, and show the fills after 5, 10, 20, 50 and 100 steps.

        Every line of the answer is a JSON document. The last has the fill of `/api/fill`, except
        that probabilities are averages over 25 chains instead of 100, and that without `draws` or
        `samples` it is one draw. A line with a `detail` says why no more lines follow.
        """
        if asked.strategy not in (None, "gsn"):
            raise CaesuraError("Only the strategy 'gsn' has a chain: leave out the strategy.")
        if asked.seconds is not None:
            raise CaesuraError("A chain has its own length: leave out the seconds.")
        draws = max(1, asked.samples, asked.draws or 1)
        task = await read(asked.model_copy(update={"strategy": "gsn", "draws": draws}))

        async def after(steps: int) -> str:
            # An array, so that one compiled program serves any number of steps.
            strategy = GSN(jnp.asarray(steps), SCORING_CHAINS)
            so_far = task._replace(request=replace(task.request, strategy=strategy))
            done = await line.run(answers.fill_all, so_far)
            told = await run_in_threadpool(answers.tell_fill, done, task)
            return ChainStep(steps=steps, fill=told).model_dump_json() + "\n"

        first = await unless_gone(request, after(CHAIN_STEPS[0]))

        async def lines() -> AsyncIterator[str]:
            yield first
            for steps in CHAIN_STEPS[1:]:
                try:
                    yield await after(steps)
                except Exception as problem:
                    yield _last_line(problem)
                    return

        return Lines(lines())

    @app.post(
        "/api/fill/series",
        responses=PROBLEMS_OF_LINES | {200: {"model": FitLine}},
        response_class=Lines,
    )
    async def fill_series(asked: TableFillQuestion, request: Request) -> Lines:
        """Complete a table, as `caesura fill series` does.

        Every line of the answer is a JSON document: the progress of the training on the table, and
        at last the filled table. A line with a `detail` says why no more lines follow. Training
        stops when the client closes the connection.
        """
        await check_memory()
        table = await run_in_threadpool(tables.read_fill, fillers, asked)
        told = fits.run(partial(tables.fill_table, table, limits.updates), request)
        first = await anext(told)  # raises if the line is full

        async def lines() -> AsyncIterator[str]:
            try:
                yield first.model_dump_json() + "\n"
                async for one in told:
                    yield one.model_dump_json() + "\n"
            except Exception as problem:
                yield _last_line(problem)

        return Lines(lines())

    @app.post("/api/log_prob", responses=PROBLEMS)
    async def log_prob(asked: Question, request: Request) -> LogProbAnswer:
        """The log-probability of what a complete sequence has at some places, given the rest."""
        return await ask(asked, request, answers.log_prob)

    @app.post("/api/marginals", responses=PROBLEMS)
    async def marginals(asked: Question, request: Request) -> MarginalsAnswer:
        """The distribution at each missing place."""
        return await ask(asked, request, answers.marginals)

    @app.post("/api/view", responses=PROBLEMS)
    def view(asked: ComposedQuestion) -> dict[str, Any]:
        """What a page needs to draw a sequence as a model sees it.

        For music: the number of `steps` of the grid and `steps_per_beat`, the steps at which `bars`
        and `beats` begin, the number of the `first_bar`, the `seconds` at which steps begin, the
        names of the `parts`, and the `notes`; then what is `missing` once the wishes of the request
        are met, and the `suffix` of a file like what was sent. For a text with a notation: its
        `format`, the running text in `pieces` (`text`, or the number of a `gap`), and the `gaps`:
        their `marks` as places in the text that was sent, and their `shortest` and `longest`
        length.
        """
        return answers.view(fillers, asked)

    @app.post("/api/edition", responses=PROBLEMS)
    def edition(asked: EditionQuestion) -> EditionAnswer:
        """A text with a notation, with what is to stand in its lacunae; all else stays as it is.

        No model is asked: the parts and their probabilities are those of an earlier answer.
        """
        return answers.edition(fillers, asked)

    @app.post("/api/table", responses=PROBLEMS)
    def table(asked: TableQuestion) -> TableAnswer:
        """What a page needs to draw a table: its columns of numbers, and the times of its rows."""
        return tables.tell_table(asked)

    @app.get("/healthz")
    async def healthz() -> Health:
        """The server is running."""
        return Health(waiting=line.waiting)

    @app.get("/readyz", responses={503: PROBLEMS[503]})
    async def readyz() -> Ready:
        """The server has compiled what fills by the default strategies need."""
        warming.check()
        return Ready(shapes=warming.total)

    @app.get("/metrics", response_class=PlainTextResponse)
    async def tell_metrics() -> PlainTextResponse:
        """Counts and times of requests, for Prometheus."""
        return PlainTextResponse(metrics.render(), media_type=CONTENT_TYPE_LATEST)

    @app.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(STATIC / "index.html")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> FileResponse:
        return FileResponse(STATIC / "docs.html")

    app.mount("/static", StaticFiles(directory=STATIC))
    return app


def _pass() -> None:
    """Do nothing, where memory is not measured."""


def _last_line(problem: Exception) -> str:
    return Problem(detail=_sentence(problem)).model_dump_json() + "\n"


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
        case FullError():
            return "The server holds as much memory as it may: try again in a moment."
        case NotReadyError() | CaesuraError():
            return str(problem)
        case _:
            logging.getLogger("caesura").exception("A request failed.", exc_info=problem)
            return "Something went wrong on the server; its log says what."


def _say_problems(app: FastAPI) -> None:
    """Answer every failure with one sentence."""

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
    for unavailable in (FullError, NotReadyError):
        app.add_exception_handler(unavailable, answer(503, **{"Retry-After": str(RETRY_SECONDS)}))
    app.add_exception_handler(LateError, answer(504))
    app.add_exception_handler(GoneError, answer(499))  # which nobody will see
    app.add_exception_handler(HTTPException, say_refused)
    app.add_exception_handler(RequestValidationError, say_invalid)
    app.add_exception_handler(Exception, answer(500))


def _first_mistake(problem: RequestValidationError) -> str:
    """Return the first mistake; what was sent may be long, so it is not repeated."""
    mistake = problem.errors()[0]
    if mistake["type"] == "json_invalid":
        return "The body of the request is not JSON."
    place = ".".join(str(part) for part in mistake["loc"][1:])
    message = mistake["msg"][0].lower() + mistake["msg"][1:]
    return f"In '{place}': {message}." if place else f"In the body: {message}."
