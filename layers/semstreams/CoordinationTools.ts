/**
 * `decide` and `emit_diagnosis` over a knowledge graph. The loop is the call's own run: no model can name another.
 */
import { Clock, Effect } from "effect"
import { SecureRandom } from "effect/crypto"
import {
  actionRefusal,
  coordinationGovernance,
  CoordinationTools,
  decisionTriples,
  diagnosisTriples,
  severityOf
} from "../../src/semstreams/Coordination.ts"
import type { Platform, Triple, TripleRefused } from "../../src/semstreams/Triple.ts"
import { findingEntity } from "../../src/semstreams/Triple.ts"
import { ToolTerminalError, ToolTransientError, ToolUserError } from "../../src/error/ToolError.ts"
import type { CallContext, GovernedTool } from "../../src/tool/GovernedTool.ts"
import { callOf, govern, MisdeclaredTool } from "../../src/tool/GovernedTool.ts"
import type { StoreError } from "../../services/StoreError.ts"
import { TriplePublisher } from "../../services/semstreams/TriplePublisher.ts"

export interface Options extends Platform {
  /** The actions that `decide` takes; absent = any. */
  readonly actions?: ReadonlyArray<string>
}

const part = /^[A-Za-z0-9_-]{1,64}$/

/** An id of a finding. With a key, the same at every attempt, so that a call that is sent again says nothing twice. */
const findingId = (random: SecureRandom.SecureRandom["Service"], key: string | undefined) => {
  const hex = key === undefined ? undefined : /[0-9a-f]{32}/.exec(key)?.[0]
  return hex === undefined
    ? random.uuidV4()
    : Effect.succeed(
        `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`
      )
}

const notPublished = (error: StoreError | TripleRefused) =>
  error._tag === "TripleRefused"
    ? new ToolUserError({
        kind: "invalid_args",
        reason: "TRIPLE_REFUSED",
        message: "a fact is too long to be recorded; nothing was recorded"
      })
    : new ToolTransientError({
        kind: "network",
        reason: "PUBLISHER_UNAVAILABLE",
        message: "the knowledge graph did not answer; nothing is known to be recorded"
      })

const handlers = (options: Options) =>
  Effect.gen(function* () {
    const publisher = yield* TriplePublisher
    const random = yield* SecureRandom.SecureRandom
    const now = Effect.map(Clock.currentTimeMillis, (ms) => new Date(ms).toISOString())

    const loopOf = ({ run }: CallContext) =>
      (run as string) === ""
        ? Effect.fail(
            new ToolTerminalError({
              kind: "internal",
              reason: "NO_LOOP",
              message: "the call belongs to no loop (it has no loop_id)"
            })
          )
        : Effect.succeed<string>(run)

    const publish = ({ tenant }: CallContext, triples: ReadonlyArray<Triple>) =>
      Effect.mapError(publisher.addAll(tenant, triples), notPublished)

    return CoordinationTools.of({
      decide: Effect.fnUntraced(function* (decision, context) {
        const call = callOf(context)
        const refused = actionRefusal(decision.action, options.actions)
        if (refused !== undefined) return yield* refused
        const loop = yield* loopOf(call)
        yield* publish(call, decisionTriples(options, loop, decision, yield* now))
        return decision
      }),

      emit_diagnosis: Effect.fnUntraced(function* (diagnosis, context) {
        const call = callOf(context)
        const loop = yield* loopOf(call)
        const id = yield* findingId(random, call.key)
        yield* publish(call, diagnosisTriples(options, loop, id, diagnosis, yield* now))
        const { confidence, evidence, finding, observed_role, recommendation } = diagnosis
        return {
          entity_id: findingEntity(options, id),
          finding,
          recommendation,
          confidence,
          evidence,
          ...(typeof observed_role === "string" && observed_role !== ""
            ? { observed_role }
            : undefined),
          severity: severityOf(diagnosis.severity)
        }
      })
    })
  })

/** For a registry. `org` and `platform` are the first parts of every entity's id: letters, digits, _ and -. */
export const tools = (
  options: Options
): Effect.Effect<ReadonlyArray<GovernedTool>, MisdeclaredTool, TriplePublisher> =>
  Effect.gen(function* () {
    for (const field of ["org", "platform"] as const) {
      if (part.test(options[field])) continue
      return yield* new MisdeclaredTool({
        tool: "decide, emit_diagnosis",
        field,
        message: "must be 1 to 64 letters, digits, _ or -: it is a part of every entity's id"
      })
    }
    if (options.actions !== undefined && options.actions.length === 0) {
      return yield* new MisdeclaredTool({
        tool: "decide",
        field: "actions",
        message: "an empty list allows nothing: name the actions, or leave it out to allow any"
      })
    }
    return yield* govern(CoordinationTools, coordinationGovernance, handlers(options))
  }).pipe(Effect.provide(SecureRandom.layerWebCrypto))
