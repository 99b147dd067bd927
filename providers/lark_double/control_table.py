"""The actions of the control API and the fields that each of them takes."""

from __future__ import annotations

from providers.lark_double.control_fields import (
    APP,
    CHAT,
    FAULT,
    FLAG,
    HEADERS,
    MESSAGE,
    NAME,
    OBJECT,
    PARAGRAPHS,
    PERSON,
    PUSH,
    REACTION,
    SAID,
    SOMEBODY,
    URL,
    WORDS,
    Fields,
    needed,
    one_of,
    or_null,
    real,
    reals,
    several,
    whole,
)
from providers.lark_double.emojis import EMOJI_TYPES
from providers.lark_double.faults import FAULTY_OPERATIONS, FaultKind
from providers.lark_double.happenings import RecallType
from providers.lark_double.model import ChatForm, ChatMode, EchoShape, UuidRepeat
from providers.lark_double.operations import Operation

MOST_SECONDS = 100_000_000
"""About three years."""
MOST = 1_000_000_000
END_OF_TIME_MS = 253_402_300_799_999
"""The end of the year 9999."""
PUSH_STATES = ("pending", "held", "delivered", "exhausted", "unsent")

_SECONDS = real(MOST_SECONDS)
_AT = whole(1, END_OF_TIME_MS)
_LIMIT = whole(1, MOST)
_ALTERED: Fields = {"drop": several(NAME), "put": OBJECT}
_IN_REPLY: Fields = {"reply_to": MESSAGE, "in_thread": FLAG, "at": _AT}
_REQUESTS: Fields = {"app": APP, "chat": CHAT, "committed": FLAG, "finished": FLAG, "message": NAME}

ACTING: dict[str, Fields] = {
    "app": {
        "app_id": needed(NAME),
        "app_secret": NAME,
        "encrypt_key": WORDS,
        "verification_token": WORDS,
        "webhook_url": or_null(URL, "nowhere"),
        "name": NAME,
        "hears_all_group_messages": FLAG,
        "hears_bots": FLAG,
        "hears_at_all": FLAG,
        "sees_user_ids": FLAG,
        "enabled": FLAG,
        "echo": one_of([shape.value for shape in EchoShape]),
    },
    "set_webhook": {"app": needed(APP), "url": needed(or_null(URL, "nowhere"))},
    "person": {"key": needed(NAME), "name": NAME, "outside": FLAG},
    "open_id": {"app": needed(APP), "who": needed(SOMEBODY)},
    "chat": {
        "name": needed(NAME),
        "people": several(NAME),
        "bots": several(APP),
        "mode": one_of([mode.value for mode in ChatMode]),
        "form": one_of([form.value for form in ChatForm]),
        "external": FLAG,
    },
    "private_chat": {"person": needed(PERSON), "app": needed(APP)},
    "say": {
        "chat": needed(CHAT),
        "person": needed(PERSON),
        "text": needed(SAID),
        "mention": several(SOMEBODY),
        "mention_all": one_of(("text", "entry")),
        **_IN_REPLY,
        **_ALTERED,
        "headers": HEADERS,
        "silent": FLAG,
    },
    "say_post": {
        "chat": needed(CHAT),
        "person": needed(PERSON),
        "paragraphs": needed(PARAGRAPHS),
        "title": WORDS,
        **_IN_REPLY,
    },
    "bot_says": {"chat": needed(CHAT), "app": needed(APP), "text": needed(WORDS), "mention": several(SOMEBODY)},
    "edit": {"message": needed(MESSAGE), "text": needed(WORDS)},
    "recall": {"message": needed(MESSAGE), "recall_type": one_of([kind.value for kind in RecallType])},
    "delete": {"message": needed(MESSAGE)},
    "react": {
        "message": needed(MESSAGE),
        "who": needed(SOMEBODY),
        "emoji_type": needed(one_of(sorted(EMOJI_TYPES))),
    },
    "unreact": {"reaction_id": needed(REACTION)},
    "add_bot": {"chat": needed(CHAT), "app": needed(APP), "by": PERSON},
    "remove_bot": {"chat": needed(CHAT), "app": needed(APP), "by": PERSON},
    "dissolve": {"chat": needed(CHAT), "by": PERSON, "keep_history": FLAG},
    "forget_chat": {"chat": needed(CHAT)},
}
"""What happens in chats."""

