"""Every answer that a send or a read can get, and what it means: the rows are written out, not taken from the code."""

from __future__ import annotations

import json
import ssl

import aiohttp
import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from providers.lark.answers import Answer, NoAnswer, NoToken, read_answer
from providers.lark.http import AnswerTooLarge
from providers.lark.outcomes import Endpoint, is_broken, read_failure, send_outcome
from returns.ids import ChatId
from returns.ports import Accepted, Missing, NotPermitted, Refusal, Refused, Unknown, Unreachable

ASKED = ChatId("oc_asked")
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
BOTH = tuple(Endpoint)

CODES: dict[Refusal, tuple[int, ...]] = {
    Refusal.ROUTE_GONE: (230002, 230019, 230034, 232006, 232009, 232010, 232011, 99992351, 99992352, 99992361),
    Refusal.NOT_ALLOWED: (230013, 230018, 230029, 230035, 230038, 230053, 230054, 230075),
    Refusal.CONTENT: (230001, 230017, 230022, 230025, 230028, 230055, 230099, 9499, 99992402),
    Refusal.RATE_LIMITED: (99991400, 230020, 11232, 11233),
    Refusal.STALE_TOKEN: (99991663, 99991664, 99991665),
    Refusal.CONFIGURATION: (
        *(10003, 10012, 10013, 10014, 10015, 10016, 20002),
        *(230006, 230027, 230036, 232025, 232034, 99991201, 99991301, 99991401, 99991403, 99991543),
        *(99991661, 99991662, 99991668, 99991671, 99991672, 99991673, 99991676, 99991677, 99991679),
    ),
}
REPLY_ONLY: dict[Refusal, tuple[int, ...]] = {
    Refusal.QUESTION_RECALLED: (230011, 230110, 231003),
    Refusal.NOT_ALLOWED: (230050, 230071, 230072, 230111),
    Refusal.ROUTE_GONE: (99992354,),
}
UNSURE = (230049, 18121, 2200, 5000, -1, 1, 123456789, 230072 + 1, 230074)

ERRORS = (
    aiohttp.ClientConnectorError,
    aiohttp.ClientConnectorDNSError,
    aiohttp.ClientConnectorSSLError,
    aiohttp.ClientConnectorCertificateError,
    aiohttp.ClientProxyConnectionError,
    aiohttp.ClientHttpProxyError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.SocketTimeoutError,
    aiohttp.ServerDisconnectedError,
    aiohttp.ClientOSError,
    aiohttp.ClientConnectionResetError,
    aiohttp.ClientPayloadError,
    aiohttp.ClientResponseError,
    AnswerTooLarge,
    TimeoutError,
    ConnectionResetError,
    ssl.SSLError,
    OSError,
)
"""Some of what an HTTP client raises. None of them decides: whether the request can have left does."""


def answer(code: object, status: int = 400, data: object = None, **headers: str) -> Answer:
    body = json.dumps({"code": code, "msg": "whatever", "data": data}).encode()
    return read_answer(status, httpx.Headers({"X-Tt-Logid": "log-7", **headers}), body)


@pytest.mark.parametrize("endpoint", BOTH)
@pytest.mark.parametrize(("refusal", "code"), [(kind, code) for kind, codes in CODES.items() for code in codes])
@pytest.mark.parametrize("status", [200, 400, 401, 403, 404])
def test_a_listed_code_is_a_definite_refusal(endpoint: Endpoint, refusal: Refusal, code: int, status: int) -> None:
    expected = Refused(refusal, code, None, "log-7", chat_only=code in (230020, 11233))
    assert send_outcome(endpoint, answer(code, status), ASKED) == expected


@pytest.mark.parametrize(("refusal", "code"), [(kind, code) for kind, codes in REPLY_ONLY.items() for code in codes])
def test_codes_about_the_target_refuse_replies_and_leave_plain_messages_unknown(refusal: Refusal, code: int) -> None:
    assert send_outcome(Endpoint.REPLY, answer(code), ASKED) == Refused(refusal, code, None, "log-7")
    assert isinstance(send_outcome(Endpoint.CREATE, answer(code), ASKED), Unknown)


@pytest.mark.parametrize("endpoint", BOTH)
@pytest.mark.parametrize("code", UNSURE)
@pytest.mark.parametrize("status", [200, 400])
def test_unsure_and_unlisted_codes_are_unknown(endpoint: Endpoint, code: int, status: int) -> None:
    outcome = send_outcome(endpoint, answer(code, status), ASKED)
    assert isinstance(outcome, Unknown)
    assert (outcome.code, outcome.log_id) == (code, "log-7")


@pytest.mark.parametrize("endpoint", BOTH)
@pytest.mark.parametrize("status", [500, 502, 503, 504])
@pytest.mark.parametrize("code", [230002, 99991400, 99991663, None, "text"])
def test_a_server_error_is_unknown_whatever_it_says(endpoint: Endpoint, status: int, code: object) -> None:
    assert isinstance(send_outcome(endpoint, answer(code, status), ASKED), Unknown)


