/**
 * Presents this runtime's runs as SemStreams loops: it reads them from the journal, and passes answers to the approval desk. A
 * loop has the id of its run.
 */
import { Context, Effect, Layer, Result, Schema } from "effect"
import type {
  ApprovalExpired,
  ApprovalNotFound,
  ApprovalSettled
} from "../../src/approval/Approval.ts"
import { NotEntitled } from "../../src/principal/NotEntitled.ts"
import { readJsonValue } from "../../src/value/BoundedJson.ts"
import * as Entries from "../../src/entry/ArgumentReaders.ts"
import { InvalidInput, inputReader } from "../../src/schema/InvalidInput.ts"
import { isRunId } from "../../src/value/Ids.ts"
import type { Principal } from "../../src/principal/Principal.ts"
import { isLimitedToOwn } from "../../src/principal/Rights.ts"
import { RunNotFound } from "../../src/run/RunCommand.ts"
import type { JournalEntry } from "../../src/run/RunEvent.ts"
import type { RunQuarantined } from "../../src/run/Quarantine.ts"
import * as RunFold from "../../src/run/RunFold.ts"
import type { ApprovalResponse } from "../../src/semstreams/ApprovalMessages.ts"
import { approvalOf, decisionOf, decodeResponse } from "../../src/semstreams/ApprovalMessages.ts"
import type { Loop } from "../../src/semstreams/Loop.ts"
import { loopOf } from "../../src/semstreams/Loop.ts"
import type { DecisionError } from "../../services/ApprovalDesk.ts"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import type { JournalError } from "../../services/RunJournal.ts"
import { RunReader } from "../../services/RunReader.ts"

export class SemStreamsLoops extends Context.Service<
  SemStreamsLoops,
  {
    /** Gives a run of the principal's tenant as a loop. */
    get(
      loop_id: string,
      by: Principal
    ): Effect.Effect<Loop, InvalidInput | NotEntitled | RunNotFound | RunQuarantined | JournalError>
    /**
     * Answers the gate that a response names. The decision is recorded as that of its `approved_by`, with the tenant and the
     * roles of `sender`, who vouches for that person. A rejection without a name is the sender's own. If no open gate matches,
     * because the answer is late, repeated or misaddressed, nothing changes and this succeeds.
     */
    respond(
      response: unknown,
      sender: Principal
    ): Effect.Effect<
      void,
      Exclude<DecisionError, ApprovalNotFound | ApprovalSettled | ApprovalExpired>
    >
  }
>()("troupe/layers/semstreams/SemStreamsLoops") {}

const page = 10_000

const readId = inputReader(Schema.String)

const readResponse = (message: unknown): Effect.Effect<ApprovalResponse, InvalidInput> =>
  readJsonValue(message).pipe(
    Result.mapError((refused) => refused.message),
    Result.flatMap(decodeResponse),
    Result.mapError((text) => new InvalidInput({ field: "response", reason: text })),
    Effect.fromResult
  )

const make = Effect.gen(function* () {
  const reader = yield* RunReader
  const desk = yield* ApprovalDesk

  /** A run's whole journal; empty if the principal's tenant has no such run. */
  const entriesOf = Effect.fnUntraced(function* (loop_id: string, by: Principal) {
    const entries: Array<JournalEntry> = []
    if (!isRunId(loop_id)) return entries
    for (;;) {
      const next = yield* reader.readFor(by.tenant, loop_id, entries.length, page)
      entries.push(...next)
      if (next.length < page) return entries
    }
  })

  return SemStreamsLoops.of({
    get: Effect.fn("SemStreamsLoops.get")(function* (loop_id, by) {
      const who = yield* Entries.entitled(by, "inspect")
      const id = yield* readId(loop_id, "loop_id")
      const loop = loopOf(yield* entriesOf(id, who))
      return loop ?? (yield* new RunNotFound({ run_id: id }))
    }),
    respond: Effect.fn("SemStreamsLoops.respond")(function* (message, sender) {
      const who = yield* Entries.entitled(sender, "decide")
      // A response names its approver, and a customer could name another one. So only members of the staff may send one.
      if (isLimitedToOwn(who, "decide")) {
        return yield* new NotEntitled({ principal: who.id, needs: ["approver", "operator"] })
      }
      const response = yield* readResponse(message)
      const { approved_by, call_id, loop_id } = response
      const id = approved_by ?? who.id
      const by = yield* Entries.principal({ ...who, id }, "response.approved_by")
      const entries = yield* entriesOf(loop_id, who)
      if (entries.length === 0) return
      const state = RunFold.fold(entries.map(({ event }) => event))
      const approval = approvalOf(state, call_id)
      if (approval === undefined) return
      yield* desk.decide(approval, decisionOf(response), by).pipe(
        // Another answer came first, or the question has expired.
        Effect.catchTag(
          ["ApprovalNotFound", "ApprovalSettled", "ApprovalExpired"],
          () => Effect.void
        )
      )
    })
  })
})

export const layer: Layer.Layer<SemStreamsLoops, never, ApprovalDesk | RunReader> = Layer.effect(
  SemStreamsLoops,
  make
)
