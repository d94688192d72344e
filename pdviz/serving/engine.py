"""One engine: passes one after the other, runs of equal decode passes in one step.

Between two events (an arrival that can begin, a finish, a full cache, a bend of the cost) the batch is
constant and each decode pass takes longer than the one before by the same amount, so that a run of them
is one record. The state is a few sums; work grows with the events, not with the tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from heapq import heapify, heappop, heappush
from math import sqrt

from pdviz.serving.contexts import Contexts
from pdviz.serving.costs import PassCosts
from pdviz.serving.log import FOREVER, Log, Queue
from pdviz.serving.policies import CHUNKED, CONTINUOUS, INTERLEAVED, STATIC, Knobs

PREFILL, DECODE = "prefill", "decode"  # the two halves of a disaggregated server
_ENDLESS = 1 << 62
_SHIFT = 24
MOST_REQUESTS = 1 << _SHIFT
_NUMBER = MOST_REQUESTS - 1
_EVERY = 1 << 14  # records between two looks at progress


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
    limited = knobs.capacity_tokens is not None and role not in (
        STATIC,
        DECODE,
    )  # a decoding half lets KV grow
    capacity = _ENDLESS if knobs.capacity_tokens is None else knobs.capacity_tokens
    seats = knobs.max_seqs
    most = knobs.token_budget if role in (CHUNKED, INTERLEAVED) else knobs.max_batched_tokens
    whole = role in (CONTINUOUS, PREFILL, STATIC)
    chunked, interleaved, static, joins = role == CHUNKED, role == INTERLEAVED, role == STATIC, role == DECODE
    turns, prefill_turns = knobs.prefill_steps + knobs.decode_steps, knobs.prefill_steps
    pooled = horizon_s != FOREVER

    fixed_s = costs.fixed_s
    contexts = None if costs.is_plain else Contexts(costs)
    plain = contexts is None
    per_flop, per_byte = costs.s_per_flop, costs.s_per_byte
    token_s, sample_s = costs.token_flops * per_flop, costs.sample_flops * per_flop
    one_s = token_s + sample_s
    pair_s, past_s = costs.pair_flops * per_flop, costs.past_bytes * per_byte
    first = costs.share(1)
    context_compute_s, context_memory_s = first.flops_step * per_flop, first.bytes_step * per_byte

    add_start, add_steps, add_pieces = log.start_s.append, log.steps.append, log.pieces.append
    add_compute, add_memory = log.compute_s.append, log.memory_s.append
    add_compute_step, add_memory_step = log.compute_step_s.append, log.memory_step_s.append
    add_request, add_new = log.piece_request.append, log.piece_new.append
    starts = log.start_s

    now = 0.0
    clock = 0  # decode passes so far
    decoders = width = 0  # sequences that decode; with the finished ones of a static batch
    tokens = 0  # of KV that the batch holds, finished ones of a static batch growing on
    reserved = 0  # of KV for prompts that are not done
    finishes: list[int] = []  # heap of (decode pass at whose end) << _SHIFT | request
    running: dict[int, int] = {}  # request: the same pass, in order of admission, where KV is limited
    again: list[int] = []  # preempted: the head of the queue last
    i = 0  # requests before this one have left the queue
    begun, begun_left, begun_past = -1, 0, 0  # a prompt of which pieces are done
    turn = at_most = 0
    active = settled = admitted = 0  # for those who choose among engines
    same_run = was_compute = False  # the last record goes on
    checkpoint = _EVERY

    while True:
        if now >= horizon_s:
            held = active if static else tokens + reserved
            horizon_s = yield (held if now == horizon_s else settled) - admitted
            continue

        # what is next: the head of the queue, and whether it may begin
        if again:
            r = again[-1]
        elif ready_s[i] <= now:
            r = requests[i]
        else:
            r = -1
        if whole:
            prompts = r >= 0 and decoders < seats and tokens + prompt[r] <= capacity
            if static:
                prompts = r >= 0 and not decoders
            decodes = not prompts
        elif chunked:
            prompts, decodes = True, decoders > 0
        elif interleaved:
            prompts = begun >= 0 or (r >= 0 and decoders < seats and tokens + prompt[r] <= capacity)
            if prompts and decoders:
                decodes = turn >= prefill_turns
                at_most = turns - turn if decodes else 1
                if decodes and begun < 0:
                    at_most = min(at_most, (capacity - tokens - prompt[r]) // decoders + 1)
                prompts = not decodes
            else:
                turn, at_most, decodes = 0, 0, not prompts
        else:
            prompts, decodes = False, True

        # room for the tokens of this pass: the last that was admitted gives way
        if limited and decodes and tokens + reserved + decoders > capacity:
            while tokens + reserved + decoders > capacity and decoders + (begun >= 0) > 1:
                if begun >= 0:
                    r, begun, reserved, out = begun, -1, 0, 0
                else:
                    r, finish = running.popitem()
                    finishes.remove(finish << _SHIFT | r)
                    heapify(finishes)
                    out = left[r] - (finish - clock)
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
                log.preempted.append((len(starts), r, out))
            same_run = False
            at_most = min(at_most, 1)  # whose turn it is may change with the head of the queue

        # pieces of prompts
        taken: list[int] = []  # whose prompts end with this pass
        pieces = new = past = 0
        pairs = piece_flops = piece_bytes = 0.0
        if joins:
            while r >= 0 and decoders < seats and tokens + prompt[r] + 1 <= capacity:
                i += 1
                add_request(r)
                add_new(0)
                pieces += 1
                finish = clock + left[r] - 1
                heappush(finishes, finish << _SHIFT | r)
                decoders += 1
                width += 1
                tokens += prompt[r]
                admitted += prompt[r]
                if contexts:
                    contexts.join(r, clock, prompt[r] + 1)
                r = requests[i] if ready_s[i] <= now else -1
        elif prompts:
            if not whole:
                budget = most - decoders if chunked else most
                if begun >= 0 and budget > 0:
                    n = begun_left if begun_left < budget else budget
                    budget -= n
                    add_request(begun)
                    add_new(n)
                    pieces = 1
                    new = n
                    if plain:
                        pairs = n * begun_past + n * (n + 1) * 0.5
                        past = begun_past
                    else:
                        piece_flops, piece_bytes = costs.piece(n, begun_past)
                    begun_left -= n
                    begun_past += n
                    if not begun_left:
                        taken.append(begun)
                        begun = -1
                if chunked and budget > 0:  # a preemption may have changed the head
                    r = again[-1] if again else requests[i] if ready_s[i] <= now else -1
            else:
                budget = _ENDLESS  # the first prompt always
            growing = decoders if chunked else 0
            while r >= 0 and budget > 0:
                p = prompt[r]
                n = p
                h = 0
                if cached:
                    h = cached[r]
                    n -= h
                if static:
                    p += left[r] - 1
                if decoders + len(taken) >= seats or tokens + reserved + p + growing > capacity:
                    break
                if whole:
                    if taken and new + n > budget:
                        break
                    budget = _ENDLESS if static else most
                if again:
                    again.pop()
                else:
                    i += 1
                reserved += p
                admitted += prompt[r]
                if not whole and n > budget:
                    n = budget
                    begun, begun_left, begun_past = r, prompt[r] - h - n, h + n
                else:
                    taken.append(r)
                if not whole:
                    budget -= n
                add_request(r)
                add_new(n)
                pieces += 1
                new += n
                if plain:
                    pairs += n * h + n * (n + 1) * 0.5
                    past += h
                else:
                    more_flops, more_bytes = costs.piece(n, h)
                    piece_flops += more_flops
                    piece_bytes += more_bytes
                if again:
                    r = again[-1]
                elif ready_s[i] <= now:
                    r = requests[i]
                else:
                    break

        if new:
            # one pass with prompts, decoding sequences beside them where the policy mixes
            beside = decoders if chunked else 0
            if beside:
                if contexts is None:
                    alone_compute_s = beside * one_s + (tokens + beside) * context_compute_s
                    beside_s = (tokens + beside) * context_memory_s
                else:
                    alone_compute_s = beside * one_s + contexts.flops * per_flop
                    beside_s = contexts.bytes * per_byte
                alone_memory_s = beside_s + fixed_s[beside]
                compute_s = alone_compute_s + token_s * new + sample_s * len(taken)
                memory_s = beside_s + fixed_s[new + beside]
            else:
                alone_compute_s = alone_memory_s = 0.0
                compute_s = token_s * new + sample_s * len(taken)
                memory_s = fixed_s[new]
            if plain:
                compute_s += pairs * pair_s
                memory_s += past * past_s
            else:
                compute_s += piece_flops * per_flop
                memory_s += piece_bytes * per_byte
            add_start(now)
            add_compute(compute_s)
            add_memory(memory_s)
            add_compute_step(alone_compute_s)
            add_memory_step(alone_memory_s)
            add_pieces(pieces)
            if pooled:
                settled = tokens + reserved if not static else sum(prompt[r] for r in taken)
            now += compute_s if compute_s >= memory_s else memory_s
            same_run = False
            if beside:
                add_steps(1)
                clock += 1
                tokens += decoders
                if contexts:
                    contexts.advance(1, clock)
            else:
                add_steps(0)
                if interleaved and decoders:
                    turn = (turn + 1) % turns
            ends = beside
            reserved = prompt[begun] if begun >= 0 else 0
        elif decoders:
            # a run of decode passes, as long as nothing happens
            if contexts is None:
                context = tokens + width
                compute_s = width * one_s + context * context_compute_s
                memory_s = fixed_s[width] + context * context_memory_s
                compute_step = width * context_compute_s
                memory_step = width * context_memory_s
            else:
                compute_s = width * one_s + contexts.flops * per_flop
                memory_s = fixed_s[width] + contexts.bytes * per_byte
                compute_step, memory_step = contexts.flops_step * per_flop, contexts.bytes_step * per_byte
            k = (finishes[0] >> _SHIFT) - clock
            if k > 1:
                if contexts and contexts.bend - clock < k:
                    k = contexts.bend - clock
                if limited and (capacity - tokens - reserved) // decoders < k:
                    k = max((capacity - tokens - reserved) // decoders, 1)  # one alone always fits
                if interleaved and at_most and at_most < k:
                    k = at_most
            is_compute = compute_s >= memory_s
            if k > 1:
                if is_compute:
                    first_s, step_s, ahead, closing = (
                        compute_s,
                        compute_step,
                        compute_s - memory_s,
                        memory_step - compute_step,
                    )
                else:
                    first_s, step_s, ahead, closing = (
                        memory_s,
                        memory_step,
                        memory_s - compute_s,
                        compute_step - memory_step,
                    )
                if closing > 0 and closing * (k - 1) > ahead:
                    k = int(ahead / closing) + 1
                # until somebody comes who may begin
                until = horizon_s
                if not again and not static and not (interleaved and at_most):
                    until = ready_s[i]
                    if until <= now or until > horizon_s:
                        until = horizon_s
                cut = now + k * first_s + step_s * (k * (k - 1) * 0.5) > until
                if cut:
                    span = until - now
                    if span <= first_s:
                        k = 1
                    else:
                        half = first_s - step_s * 0.5
                        k = int(2 * span / (half + sqrt(half * half + 2 * step_s * span)))
                        if now + k * first_s + step_s * (k * (k - 1) * 0.5) < until:
                            k += 1
                took_s = k * first_s + step_s * (k * (k - 1) * 0.5)
            else:
                cut = False
                took_s = compute_s if is_compute else memory_s
            if same_run and not pieces and is_compute == was_compute:
                log.steps[-1] += k
            else:
                add_start(now)
                add_compute(compute_s)
                add_memory(memory_s)
                add_compute_step(compute_step)
                add_memory_step(memory_step)
                add_steps(k)
                add_pieces(pieces)
            same_run, was_compute = cut, is_compute
            if pooled:
                settled = (active if static else tokens + reserved) + (k - 1) * decoders
            now += took_s
            clock += k
            tokens += k * width
            if static:
                active += k * decoders
            if contexts:
                contexts.advance(k, clock)
            if interleaved and at_most:
                turn = (turn + k) % turns
            ends = True
            taken = []
        else:
            # nothing to do
            following = ready_s[i]
            if following > horizon_s:
                following = horizon_s
            if following == FOREVER:
                break
            now = following
            continue
        if len(starts) > checkpoint:
            checkpoint += _EVERY
            if watch:
                watch(i)

        # what the end of the pass brings
        if ends:
            while finishes and finishes[0] >> _SHIFT == clock:
                r = heappop(finishes) & _NUMBER
                decoders -= 1
                same_run = False
                if limited:
                    del running[r]
                if static:
                    active -= prompt[r] + left[r] - 1
                    continue
                width -= 1
                tokens -= prompt[r] + left[r] - 1
                if contexts:
                    contexts.leave(r, clock)
        for r in taken:
            more = left[r] - 1
            if not (more or static) or role == PREFILL:
                continue
            p = prompt[r]
            width += 1
            tokens += p
            if more:
                decoders += 1
                heappush(finishes, clock + more << _SHIFT | r)
                if limited:
                    running[r] = clock + more
                if static:
                    active += p
            if contexts:
                contexts.join(r, clock, p + 1)
        if static and not decoders:
            width = tokens = active = 0
            if contexts:
                contexts.clear()
    log.end_s = now