@pytest.mark.parametrize("endpoint", BOTH)
@pytest.mark.parametrize("status", [200, 301, 302, 400, 401, 403, 404, 407, 502])
@pytest.mark.parametrize(
    "body", [b"", b"<html>502</html>", b'{"code":0', b"[]", b"null", b"\xff\xfe", b'{"code":true}']
)
def test_no_code_is_unknown(endpoint: Endpoint, status: int, body: bytes) -> None:
    assert isinstance(send_outcome(endpoint, read_answer(status, httpx.Headers(), body), ASKED), Unknown)


@pytest.mark.parametrize("endpoint", BOTH)
@pytest.mark.parametrize("body", [b"", b"<html>slow down</html>", b'{"code":4711}', b'{"code":99991400}'])
def test_429_is_a_rate_limit_with_or_without_a_code(endpoint: Endpoint, body: bytes) -> None:
    outcome = send_outcome(endpoint, read_answer(429, httpx.Headers({"x-ogw-ratelimit-reset": "52"}), body), ASKED)
    assert isinstance(outcome, Refused)
    assert (outcome.refusal, outcome.retry_after_ms) == (Refusal.RATE_LIMITED, 52_000)


@pytest.mark.parametrize("endpoint", BOTH)
def test_still_being_sent_is_unknown_even_with_429(endpoint: Endpoint) -> None:
    assert isinstance(send_outcome(endpoint, answer(230049, 429), ASKED), Unknown)


@pytest.mark.parametrize(
    ("header", "wait_ms"),
    [
        ("1", 1_000),
        ("0", 1_000),
        ("-1", 1_000),
        ("0.2", 1_000),
        ("1.5", 1_500),
        ("1000000000", 600_000),
        ("1e300", 600_000),
        ("inf", 600_000),
        ("-inf", 1_000),
        ("nan", None),
        ("soon", None),
        ("Wed, 21 Oct 2026 07:28:00 GMT", None),
        ("0x10", None),
        ("1,5", None),
        ("", None),
    ],
)
def test_the_wait_is_seconds_within_bounds(header: str, wait_ms: int | None) -> None:
    limited = answer(230020, 400, **{"x-ogw-ratelimit-reset": header})
    outcome = send_outcome(Endpoint.REPLY, limited, ASKED)
    assert outcome == Refused(Refusal.RATE_LIMITED, 230020, wait_ms, "log-7", chat_only=True)
    assert read_failure(limited) == Unreachable(wait_ms or 1_000)


@pytest.mark.parametrize(
    ("code", "status", "chat_only"),
    [(230020, 400, True), (11233, 400, True), (99991400, 429, False), (11232, 400, False), (None, 429, False)],
)
def test_a_limit_is_of_the_chat_or_of_the_app(code: int | None, status: int, *, chat_only: bool) -> None:
    limited = answer(code, status)
    outcome = send_outcome(Endpoint.CREATE, limited, ASKED)
    assert isinstance(outcome, Refused)
    assert (outcome.refusal, outcome.chat_only) == (Refusal.RATE_LIMITED, chat_only)
    assert read_failure(limited) == Unreachable(1_000)


def test_retry_after_is_understood_too() -> None:
    assert answer(99991400, 429, **{"retry-after": "3"}).retry_after_ms == 3_000
    assert answer(99991400, 429, **{"retry-after": "3", "x-ogw-ratelimit-reset": "7"}).retry_after_ms == 7_000


def test_only_limits_carry_a_wait() -> None:
    outcome = send_outcome(Endpoint.CREATE, answer(230002, 400, **{"x-ogw-ratelimit-reset": "9"}), ASKED)
    assert outcome == Refused(Refusal.ROUTE_GONE, 230002, None, "log-7")


@pytest.mark.parametrize("endpoint", BOTH)
@pytest.mark.parametrize("error", ERRORS)
def test_what_never_left_is_refused(endpoint: Endpoint, error: type[Exception]) -> None:
    assert send_outcome(endpoint, NoAnswer(error, left=False), ASKED) == Refused(Refusal.OFFLINE)


@pytest.mark.parametrize("endpoint", BOTH)
@pytest.mark.parametrize("error", [*ERRORS, aiohttp.InvalidURL])
def test_what_may_have_left_is_unknown(endpoint: Endpoint, error: type[Exception]) -> None:
    outcome = send_outcome(endpoint, NoAnswer(error), ASKED)
    assert isinstance(outcome, Unknown)
    assert error.__name__ in outcome.reason


@pytest.mark.parametrize("error", [aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError])
def test_what_could_never_leave_is_configuration(error: type[Exception]) -> None:
    assert send_outcome(Endpoint.REPLY, NoAnswer(error, left=False), ASKED) == Refused(Refusal.CONFIGURATION)


