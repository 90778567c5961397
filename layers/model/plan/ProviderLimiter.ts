/**
 * Limits requests to one provider: concurrent requests, and tokens a minute by an estimate. Later requests wait in a bounded queue
 * for a bounded time, and leave it when they are interrupted. None is sent while the provider asks to be left alone.
 */
import { Clock, Deferred, Effect } from "effect"
import type { ModelRequest, ModelTool } from "../../../services/ModelGateway.ts"
import { ModelError } from "../../../services/ModelGateway.ts"
import type { StatedRateLimit } from "../wire/RateLimitHeaders.ts"
import type { Part } from "../../../src/conversation/Part.ts"
import { fileTokens } from "../../../src/conversation/Part.ts"
import type { TranscriptEntry } from "../../../src/conversation/Transcript.ts"
import { filesOf, resultText } from "../../../src/conversation/Transcript.ts"
import type { Tokenizer } from "../../../services/Tokenizer.ts"

export interface ProviderLimits {
  readonly concurrent_max: number
  /**
   * The bound on tokens per minute, input and output together. 0 = no bound of our own; limits that the provider states still
   * apply.
   */
  readonly tokens_per_minute: number
  /** The greatest number of waiting requests; one more is refused at once. */
  readonly queue_max: number
  readonly wait_ms_max: number
}

/** Large enough that concurrent runs wait rather than fail. */
export const limits_default: ProviderLimits = {
  concurrent_max: 64,
  tokens_per_minute: 0,
  queue_max: 4_096,
  wait_ms_max: 300_000
}

interface Ticket {
  readonly tokens: number
  state: "waiting" | "held" | "left"
  /** Wakes the waiter when its permit is granted, or when it has become the first in the queue. */
  wakeup: Deferred.Deferred<void>
}

export interface Permit {
  /** Replaces the estimate by what the provider counted. */
  readonly counted: (tokens: number) => void
  readonly setLimits: (stated: StatedRateLimit, now: number) => void
}

const limited = (reason: string, message: string, retry_after_ms?: number) =>
  new ModelError({
    kind: "transient",
    reason,
    message,
    ...(retry_after_ms === undefined ? undefined : { retry_after_ms })
  })

/** The queue of one provider: a few counters and the waiting tickets. */
export class ProviderLimiter {
  readonly #name: string
  readonly #limits: ProviderLimits
  readonly #line: Array<Ticket> = []
  #held = 0
  /** The tokens that are available now; negative after an answer that took more than estimated. */
  #tokens: number
  #filled_at = 0
  /** The time before which nothing is sent, because the provider said so. */
  #closed_until = 0

  constructor(name: string, limits: ProviderLimits) {
    this.#name = name
    this.#limits = limits
    this.#tokens = limits.tokens_per_minute
  }

