/**
 * Records calls beside the journal, as an observer: it never delays a call and never fails one. Records that come faster
 * than the store takes them are dropped and counted in the log; those that wait when the runtime stops are stored for at
 * most `stop_ms`.
 */
import { Cause, Clock, Context, Effect, Exit, Fiber, Latch, Layer, Schema, Scope } from "effect"
import type { CallRecord } from "../../../src/tool/CallRecord.ts"
import { recordOf, recordOfRetried, recordWeightOf } from "../../../src/tool/CallRecord.ts"
import { CallRecords } from "../../../services/CallRecords.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import type { ToolAttemptObserver, ToolCallObserver } from "../../../services/RunObserver.ts"
import { ToolAttemptObservers, ToolCallObservers } from "../../../services/RunObserver.ts"

/** The stop ended before every waiting record was stored; `left` were not. */
export class RecordingTimeout extends Schema.TaggedError<RecordingTimeout>()("RecordingTimeout", {
  left: Schema.Int
}) {
  override get message(): string {
    return "timeout waiting for recording"
  }
}

export interface RecorderConfig {
  /** Records that wait or are being written; SemStreams' 100. */
  readonly records_max: number
  /** About how many bytes those may have, because a result may be large. */
  readonly bytes_max: number
  /** The timeout of one write; then its records are lost. */
  readonly write_ms: number
  /** How long a stop waits for the records that are left. */
  readonly stop_ms: number
}

export const RecorderConfig = Context.Reference<RecorderConfig>("troupe/CallRecorderConfig", {
  defaultValue: () => ({
    records_max: 100,
    bytes_max: 16_000_000,
    write_ms: 10_000,
    stop_ms: 5_000
  })
})

/** Opens the store: at the first write, and again after a write that failed. It is closed after such a write and at the stop. */
export type Open = Effect.Effect<CallRecords["Service"], StoreError, Scope.Scope>

interface Counts {
  readonly stored: number
  /** Refused, because too many waited. */
  readonly dropped: number
  /** The store failed or did not answer in time. */
  readonly lost: number
}

/** Records of one write. */
const batch_max = 50

export class Recorder {
  readonly #config: RecorderConfig
  readonly #open: Open
  readonly #clock: Clock.Clock
  readonly #wakeup = Latch.makeUnsafe(false)
  #waiting: Array<CallRecord> = []
  /** Being written. */
  #writing: ReadonlyArray<CallRecord> = []
  #bytes = 0
  #last_ns = 0n
  #counts = { stored: 0, dropped: 0, lost: 0 }
  /** Dropped, and not logged yet. */
  #unlogged = 0
  #stopping = false
  #store: { readonly service: CallRecords["Service"]; readonly scope: Scope.Closeable } | undefined
  #worker: Fiber.Fiber<void> | undefined

  constructor(config: RecorderConfig, open: Open, clock: Clock.Clock) {
    this.#config = config
    this.#open = open
    this.#clock = clock
  }

  readonly observe: ToolCallObserver = (fact) => this.#keep((ns) => recordOf(fact, ns))

  /** Records attempts that were followed by another; the end of the last one is recorded as the call's. */
  readonly attempted: ToolAttemptObserver = (attempt) => {
    if (attempt.willRetry) this.#keep((ns) => recordOfRetried(attempt, ns))
  }