@pytest.mark.parametrize("status", [200, 400, 502])
def test_success_with_an_id_is_accepted_and_keeps_the_chat_that_was_answered(status: int) -> None:
    data = {"message_id": "om_1", "chat_id": "oc_other", "thread_id": "omt_1"}
    outcome = send_outcome(Endpoint.REPLY, answer(0, status, data), ASKED)
    assert isinstance(outcome, Accepted)
    assert (outcome.locator.message_id, outcome.locator.chat_id) == ("om_1", "oc_other")
    assert (outcome.locator.thread_id, outcome.log_id) == ("omt_1", "log-7")


def test_an_unsaid_chat_is_the_one_asked_for() -> None:
    outcome = send_outcome(Endpoint.CREATE, answer(0, 200, {"message_id": "om_1"}), ASKED)
    assert isinstance(outcome, Accepted)
    assert (outcome.locator.chat_id, outcome.locator.thread_id) == (ASKED, None)


@pytest.mark.parametrize("data", [None, {}, [], {"message_id": ""}, {"message_id": 7}, {"message_id": "a b"}, "om_1"])
def test_success_without_an_id_is_unknown(data: object) -> None:
    assert isinstance(send_outcome(Endpoint.CREATE, answer(0, 200, data), ASKED), Unknown)


def test_without_a_token_the_refusal_is_the_tokens() -> None:
    refused = Refused(Refusal.RATE_LIMITED, 99991400, 5_000)
    assert send_outcome(Endpoint.CREATE, NoToken(refused), ASKED) == refused


@unhurried
@given(
    code=st.one_of(st.integers(), st.none(), st.text(), st.booleans(), st.floats(allow_nan=False)),
    status=st.integers(200, 599),
    endpoint=st.sampled_from(BOTH),
)
def test_no_answer_without_an_id_is_ever_accepted(code: object, status: int, endpoint: Endpoint) -> None:
    outcome = send_outcome(endpoint, answer(code, status), ASKED)
    assert not isinstance(outcome, Accepted)
    if status >= 500:
        assert isinstance(outcome, Unknown)


@pytest.mark.parametrize("code", [230110, 99992354, 230011])
def test_reading_what_is_not_there(code: int) -> None:
    assert read_failure(answer(code)) == Missing()


@pytest.mark.parametrize("code", [230002, 230027, 230050, 230073, 230074, 231203, 231204, 232009, 232011, 99991672])
def test_reading_what_is_forbidden(code: int) -> None:
    assert read_failure(answer(code)) == NotPermitted(code)


@pytest.mark.parametrize("code", [2200, 5000, 1, 230020, 99991400, 99991663, 424242, None])
@pytest.mark.parametrize("status", [200, 400, 429, 500])
def test_reading_what_cannot_be_reached(code: object, status: int) -> None:
    limited = status < 500 and (status == 429 or code in CODES[Refusal.RATE_LIMITED])
    assert read_failure(answer(code, status)) == Unreachable(1_000 if limited else None)


def test_a_server_error_never_says_that_a_message_is_missing() -> None:
    assert read_failure(answer(230110, 500)) == Unreachable()


def test_reading_without_a_token() -> None:
    assert read_failure(NoToken(Refused(Refusal.CONFIGURATION, 10014))) == NotPermitted(10014)
    assert read_failure(NoToken(Refused(Refusal.RATE_LIMITED, 1, 9_000))) == Unreachable(9_000)
    assert read_failure(NoToken(Refused(Refusal.OFFLINE))) == Unreachable()
    assert read_failure(NoAnswer(aiohttp.SocketTimeoutError)) == Unreachable()


@pytest.mark.parametrize(
    ("exchange", "again"),
    [
        (NoAnswer(aiohttp.SocketTimeoutError), False),
        (NoAnswer(aiohttp.ConnectionTimeoutError, left=False), False),
        (NoAnswer(TimeoutError), False),
        (NoAnswer(aiohttp.ServerDisconnectedError), True),
        (NoAnswer(aiohttp.ClientConnectorError, left=False), True),
        (NoAnswer(aiohttp.NonHttpUrlClientError, left=False), False),
        (NoToken(Refused(Refusal.OFFLINE)), False),
        (answer(0, 200), False),
        (answer(230110), False),
        (answer(99991663), True),
        (answer(None, 200), True),
        (answer(None, 429), False),
        (answer(0, 503), True),
    ],
)
def test_what_a_read_asks_again_for(exchange: Answer | NoAnswer | NoToken, again: bool) -> None:
    assert is_broken(exchange) is again


def test_the_log_id_may_stand_in_the_error() -> None:
    body = b'{"code":1,"error":{"log_id":"2024-x"}}'
    assert read_answer(400, httpx.Headers(), body).log_id == "2024-x"
    assert read_answer(400, httpx.Headers({"x-tt-logid": "bad id\x01"}), b'{"code":1}').log_id is None