  /** The most tokens below 0, so that a wrong count closes the provider no longer than the longest wait less a minute. */
  get #least(): number {
    const { tokens_per_minute, wait_ms_max } = this.#limits
    return -tokens_per_minute * Math.max(1, wait_ms_max / 60_000 - 1)
  }

  get held(): number {
    return this.#held
  }

  get waiting(): number {
    return this.#line.length
  }

  /** Runs `use` with a permit for about so many tokens. Fails with reason `queue_full` or `queue_timeout`. */
  withPermit<A, E>(
    tokens: number,
    use: (permit: Permit) => Effect.Effect<A, E>
  ): Effect.Effect<A, E | ModelError> {
    return Effect.acquireUseRelease(
      this.#enter(tokens),
      (ticket) =>
        Effect.andThen(
          this.#granted(ticket),
          Effect.suspend(() => use(this.#permit(ticket)))
        ),
      (ticket) => Effect.map(Clock.currentTimeMillis, (now) => this.#leave(ticket, now))
    )
  }

  #enter(tokens: number): Effect.Effect<Ticket, ModelError> {
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      // A request for more than the bucket's capacity would never be granted.
      const most = this.#limits.tokens_per_minute
      const ticket: Ticket = {
        tokens: most === 0 ? 0 : Math.min(tokens, most),
        state: "waiting",
        wakeup: Deferred.makeUnsafe()
      }
      this.#line.push(ticket)
      this.#grant(now)
      if (ticket.state === "waiting" && this.#line.length > this.#limits.queue_max) {
        this.#leave(ticket, now)
        return limited(
          "queue_full",
          `${this.#limits.queue_max} requests wait for ${this.#name} already`
        )
      }
      return Effect.succeed(ticket)
    })
  }

  #granted(ticket: Ticket): Effect.Effect<void, ModelError> {
    return Effect.suspend(() =>
      ticket.state === "held"
        ? Effect.void
        : Effect.flatMap(Clock.currentTimeMillis, (now) => this.#wait(ticket, now))
    )
  }

  #wait = Effect.fnUntraced(function* (this: ProviderLimiter, ticket: Ticket, since: number) {
    const { wait_ms_max } = this.#limits
    for (;;) {
      const now = yield* Clock.currentTimeMillis
      this.#grant(now)
      if (ticket.state === "held") return
      const left = since + wait_ms_max - now
      if (left <= 0) {
        return yield* limited(
          "queue_timeout",
          `${this.#name} had no room for another request within ${wait_ms_max} ms`
        )
      }
      // Only the first in the queue can compute its wait; the others are woken when they become the first.
      const sleep_ms = this.#line[0] === ticket ? Math.min(left, this.#opensIn(ticket, now)) : left
      ticket.wakeup = Deferred.makeUnsafe()
      yield* Effect.timeoutOption(Deferred.await(ticket.wakeup), sleep_ms)
    }
  })

  /** The time in ms until enough tokens have been refilled; at least 1. */
  #opensIn(ticket: Ticket, now: number): number {
    const { tokens_per_minute } = this.#limits
    const closed_ms = this.#closed_until - now
    const short = tokens_per_minute === 0 ? 0 : ticket.tokens - this.#tokens
    const filled_ms = short <= 0 ? 0 : Math.ceil((short * 60_000) / tokens_per_minute)
    const opens = Math.max(closed_ms, filled_ms)
    // It waits for a permit that is released, and is woken then.
    return opens > 0 ? Math.max(1, opens) : Infinity
  }

  #fill(now: number): void {
    const { tokens_per_minute } = this.#limits
    const passed = Math.max(0, now - this.#filled_at)
    this.#filled_at = now
    this.#tokens = Math.min(tokens_per_minute, this.#tokens + (passed * tokens_per_minute) / 60_000)
  }

  #grant(now: number): void {
    const { concurrent_max, tokens_per_minute } = this.#limits
    this.#fill(now)
    for (;;) {
      const first = this.#line[0]
      if (first === undefined || this.#held >= concurrent_max || now < this.#closed_until) return
      if (tokens_per_minute > 0 && this.#tokens < first.tokens) return
      this.#line.shift()
      first.state = "held"
      this.#held++
      this.#tokens -= first.tokens
      Deferred.doneUnsafe(first.wakeup, Effect.void)
      this.#wakeFirst()
    }
  }

  #wakeFirst(): void {
    const first = this.#line[0]
    if (first !== undefined) Deferred.doneUnsafe(first.wakeup, Effect.void)
  }

  #leave(ticket: Ticket, now: number): void {
    if (ticket.state === "held") this.#held--
    else if (ticket.state === "waiting") {
      const at = this.#line.indexOf(ticket)
      if (at >= 0) this.#line.splice(at, 1)
    }
    ticket.state = "left"
    this.#grant(now)
    // The first in the queue may wait for tokens now instead of a permit.
    this.#wakeFirst()
  }

  #permit(ticket: Ticket): Permit {
    return {
      counted: (tokens) => {
        this.#tokens = Math.max(this.#tokens + ticket.tokens - tokens, this.#least)
      },
      setLimits: (stated, now) => this.#setLimits(stated, now)
    }
  }

  #setLimits(stated: StatedRateLimit, now: number): void {
    // The provider has counted the tokens of requests in flight or will count them; the lower number is the safe one.
    if (stated.tokens_left !== undefined && this.#limits.tokens_per_minute > 0) {
      this.#tokens = Math.min(this.#tokens, stated.tokens_left)
    }
    const reset = Math.max(
      stated.tokens_left === 0 ? (stated.tokens_reset_ms ?? 0) : 0,
      stated.requests_left === 0 ? (stated.requests_reset_ms ?? 0) : 0
    )
    if (reset > 0) {
      this.#closed_until = Math.max(
        this.#closed_until,
        now + Math.min(reset, this.#limits.wait_ms_max)
      )
    }
  }
}