BREAKING: dict[str, Fields] = {
    "fault": {
        "kind": needed(one_of([kind.value for kind in FaultKind])),
        "operations": several(one_of(FAULTY_OPERATIONS), least=1),
        "app": APP,
        "chat": CHAT,
        "times": or_null(whole(1, MOST), "until it is cleared"),
        "skip": whole(0, MOST),
        "seconds": _SECONDS,
        "code": whole(1, MOST),
        "http_status": whole(200, 599),
        "message_id": NAME,
    },
    "release": {"fault_id": FAULT, "go_on": FLAG},
    "clear_faults": {},
    "advance": {"seconds": needed(_SECONDS)},
    "scale": {"scale": needed(real(1_000_000))},
    "expire_tokens": {"app": needed(APP)},
    "forbid_history": {"app": APP, "chat": CHAT, "forbidden": FLAG},
    "mute": {"chat": needed(CHAT), "muted": FLAG},
    "hide": {"message": needed(MESSAGE)},
    "reveal": {"message": MESSAGE},
    "disable": {"app": needed(APP), "disabled": FLAG},
    "knobs": {
        "uuid_repeat": one_of([repeat.value for repeat in UuidRepeat]),
        "limits": FLAG,
        "bare_429": FLAG,
        "fresh_repush": FLAG,
        "wall_timestamps": FLAG,
        "push_timeout_s": _SECONDS,
        "challenge_timeout_s": _SECONDS,
        "repush_after_s": reals(MOST_SECONDS, 20),
        "chat_per_second": _LIMIT,
        "app_per_second": _LIMIT,
        "app_per_minute": _LIMIT,
        "max_edits": whole(0, MOST),
    },
    "offline": {},
    "online": {},
    "push_event": {
        "app": needed(APP),
        "event_type": needed(NAME),
        "event": OBJECT,
        "event_id": NAME,
        "at": _AT,
        **_ALTERED,
        "headers": HEADERS,
    },
    "push_message": {"app": needed(APP), "message": needed(MESSAGE), "event_id": NAME, **_ALTERED},
    "push_again": {"push": needed(PUSH), "event_id": NAME, "message_id": NAME, "new_event": FLAG},
    "hold_pushes": {"app": needed(APP)},
    "release_pushes": {"app": needed(APP), "reverse": FLAG},
    "repush": {"app": APP, "timeout_s": _SECONDS},
    "challenge": {"app": needed(APP), "challenge": NAME, "token": WORDS},
}
"""What goes wrong."""

LOOKS: dict[str, Fields] = {
    "visible": {"chat": needed(CHAT), "by_app": FLAG, "sender": SOMEBODY, "present": FLAG},
    "replies": {"message": needed(MESSAGE)},
    "requests": {"operations": several(one_of([operation.value for operation in Operation]), least=1), **_REQUESTS},
    "sends": _REQUESTS,
    "reads": _REQUESTS,
    "pushes": {"app": APP, "event_type": NAME, "message": NAME, "state": one_of(PUSH_STATES)},
    "reactions": {"message": needed(MESSAGE), "app": APP},
    "held": {"fault_id": FAULT},
}
"""What gives a list, and what one can wait for."""

WAITING: Fields = {"for": needed(one_of(list(LOOKS))), "count": _LIMIT, "timeout_s": _SECONDS}
"""The fields of ``wait`` beside those of what is waited for."""

ASKING: dict[str, Fields] = {**LOOKS, "wait": WAITING, "dump": {}, "settings": {}, "now": {}}
"""What only asks; it answers GET as well."""

ACTIONS: dict[str, Fields] = {**ACTING, **BREAKING, **ASKING}


def fields_of(action: str, wanted: object) -> Fields:
    """The fields of an action; those of ``wait`` are those of what is waited for (``wanted``) as well."""
    if action != "wait":
        return ACTIONS[action]
    looks = [LOOKS[wanted]] if isinstance(wanted, str) and wanted in LOOKS else list(LOOKS.values())
    return {**WAITING, **{name: field for look in looks for name, field in look.items()}}
