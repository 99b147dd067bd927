"""What Lark refuses with: codes, their HTTP status and their words.

From the error tables of the im, reaction, chat and contact APIs and the generic error codes of Lark's documentation
(https://open.feishu.cn/document/ukTMukTMukTM/ugjM14COyUjL4ITN). Errors of the im API come with HTTP 400.
"""

from __future__ import annotations

MESSAGES: dict[int, str] = {
    9499: "Bad Request",
    10003: "invalid param",
    10014: "app id not exists",
    10015: "app secret invalid",
    41012: "user id invalid error",
    41050: "no user authority error",
    230001: "Your request contains an invalid request parameter.",
    230002: "The bot can not be outside the group.",
    230006: "Bot ability is not activated.",
    230009: "Message has expired when recall message.",
    230011: "The message was withdrawn.",
    230013: "Bot has NO availability to this user.",
    230017: "Bot is NOT the owner of the resource.",
    230018: "These operations are NOT allowed at current group settings.",
    230019: "The topic does NOT exist.",
    230020: "This operation triggers the frequency limit, ext=chat rate limit",
    230022: "The content of the message contains sensitive information.",
    230025: "The length of the message content reaches its limit.",
    230026: "No permission to recall this message.",
    230027: "Lack of necessary permissions.",
    230028: "The messages do NOT pass the audit.",
    230034: "The receive_id is invalid.",
    230035: "Send Message Permission deny.",
    230049: "The message is being sent.",
    230050: "The message is invisible to the operator.",
    230054: "This operation is not supported for this message type.",
    230071: "The operator is not the sender of the message.",
    230072: "The message has reached the number of times it can be edited.",
    230073: "The thread is invisible to the operator.",
    230099: "Failed to create card content.",
    230110: "Action unavailable as the message has been deleted.",
    231001: "reaction type is invalid.",
    231002: "The operator has no permission to react on the specific message.",
    231003: "The message is not found, maybe not exist or deleted.",
    231007: "The reaction is not added by the operator.",
    231010: "The reaction does not belong to the message.",
    231011: "The reaction_id is invalid.",
    231012: "The request has an invalid pageToken.",
    231203: "The chat type is not supported.",
    232001: "Your request contains an invalid request parameter.",
    232006: "Your request specifies a chat_id which is invalid.",
    232009: "Your request specifies a chat which has already been dissolved.",
    232011: "Operator can NOT be out of the chat.",
    99991201: "path not found",
    99991301: "method not found",
    99991400: "request trigger frequency limit",
    99991661: "Missing access token for authorization. Please make a request with token attached.",
    99991662: "app not in use",
    99991663: "Invalid access token for authorization. Please make a request with token attached.",
    99991671: "Invalid access token. The token must start with t- or u-.",
    99991672: "Access denied. One of the following scopes is required.",
    99992351: "The request you send is not a valid open_id, not existed",
    99992354: "The request you send is not a valid message_id, not existed",
    99992361: "open_id cross app",
    99992402: "field validation failed",
}

TOKEN_CODES = frozenset({10003, 10014, 10015})

_STATUS: dict[int, int] = {
    10003: 200,
    10014: 200,
    10015: 200,
    99991201: 404,
    99991301: 404,
    99991400: 429,
}


class LarkError(Exception):
    """A refusal by Lark."""

    def __init__(self, code: int, ext: str = "", *, status: int | None = None, msg: str | None = None) -> None:
        words = MESSAGES.get(code, "error") if msg is None else msg
        super().__init__(f"{code}: {words}")
        self.code = code
        self.msg = f"{words}, ext={ext}" if ext else words
        self.status = _STATUS.get(code, 400) if status is None else status
        self.retry_after_s: int | None = None
        self.limit: int | None = None


def body(error: LarkError, log_id: str) -> dict[str, object]:
    """The JSON that carries ``error``; the token endpoint's have nothing beside code and words."""
    if error.code in TOKEN_CODES:
        return {"code": error.code, "msg": error.msg, "data": dict[str, object]()}
    return {
        "code": error.code,
        "msg": error.msg,
        "error": {
            "message": error.msg,
            "log_id": log_id,
            "troubleshooter": f"https://open.feishu.cn/search?from=openapi&log_id={log_id}&code={error.code}",
        },
    }