/** Names of models come from agents; beyond this many, the one that ends first is forgotten. */
const bans_max = 1_000

/** By model: an attempt before that time would be refused, and some providers lengthen the wait of who asks all the same. */
export class ProviderBans {
  readonly #until = new Map<string, number>()

  /** The provider asked for a wait. A shorter one than that in force changes nothing. `now` in ms. */
  set(name: string, retry_after_ms: number, now: number): void {
    const until = now + retry_after_ms
    if (until <= (this.#until.get(name) ?? now)) return
    this.#until.set(name, until)
    if (this.#until.size <= bans_max) return
    const [first] = [...this.#until].reduce((least, each) => (each[1] < least[1] ? each : least))
    this.#until.delete(first)
  }

  /** How long the model must not be asked, in ms; 0 = it may be. */
  leftMs(name: string, now: number): number {
    const left = (this.#until.get(name) ?? now) - now
    if (left <= 0) this.#until.delete(name)
    return Math.max(0, left)
  }
}

export const banned = (name: string, retry_after_ms: number): ModelError =>
  new ModelError({
    kind: "transient",
    reason: "retry_later",
    message: `the provider of ${name} asked to be left alone for ${Math.ceil(retry_after_ms / 1_000)} s more`,
    retry_after_ms
  })

const answer_tokens = 500

const withoutFiles = (text: string, parts: ReadonlyArray<Part>): string =>
  [text, ...parts.map((part) => (part.type === "text" ? part.text : ""))].join("\n")

const tokensOfFiles = (entry: TranscriptEntry): number => {
  let tokens = 0
  for (const file of filesOf(entry)) tokens += fileTokens(file)
  return tokens
}

const textOf = (entry: TranscriptEntry): string => {
  switch (entry.role) {
    case "user":
      return entry.parts === undefined ? entry.text : withoutFiles(entry.text, entry.parts)
    case "assistant":
      return [
        entry.text,
        ...(entry.reasoning ?? []).map((part) => part.text),
        ...entry.calls.map((call) => call.name + JSON.stringify(call.arguments))
      ].join("\n")
    case "tool":
      return resultText(entry)
  }
}

interface Counted {
  entries: number
  tokens: number
  last: TranscriptEntry | undefined
}

/** Estimates the tokens of a request. Each entry is counted only once, because a frame's transcript only grows at its end. */
export class PromptEstimate {
  readonly #tokenizer: Tokenizer
  readonly #transcripts = new WeakMap<ReadonlyArray<TranscriptEntry>, Counted>()
  readonly #tools = new WeakMap<ReadonlyArray<ModelTool>, number>()
  /** The newest instructions and their tokens. An agent's instructions are mostly the same at every turn. */
  #system = { text: "", tokens: 0 }

  constructor(tokenizer: Tokenizer) {
    this.#tokenizer = tokenizer
  }

  #ofTranscript(transcript: ReadonlyArray<TranscriptEntry>, model: string | undefined): number {
    let counted = this.#transcripts.get(transcript)
    if (counted === undefined || transcript[counted.entries - 1] !== counted.last) {
      counted = { entries: 0, tokens: 0, last: undefined }
      this.#transcripts.set(transcript, counted)
    }
    for (const entry of transcript.slice(counted.entries)) {
      counted.entries++
      counted.last = entry
      counted.tokens += this.#tokenizer.count(textOf(entry), model) + tokensOfFiles(entry)
    }
    return counted.tokens
  }

  #ofTools(tools: ReadonlyArray<ModelTool>, model: string | undefined): number {
    let tokens = this.#tools.get(tools)
    if (tokens === undefined) {
      tokens = this.#tokenizer.count(JSON.stringify(tools), model)
      this.#tools.set(tools, tokens)
    }
    return tokens
  }

  #ofSystem(text: string, model: string | undefined): number {
    if (this.#system.text !== text) {
      this.#system = { text, tokens: this.#tokenizer.count(text, model) }
    }
    return this.#system.tokens
  }

  tokens({ history, model, settings, system, tools, transcript }: ModelRequest): number {
    return (
      this.#ofSystem(system, model) +
      this.#ofTranscript(history, model) +
      this.#ofTranscript(transcript, model) +
      this.#ofTools(tools, model) +
      Math.min(settings?.max_output_tokens ?? answer_tokens, answer_tokens)
    )
  }
}