  #keep(make: (timestamp_ns: bigint) => CallRecord): void {
    if (this.#stopping) return
    const { bytes_max, records_max } = this.#config
    if (this.#waiting.length + this.#writing.length >= records_max || this.#bytes >= bytes_max) {
      this.#counts.dropped++
      this.#unlogged++
      return
    }
    // No two records of one recorder have the same time.
    const now = this.#clock.currentTimeNanosUnsafe()
    this.#last_ns = now > this.#last_ns ? now : this.#last_ns + 1n
    const record = make(this.#last_ns)
    this.#bytes += recordWeightOf(record)
    this.#waiting.push(record)
    this.#wakeup.openUnsafe()
  }

  readonly counts = (): Counts => ({ ...this.#counts })

  /** Is the store open? */
  readonly isOpen = (): boolean => this.#store !== undefined

  /** Stores what waits, at most `ms` long, then closes the store. Records nothing more. */
  readonly stop = (ms: number): Effect.Effect<void, RecordingTimeout> =>
    Effect.suspend(() => {
      this.#stopping = true
      this.#wakeup.openUnsafe()
      const worker = this.#worker
      const drained = worker === undefined ? Effect.void : Effect.asVoid(Fiber.await(worker))
      return Effect.ensuring(
        Effect.timeoutOrElse(drained, {
          duration: ms,
          orElse: () =>
            Effect.fail(new RecordingTimeout({ left: this.#waiting.length + this.#writing.length }))
        }),
        Effect.suspend(() => {
          worker?.interruptUnsafe()
          return Effect.andThen(this.#logDropped(), this.#close())
        })
      )
    })

  /** Stores until it is stopped and nothing is left. */
  run(): Effect.Effect<void, never, Scope.Scope> {
    return Effect.map(Effect.forkScoped(Recorder.#loop(this)), (fiber) => {
      this.#worker = fiber
    })
  }

  static readonly #loop = Effect.fnUntraced(function* (self: Recorder) {
    for (;;) {
      if (self.#waiting.length === 0) {
        if (self.#stopping) return
        self.#wakeup.closeUnsafe()
        yield* self.#wakeup.await
        continue
      }
      self.#writing = self.#waiting.splice(0, batch_max)
      const exit = yield* Effect.exit(self.#write(self.#writing))
      const written = self.#writing
      self.#writing = []
      for (const record of written) self.#bytes -= recordWeightOf(record)
      if (Exit.isSuccess(exit)) self.#counts.stored += written.length
      else {
        self.#counts.lost += written.length
        // The next write opens it anew.
        yield* self.#close()
        const reason = Cause.findErrorOption(exit.cause)
        yield* Effect.annotateLogs(Effect.logWarning("records of calls could not be stored"), {
          records: written.length,
          reason: reason._tag === "Some" ? reason.value.message : "the store failed by a defect"
        })
      }
      yield* self.#logDropped()
    }
  })

  #write(records: ReadonlyArray<CallRecord>) {
    return Effect.timeout(
      Effect.flatMap(this.#opened(), (store) => store.store(records)),
      this.#config.write_ms
    )
  }

  #opened(): Effect.Effect<CallRecords["Service"], StoreError> {
    if (this.#store !== undefined) return Effect.succeed(this.#store.service)
    return Effect.suspend(() => {
      const scope = Scope.makeUnsafe()
      return Effect.onExit(Scope.provide(this.#open, scope), (exit) => {
        if (Exit.isFailure(exit)) return Scope.close(scope, exit)
        this.#store = { service: exit.value, scope }
        return Effect.void
      })
    })
  }

  #close(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const store = this.#store
      this.#store = undefined
      return store === undefined ? Effect.void : Scope.close(store.scope, Exit.void)
    })
  }

  /** Logs how many were dropped since the last time: once a burst, because records are dropped only during a write. */
  #logDropped(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const dropped = this.#unlogged
      if (dropped === 0) return Effect.void
      this.#unlogged = 0
      return Effect.annotateLogs(
        Effect.logWarning("records of calls were dropped: the store is slower than the tools"),
        { dropped }
      )
    })
  }
}

/** A recorder that opens its store at its first record. It ends with the scope, without waiting for its records. */
export const make = Effect.fnUntraced(function* (
  open: Open
): Effect.fn.Return<Recorder, never, Scope.Scope> {
  const config = yield* RecorderConfig
  const recorder = new Recorder(config, open, yield* Clock.Clock)
  yield* recorder.run()
  return recorder
})

const recorded = Effect.gen(function* () {
  const store = yield* CallRecords
  const { stop_ms } = yield* RecorderConfig
  const recorder = yield* make(Effect.succeed(store))
  yield* Effect.addFinalizer(() =>
    Effect.catch(recorder.stop(stop_ms), ({ left, message }) =>
      Effect.annotateLogs(Effect.logWarning(message), { left })
    )
  )
  return Context.make(ToolCallObservers, [...(yield* ToolCallObservers), recorder.observe]).pipe(
    Context.add(ToolAttemptObservers, [...(yield* ToolAttemptObservers), recorder.attempted])
  )
})

/** Provide it beneath the runtime and over the telemetry: it adds to the observers that there are. */
export const layer: Layer.Layer<never, never, CallRecords> = Layer.effectContext(recorded)
