"""What is worth noticing about the present scenario, in a sentence or two, and what to try next.

Each rule looks at a result and says something only where it is true; the numbers in its words are its
``values``, so that they can be checked. Rules about what the user has just changed come first.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from pdviz.costmodel.bounds import BANDWIDTH, COMPUTE
from pdviz.costmodel.request import cost_request
from pdviz.costmodel.terms import Role, Slice, distinct_experts, sequence_bytes, total_flops
from pdviz.evaluation import Result
from pdviz.units import count, duration, percent, plural, significant, size, written

MOST = 2
ATTENTION_SHARE = 0.15  # of prefill's FLOPs, from which on it is worth a word
LIKE = 0.1  # two times that differ by no more are alike
SAVED = 0.05  # of TTFT, from which on a cached prefix is said to save it


class Notice(msgspec.Struct, frozen=True):
    """A headline and lines of detail. ``values`` are the numbers that the words are about, SI units."""

    key: str
    headline: str
    details: tuple[str, ...]
    values: tuple[tuple[str, float], ...]

    def value(self, name: str) -> float:
        """The value of that name."""
        return dict(self.values)[name]

    @property
    def spoken(self) -> str:
        return " ".join((self.headline, *self.details))


def _notice(key: str, headline: str, *details: str, **values: float) -> Notice:
    return Notice(key, headline, tuple(d for d in details if d), tuple(values.items()))


# --- rules -----------------------------------------------------------------------------------------


def _too_large(r: Result) -> Notice | None:
    m = r.memory
    if m.fits:
        return None
    room = m.capacity_bytes - m.reserve_bytes
    return _notice(
        "too_large",
        f"It does not fit: {size(-m.free_bytes)} is missing.",
        f"Weights take {size(m.weights_bytes)}, the KV cache {size(m.kv_bytes)}; "
        f"there is {size(room)} to give. The times are what it would take if it did.",
        missing=-m.free_bytes,
        weights=m.weights_bytes,
        kv=m.kv_bytes,
        room=room,
    )


def _one_token(r: Result) -> Notice | None:
    if r.itl_s is not None:
        return None
    return _notice(
        "one_token",
        "One token is asked for, and prefill makes it.",
        "There is no decode pass, hence no latency between tokens: "
        f"the answer is there after {written(r.ttft)}.",
        ttft=r.ttft_s,
    )


def _cached(r: Result) -> Notice | None:
    s = r.scenario
    if not s.cached_tokens:
        return None
    without = _prefill_s(r, s.prompt_tokens, 0)
    new = r.prefill.tokens
    saves = without - r.ttft_s > SAVED * without
    times = (
        f"TTFT is {written(r.ttft)} instead of {duration(without)}."
        if saves
        else f"It saves little here: TTFT is {written(r.ttft)}, without it {duration(without)}."
    )
    return _notice(
        "cached",
        f"{count(s.cached_tokens)} of {plural(s.prompt_tokens, 'prompt token')} are cached.",
        f"Prefill computes the other {count(new)}. {times}",
        cached=s.cached_tokens,
        new=new,
        ttft=r.ttft_s,
        without=without,
    )


def _short_prompt(r: Result) -> Notice | None:
    if r.prefill.bound is not BANDWIDTH:
        return None
    new, cost, first = r.prefill.tokens, r.prefill, r.decode
    kv = float(sequence_bytes(r.prefill.terms))
    reads = "one weight read" if kv < LIKE * cost.bytes else "one read of weights and KV cache"
    alike = first is not None and abs(cost.time_s - first.time_s) <= LIKE * first.time_s
    what = plural(new, "new token" if r.scenario.cached_tokens else "token")
    times = f"TTFT is {written(cost.time)}"
    times += f", a decode pass takes {written(first.time)}. " if first is not None else ". "
    turns = r.crossover_prompt_tokens
    turn = (
        f"Prefill turns compute-bound at {plural(turns, 'prompt token')}."
        if turns is not None
        else "No prompt is long enough to make prefill compute-bound."
    )
    return _notice(
        "short_prompt",
        f"At {what} prefill costs {reads}{', like a decode pass' if alike else ''}.",
        times + turn,
        new=new,
        ttft=cost.time_s,
        decode=first.time_s if first is not None else 0.0,
        kv_share=kv / cost.bytes,
        crossover=turns or 0,
    )


def _attention(r: Result) -> Notice | None:
    cost, s = r.prefill, r.scenario
    share = float(total_flops(t for t in cost.terms if t.role is Role.ATTENTION)) / cost.flops
    if share < ATTENTION_SHARE or cost.bound is not COMPUTE:
        return None
    longer = _prefill_s(r, 2 * s.prompt_tokens, s.cached_tokens) / cost.time_s
    if s.cached_tokens and not r.model.windows:
        new = "new token attends" if cost.tokens == 1 else f"{count(cost.tokens)} new tokens attend"
        detail = f"The {new} to all {count(s.cached_tokens)} cached ones."
    else:
        why = "" if r.model.windows else ", since attention grows with its square"
        detail = f"Twice the prompt would take {significant(longer)} times as long{why}."
    return _notice(
        "attention",
        f"At {plural(s.prompt_tokens, 'token')} {percent(share)} of prefill's FLOPs are attention.",
        detail,
        prompt=s.prompt_tokens,
        share=share,
        longer=longer,
    )


def _batch(r: Result) -> Notice | None:
    first, itl, s = r.decode, r.itl_s, r.scenario
    if not s.others or itl is None or first is None:
        return None
    alone = cost_request(r.model, r.machine, msgspec.structs.replace(s, others=0)).itl_s
    assert alone is not None
    ratio, streams = itl / alone, r.streams
    gain, total = streams / ratio, r.tokens_per_s_total or 0.0
    values = {"streams": streams, "ratio": ratio, "gain": gain, "total": total}
    times = f"{significant(ratio)} times that of one stream"
    all_of_it = f"for {count(streams)} times the tokens: {significant(total)} tok/s together"
    if first.bound is COMPUTE:
        headline = f"With {count(streams)} streams even decode is compute-bound."
        detail = f"ITL is {times}, {all_of_it}."
    elif gain < 2:
        headline = f"{count(streams)} streams, but hardly more tokens than one."
        detail = f"ITL is {times}, so all get {significant(gain)} times its tokens."
    else:
        shared = "decode in one pass" if r.architecture.is_mixture else "share every weight read"
        headline = f"{count(streams)} streams {shared}."
        only = f"only {percent(ratio - 1)} above that of one stream" if ratio < 1.5 else times
        detail = f"ITL is {only}, {all_of_it}."
    return _notice("batch", headline, detail, **values)


def _kv_outweighs(r: Result) -> Notice | None:
    steps = r.request.train.steps
    if not steps:
        return None
    weights = float(r.model.weights_read_bytes(r.streams))
    first, last = (float(sequence_bytes(r.request.pass_cost(k).terms)) for k in (1, steps))
    if last <= weights:
        return None
    when = "A decode pass" if first > weights else "In the end a decode pass"
    half, own = (
        r.half_speed_context_tokens,
        r.scenario.others_context_tokens is not None and r.scenario.others > 0,
    )
    alike = (
        f" They are alike at {plural(half, 'token')} of context."
        if half is not None and half >= 1 and not own
        else ""
    )
    return _notice(
        "kv_outweighs",
        f"{when} moves more KV cache than weights.",
        f"In the last pass it is {size(last)} of KV cache beside {size(weights)} of weights.{alike}",
        first=first,
        last=last,
        weights=weights,
        half=half or 0.0,
    )


def _turn(r: Result) -> Notice | None:
    first, last = r.decode, r.decode_last
    if first is None or last is None or first.bound == last.bound:
        return None
    number = next(s.first for s in r.request.train.segments if s.bound != first.bound)
    flops, moved = last.flops / first.flops - 1, last.bytes / first.bytes - 1
    return _notice(
        "turn",
        f"From pass {count(number)} on decode is {last.bound}-bound.",
        f"Before, it is {first.bound}-bound. From the first pass to the last its bytes grow by "
        f"{percent(moved)}, its FLOPs by {percent(flops)}.",
        number=number,
        bytes=moved,
        flops=flops,
    )


MANY = 32


def _experts(r: Result) -> Notice | None:
    kinds = {(block.total, block.active) for _, block in r.architecture.experts()}
    if not kinds:
        return None
    total, active = max(kinds)
    decodes = r.decode is not None
    tokens = r.streams if decodes else r.prefill.tokens
    hit = float(distinct_experts(total, active, tokens))
    many = MANY
    hit_by_many = float(distinct_experts(total, active, many))
    if tokens == 1:
        detail = f"{count(many)} tokens together would read {count(hit_by_many)} of them."
    else:
        detail = f"One token meets {count(active)} of them; each that is met is read once."
    return _notice(
        "experts",
        f"{'A decode pass' if decodes else 'Prefill'} reads {count(hit)} of {count(total)} experts a layer.",
        detail,
        tokens=tokens,
        hit=hit,
        total=total,
        active=active,
        many=many,
        hit_by_many=hit_by_many,
    )


def _share(r: Result) -> Notice | None:
    first, itl, share = r.decode, r.itl_s, r.decode_share
    if first is None or itl is None:
        return None
    if share < 0.5:
        later = plural(r.request.train.steps, "further token")
        take = f"takes {duration(itl)}" if r.request.train.steps == 1 else f"take {duration(itl)} each"
        return _notice(
            "prefill_share",
            f"Prefill is {percent(1 - share)} of this request.",
            f"The first token takes {written(r.ttft)}, {later} {take}.",
            share=1 - share,
            ttft=r.ttft_s,
            itl=itl,
        )
    waits = ": it waits for memory" if first.bound is BANDWIDTH else ""
    return _notice(
        "decode_share",
        f"{percent(share)} of this request is decoding.",
        f"Prefill uses {percent(r.prefill.compute_utilisation)} of the peak compute, a decode pass "
        f"{percent(first.compute_utilisation)}{waits}.",
        share=share,
        prefill=r.prefill.compute_utilisation,
        decode=first.compute_utilisation,
    )


def _pace(r: Result) -> Notice | None:
    first, speed = r.decode, r.tokens_per_s_total
    if first is None or speed is None or r.prefill.bound is not COMPUTE:
        return None
    passes = r.ttft_s / first.time_s
    if passes < 1.5:
        return None
    pace = r.prefill.tokens / r.ttft_s
    return _notice(
        "pace",
        f"The prompt takes as long as {significant(passes)} decode passes.",
        f"Prefill works through {significant(pace)} tokens a second, decode through {significant(speed)}.",
        passes=passes,
        pace=pace,
        speed=speed,
    )


class _Rule(msgspec.Struct, frozen=True):
    """A rule and the fields of the scenario that it is about."""

    find: Callable[[Result], Notice | None]
    fields: frozenset[str]
    is_urgent: bool = False


def _rule(find: Callable[[Result], Notice | None], *fields: str, is_urgent: bool = False) -> _Rule:
    return _Rule(find, frozenset(fields), is_urgent)


# The earlier the more telling.
RULES = (
    _rule(_too_large, is_urgent=True),
    _rule(_one_token, "output_tokens", is_urgent=True),
    _rule(_cached, "cached_tokens"),
    _rule(_batch, "others", "others_context_tokens"),
    _rule(_short_prompt, "prompt_tokens"),
    _rule(_attention, "prompt_tokens"),
    _rule(_turn, "output_tokens", "others"),
    _rule(_kv_outweighs, "kv_dtype", "others", "others_context_tokens", "prompt_tokens"),
    _rule(_experts, "model", "others"),
    _rule(_share, "output_tokens"),
    _rule(_pace, "prompt_tokens", "accelerator"),
)


def notices(result: Result, changed: frozenset[str] = frozenset()) -> tuple[Notice, ...]:
    """At most two, the most telling first; those about the ``changed`` fields before the others."""
    ranked = sorted(RULES, key=lambda rule: (not rule.is_urgent, not rule.fields & changed))
    found: list[Notice] = []
    for rule in ranked:
        notice = rule.find(result)
        if notice is not None:
            found.append(notice)
            if len(found) == MOST:
                break
    return tuple(found)


def _prefill_s(r: Result, prompt_tokens: int, cached_tokens: int) -> float:
    """What prefill would take with another prompt or cache."""
    piece = Slice.prompt(prompt_tokens - cached_tokens, cached_tokens)
    return r.model.cost(r.machine, (piece,)).time_s
