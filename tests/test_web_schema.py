"""Schemathesis makes up requests from the server's own description, sound and broken ones."""

import hypothesis
import pytest
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from caesura.web import make_app
from small_fillers import music_filler, text_filler

pytestmark = pytest.mark.slow

app = make_app({"words": text_filler(), "tunes": music_filler()})
schema = schemathesis.openapi.from_asgi("/openapi.json", app)
# Not among them: that what fits the description is accepted. It cannot say which models there are.
CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)


@schema.parametrize()
@hypothesis.settings(max_examples=10, deadline=None)
def test_no_request_makes_the_server_fail(case):
    case.call_and_validate(checks=CHECKS)
