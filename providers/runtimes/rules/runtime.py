"""Ends a turn with a typed decision: answered from the code, handed over, asked back, or declined."""

from __future__ import annotations

from typing import assert_never

from manager.decisions.decision import Answer, Ask, Decision, Decline, Delegate, TurnInput
from manager.ports import HostSession
from providers.hosttools.refusals import NOT_THERE
from providers.runtimes.rules.compose import Composer, help_text
from providers.runtimes.rules.findings import Findings
from providers.runtimes.rules.investigate import evidence_of, investigate, quick_evidence
from providers.runtimes.rules.markup import code
from providers.runtimes.rules.omissions import omissions
from providers.runtimes.rules.parse import Manner, Parsed, parse
from providers.runtimes.rules.phrases import reason_in, say
from providers.runtimes.rules.terms import Kind


class RulesRuntime:
    """Fulfils ``manager.ports.Runtime`` without a model."""

    async def decide(self, turn: TurnInput, host: HostSession) -> Decision:
        """Investigate and end the turn. A name in a quotation, a file or the history never delegates."""
        parsed = parse(turn.question, turn.quoted, turn.history, turn.peers)
        if parsed.named is not None:
            return await _hand_over(parsed, parsed.named.name, parsed.named.purpose, host)
        match parsed.manner:
            case Manner.HELP:
                return Answer(help_text(parsed, host.workspaces, turn.peers))
            case Manner.SMALL_TALK:
                return Ask(say(parsed.language, "what_to_look_for"))
            case Manner.VAGUE:
                return Ask(say(parsed.language, "vague"))
            case Manner.WORK:
                return await _hand_over(parsed, None, turn.question.strip(), host)
            case Manner.LOOK_UP:
                return await _look_up(parsed, turn, host)
            case _:
                assert_never(parsed.manner)


async def _look_up(parsed: Parsed, turn: TurnInput, host: HostSession) -> Decision:
    if not parsed.intents and all(term.kind is Kind.WORD for term in parsed.terms):
        return Delegate(None, turn.question.strip(), owed=_owed(parsed))
    found = await investigate(parsed, host)
    evidence = evidence_of(found, host)
    if found.anything or found.histories:
        return Answer(Composer(parsed, found, host.workspaces).answer(), evidence)
    if _refused(found):
        denied = found.denied[0]
        reason = reason_in(parsed.language, denied.excerpt)
        return Decline(say(parsed.language, "decline", what=code(denied.source), reason=reason), evidence)
    missing = omissions(parsed, found, host.workspaces)
    return Delegate(None, turn.question.strip(), evidence=evidence, owed=_owed(parsed), omissions=missing)


def _refused(found: Findings) -> bool:
    """Whether something may not be read, rather than is not there."""
    return any(item.excerpt not in NOT_THERE for item in found.denied)


async def _hand_over(parsed: Parsed, name: str | None, purpose: str, host: HostSession) -> Delegate:
    evidence = await quick_evidence(parsed.terms, host)
    return Delegate(name, purpose, evidence=evidence, owed=_owed(parsed))


def _owed(parsed: Parsed) -> tuple[str, ...]:
    return (say(parsed.language, "owed"),)
