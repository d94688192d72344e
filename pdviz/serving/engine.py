"""One engine: passes one after the other, runs of equal decode passes in one step.

Between two events (an arrival that can begin, a finish, a full cache, a bend of the cost) each decode pass
takes longer than the one before by the same amount, so that a run of them is one record. The state is a
few sums; work grows with the events, not with the tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from heapq import heapify, heappop, heappush
from math import sqrt

from pdviz.serving.contexts import FAR, Contexts
from pdviz.serving.costs import PassCosts
from pdviz.serving.log import FOREVER, RECORD, RECORD_COUNTS, ROOM, Log, Queue
from pdviz.serving.policies import CHUNKED, CONTINUOUS, INTERLEAVED, STATIC, Knobs

PREFILL, DECODE = "prefill", "decode"  # halves of a disaggregated server
_SHIFT = 24
MOST_REQUESTS = 1 << _SHIFT
_NUMBER = MOST_REQUESTS - 1


def passes(
    role: str,
    knobs: Knobs,
    costs: PassCosts,
    queue: Queue,
    log: Log,
    horizon_s: float = FOREVER,
    watch: Callable[[int], None] | None = None,
) -> Generator[int, float, None]:
    """Simulates all passes that start before ``horizon_s``, then yields the tokens waiting and running.

    Is sent the next horizon; until then what reaches the queue later is unknown. ``watch`` is told now
    and then how many requests have begun, and may raise.
    """
    ready_s, requests = queue.ready_s, queue.requests
    prompt, left, cached = queue.prompt, queue.left, queue.cached
    # a static batch has reserved all that it needs, a decoding half lets its cache overflow
    limited = knobs.capacity_tokens is not None and role not in (STATIC, DECODE)
    capacity = FAR if knobs.capacity_tokens is None else knobs.capacity_tokens
    most_held = capacity if limited else FAR
    seats = knobs.max_seqs
    whole = role in (CONTINUOUS, PREFILL, STATIC)
    chunked, interleaved, static, joins = role == CHUNKED, role == INTERLEAVED, role == STATIC, role == DECODE
    most = knobs.max_batched_tokens if whole else knobs.token_budget
    if static:
        most = FAR
    turns, prefill_turns = knobs.prefill_steps + knobs.decode_steps, knobs.prefill_steps
    leaves = role == PREFILL
    pooled = horizon_s != FOREVER

    fixed_s = costs.fixed_s
    contexts = None if costs.is_plain else Contexts(costs)
    curved = not costs.is_affine
    per_flop, per_byte = costs.s_per_flop, costs.s_per_byte
    token_s, sample_s = costs.token_flops * per_flop, costs.sample_flops * per_flop
    one_s = token_s + sample_s
    pair_s, past_s = costs.pair_flops * per_flop, costs.past_bytes * per_byte
    first = costs.share(1)
    context_compute_s, context_memory_s = first.flops_step * per_flop, first.bytes_step * per_byte

    write, records, size = RECORD.pack_into, log.records, RECORD.size
    add_request, add_new = log.piece_request.append, log.piece_new.append

    now = 0.0
    clock = 0  # decode passes so far
    decoders = width = 0  # sequences that decode; with the finished ones of a static batch
    tokens = 0  # of KV that the batch holds, finished ones of a static batch growing on
    reserved = 0  # of KV for prompts that are not done
    finishes: list[int] = []  # heap of (decode pass at whose end) << _SHIFT | request
    next_finish = FAR
    running: dict[int, int] = {}  # request: that pass, in order of admission, where KV is limited
    again: list[int] = []  # preempted: the head of the queue last
    i = 0  # requests before this one have left the queue
    begun, begun_left, begun_past = -1, 0, 0  # a prompt of which pieces are done
    turn = at_most = 0
    active = settled = admitted = 0  # for those who choose among engines
    last_steps = last_pieces = 0  # of the last record, where it goes on; else 0
    was_compute = False
    parts: list[tuple[int, int, bool]] = []  # of the pass under way, where its time is not made of sums
    piece_flops = piece_bytes = 0.0
    slow = curved or contexts is not None
    at = end = 0  # in the log

    while True:
        if now >= horizon_s:
            held = active if static else tokens + reserved
            horizon_s = yield (held if now == horizon_s else settled) - admitted
            continue
        if at == end:
            records.extend(ROOM)
            end += len(ROOM)
            if watch:
                watch(i)
        # what is next: the head of the queue, and whether a prompt may go on or begin
        if again:
            r = again[-1]
        elif ready_s[i] <= now:
            r = requests[i]
        else:
            r = -1
        if chunked:
            budget = most - decoders
            prompts = budget > 0 and (r >= 0 or begun >= 0)
            decodes = decoders
        elif static:
            prompts = decodes = r >= 0 and not decoders
        elif joins:
            prompts = decodes = False
        else:
            prompts = begun >= 0 or (r >= 0 and decoders < seats and tokens + prompt[r] <= capacity)
            if interleaved:
                at_most = 0
                if not (prompts and decoders):
                    turn = 0
                elif turn < prefill_turns:
                    turn = (turn + 1) % turns
                else:
                    prompts, at_most = False, turns - turn
                    if begun < 0:
                        at_most = min(at_most, (capacity - tokens - prompt[r]) // decoders + 1)
            decodes = not prompts

        # room for the tokens of this pass: the last that was admitted gives way
        if tokens + reserved + decoders > most_held and decodes:
            while tokens + reserved + decoders > capacity and decoders + (begun >= 0) > 1:
                if begun >= 0:
                    r, begun, reserved, out = begun, -1, 0, 0
                else:
                    r, finish = running.popitem()
                    finishes.remove(finish << _SHIFT | r)
                    out = left[r] - finish + clock
                    prompt[r] += out
                    left[r] -= out
                    decoders -= 1
                    width -= 1
                    tokens -= prompt[r] - 1
                    if contexts:
                        contexts.leave(r, clock)
                if cached:
                    cached[r] = 0
                again.append(r)
                admitted -= prompt[r]
                log.preempted.append((at // size, r, out))
            heapify(finishes)
            next_finish = finishes[0] >> _SHIFT if finishes else FAR
            last_steps = 0
            budget = most - decoders
            prompts = chunked and budget > 0
            at_most = min(at_most, 1)  # whose turn it is may change with the head of the queue

        new = pieces = ending = 0
        if prompts:
            # pieces of prompts: the one that was begun, then the queue
            taken: list[int] = []  # whose prompts end with this pass
            past, pairs = 0, 0.0
            if slow:
                piece_flops = piece_bytes = 0.0
                parts.clear()
            if chunked:
                beside = growing = decoders
            else:
                budget, beside, growing = most, 0, 0
            if begun >= 0:
                add_request(begun)
                pieces, past = 1, begun_past
                if begun_left <= budget:
                    n = begun_left
                    taken.append(begun)
                    ending = 1
                    begun = -1
                else:
                    n = budget
                    begun_left -= n
                    begun_past += n
                add_new(n)
                budget -= n
                new = n
                pairs = n * (past + (n + 1) * 0.5)
                if slow:
                    piece_flops, piece_bytes = costs.piece(n, past)
                    parts.append((n, past, begun < 0))
            while budget > 0 and r >= 0 and decoders + ending < seats:
                p = n = prompt[r]
                h = 0
                if cached:
                    h = cached[r]
                    n -= h
                if static:
                    p += left[r] - 1
                if tokens + reserved + p + growing > capacity:
                    break
                if n <= budget or (whole and not new):
                    taken.append(r)
                    ending += 1
                elif whole:
                    break
                else:
                    begun, begun_left, begun_past = r, n - budget, h + budget
                    n = budget
                budget -= n
                reserved += p
                admitted += prompt[r]
                add_request(r)
                add_new(n)
                pieces += 1
                new += n
                pairs += n * (h + (n + 1) * 0.5)
                past += h
                if slow:
                    more_flops, more_bytes = costs.piece(n, h)
                    piece_flops += more_flops
                    piece_bytes += more_bytes
                    parts.append((n, h, begun != r))
                if again:
                    again.pop()
                else:
                    i += 1
                r = again[-1] if again else requests[i] if ready_s[i] <= now else -1
        elif joins:
            while r >= 0 and decoders < seats and tokens + prompt[r] + 1 <= capacity:
                i += 1
                add_request(r)
                add_new(0)
                pieces += 1
                heappush(finishes, clock + left[r] - 1 << _SHIFT | r)
                decoders += 1
                width += 1
                tokens += prompt[r]
                admitted += prompt[r]
                if contexts:
                    contexts.join(r, clock, prompt[r] + 1)
                r = requests[i] if ready_s[i] <= now else -1
            next_finish = finishes[0] >> _SHIFT if finishes else FAR

        if new:
            # one pass with prompts, decoding sequences beside them where the policy mixes
            compute_s = token_s * new + sample_s * ending
            if beside:
                steps, k = 1, tokens + beside
                if contexts:
                    alone_s, beside_s = contexts.flops * per_flop, contexts.bytes * per_byte
                else:
                    alone_s = k * context_compute_s
                    beside_s = k * context_memory_s
                alone_s += beside * one_s
                compute_s += alone_s
                memory_s = beside_s + fixed_s[new + beside]
                beside_s += fixed_s[beside]
            else:
                steps, alone_s, beside_s = 0, 0.0, 0.0
                memory_s = fixed_s[new]
            if contexts:
                compute_s += piece_flops * per_flop
                memory_s += piece_bytes * per_byte
            else:
                compute_s += pairs * pair_s
                memory_s += past * past_s
            if curved:
                compute_s, memory_s = costs.curved_s(beside, tokens, contexts, clock, parts)
                if beside:
                    alone_s, beside_s = costs.curved_s(beside, tokens, contexts, clock, [])
            write(records, at, now, compute_s, memory_s, alone_s, beside_s, steps, pieces)
            at += size
            last_steps = 0
            if pooled:
                settled = sum(prompt[r] for r in taken) if static else tokens + reserved
            now += compute_s if compute_s >= memory_s else memory_s
            if beside:
                clock += 1
                tokens = k
                if contexts:
                    contexts.advance(1, clock)
        elif decoders:
            # a run of decode passes, as long as nothing happens
            if contexts:
                compute_s = width * one_s + contexts.flops * per_flop
                memory_s = fixed_s[width] + contexts.bytes * per_byte
                compute_step, memory_step = contexts.flops_step * per_flop, contexts.bytes_step * per_byte
            else:
                k = tokens + width
                compute_s = width * one_s + k * context_compute_s
                memory_s = fixed_s[width] + k * context_memory_s
                compute_step, memory_step = width * context_compute_s, width * context_memory_s
            k = next_finish - clock
            if curved:
                compute_s, memory_s = costs.curved_s(width, tokens, contexts, clock, [])
                k = 1
            is_compute = compute_s >= memory_s
            cut = False
            if k > 1:
                if contexts and contexts.bend - clock < k:
                    k = contexts.bend - clock
                if limited:
                    room = (capacity - tokens - reserved) // decoders
                    if room < k:
                        k = room if room > 1 else 1  # one alone always fits
                if at_most and at_most < k:
                    k = at_most
                if is_compute:
                    first_s, step_s = compute_s, compute_step
                    ahead, closing = compute_s - memory_s, memory_step - compute_step
                else:
                    first_s, step_s = memory_s, memory_step
                    ahead, closing = memory_s - compute_s, compute_step - memory_step
                if closing > 0 and closing * (k - 1) > ahead:
                    k = int(ahead / closing) + 1
                # until somebody comes who may begin
                until = ready_s[i]
                if until <= now or until > horizon_s or again or static or at_most:
                    until = horizon_s
                took_s = k * first_s + step_s * (k * (k - 1) * 0.5)
                if now + took_s > until:
                    whole_run, span = k, until - now
                    if span <= first_s:
                        k = 1
                    else:
                        half = first_s - step_s * 0.5
                        k = int(2 * span / (half + sqrt(half * half + 2 * step_s * span)))
                        if now + k * first_s + step_s * (k * (k - 1) * 0.5) < until:
                            k += 1
                    cut = k < whole_run
                    took_s = k * first_s + step_s * (k * (k - 1) * 0.5)
            else:
                took_s = compute_s if is_compute else memory_s
            if last_steps and not pieces and is_compute == was_compute:
                last_steps += k
                RECORD_COUNTS.pack_into(records, at - RECORD_COUNTS.size, last_steps, last_pieces)
            else:
                write(records, at, now, compute_s, memory_s, compute_step, memory_step, k, pieces)
                at += size
                last_steps, last_pieces = k, pieces
            was_compute = is_compute
            if not cut:
                last_steps = 0
            if pooled:
                settled = (active if static else tokens + reserved) + (k - 1) * decoders
            now += took_s
            clock += k
            tokens += k * width
            if static:
                active += k * decoders
            if contexts:
                contexts.advance(k, clock)
            if at_most:
                turn = (turn + k) % turns
        else:
            # nothing to do
            until = ready_s[i]
            if until > horizon_s:
                until = horizon_s
            if until == FOREVER:
                break
            now = until
            continue

        # what the end of the pass brings
        while clock == next_finish:
            r = heappop(finishes) & _NUMBER
            next_finish = finishes[0] >> _SHIFT if finishes else FAR
            decoders -= 1
            if limited:
                del running[r]
            if static:
                active -= prompt[r] + left[r] - 1
            else:
                width -= 1
                tokens -= prompt[r] + left[r] - 1
                if contexts:
                    contexts.leave(r, clock)
        if ending:
            reserved = prompt[begun] if begun >= 0 else 0
            for r in taken:
                more = 0 if leaves else left[r] - 1
                if more or static:
                    p = prompt[r]
                    width += 1
                    tokens += p
                    if more:
                        decoders += 1
                        more += clock
                        heappush(finishes, more << _SHIFT | r)
                        if more < next_finish:
                            next_finish = more
                        if limited:
                            running[r] = more
                        if static:
                            active += p
                    if contexts:
                        contexts.join(r, clock, p + 1)
        if static and not decoders:
            width = tokens = active = 0
            if contexts:
                contexts.clear()
    log.end_s = now
    log.count = at // size
    del records[at:]
