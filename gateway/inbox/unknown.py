"""What the API answers for a request that there is not."""

from __future__ import annotations

from gateway.http.errors import ApiError


def unknown_request() -> ApiError:
    """Refused with 404, the same for an id that no request could have."""
    return ApiError(404, "not_found", "There is no such request. GET /api/v1/inbox lists those that there are.")
