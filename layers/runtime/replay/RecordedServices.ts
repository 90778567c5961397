/**
 * What a replay has in place of the services of a run: the recorded turns, recall and authorisations, a memory that is only read,
 * and a store of files that keeps nothing.
 */
import { Effect, Exit, Context } from "effect"
import type { Recording } from "../../../src/replay/Recording.ts"
import { stepKey } from "../../../src/value/Ids.ts"
import type { Turn } from "../../../src/run/RunDecider.ts"
import type { ModelTurned } from "../../../src/run/RunEvent.ts"
import { promptText } from "../../../src/memory/RecalledLines.ts"
import { MemoryRefused } from "../../../src/memory/MemoryRow.ts"
import * as Guard from "../../../src/agent/Guard.ts"
import type { Guarded } from "../../../src/run/GuardVerdict.ts"
import type { AgentGuards } from "../../../services/AgentDirectory.ts"
import { FileNotFound } from "../../../src/conversation/Part.ts"
import type { Authorized, AuthorizedAction } from "../../../src/permission/Authorization.ts"
import type { ModelGateway, ModelRequest } from "../../../services/ModelGateway.ts"
import { media_unsupported, ModelError } from "../../../services/ModelGateway.ts"
import { AgentMemory } from "../../../services/AgentMemory.ts"
import { StoreError } from "../../../services/StoreError.ts"
import { BlobStore } from "../../../services/BlobStore.ts"
import type { Recall } from "../loop/PromptMemory.ts"

/** At each step the turn that was recorded for it. `onEnd` runs when the loop wants a turn that the recording does not have; that turn never completes. */
export const recordedModel = (
  recording: Recording,
  onEnd: Effect.Effect<void>
): ModelGateway["Service"] => {
  const { turns } = recording
  return {
    turn: (request) => {
      const key = stepKey(request.frame, request.step)
      if (request.purpose === "summary") {
        const summary = summaryOf(recording, key)
        return summary === undefined
          ? Exit.fail(unrecorded(key, "a summary"))
          : Exit.succeed(summary)
      }
      const turned = turns.get(key)
      if (turned !== undefined) return Exit.succeed(turnOf(turned))
      return failureOf(recording, request) ?? Effect.andThen(onEnd, Effect.never)
    }
  }
}

const unrecorded = (place: string, what: string) =>
  new ModelError({
    kind: "configuration",
    reason: "cassette_diverged",
    message: `the recording holds ${what} for no step ${place}`
  })

const turnOf = ({ _tag, frame: _frame, given: _given, step: _step, ...turn }: ModelTurned): Turn =>
  turn

/** The turn that made the summary before the turn of this key; undefined = none was recorded. */
const summaryOf = ({ compactions }: Recording, key: string): Turn | undefined => {
  const cut = compactions.get(key)?.find(({ how }) => how === "summarised")
  const summary = cut?.own?.summary ?? cut?.history?.summary
  return cut === undefined || summary === undefined ? undefined : summaryTurn(summary.text, cut)
}

/** The run that was forked has paid for it. */
const forFree = ({ cost: _paid, ...turn }: Turn): Turn => ({
  ...turn,
  usage: { input_tokens: 0, output_tokens: 0 }
})

/** Gives what was recorded before the fork, and asks `live` from there on. */
export const forkedModel = (
  before: Recording,
  live: ModelGateway["Service"]
): ModelGateway["Service"] => ({
  turn: (request, sink) => {
    const key = stepKey(request.frame, request.step)
    const turned = before.turns.get(key)
    const turn = request.purpose === "summary" ? summaryOf(before, key) : turned && turnOf(turned)
    return turn === undefined ? live.turn(request, sink) : Exit.succeed(forFree(turn))
  }
})

const summaryTurn = (
  text: string,
  { cost, model, usage }: Pick<Turn, "cost" | "model" | "usage">
): Turn => ({
  text,
  calls: [],
  finish: "stop",
  ...(usage === undefined ? undefined : { usage }),
  ...(model === undefined ? undefined : { model }),
  ...(cost === undefined ? undefined : { cost })
})

const kinds: Readonly<Record<string, ModelError["kind"]>> = {
  graph_stopped: "refused",
  [media_unsupported]: "configuration",
  model_configuration: "configuration",
  model_refused: "refused",
  model_transient: "transient"
}

/** The recorded failure of a turn: that of its run, or of its specialist's call. Undefined = it did not fail. */
const failureOf = (
  { calls, stopping }: Recording,
  { frame }: ModelRequest
): Exit.Exit<never, ModelError> | undefined => {
  const call = calls.find(({ id }) => (id as string) === frame)
  const failed =
    call?.outcome?._tag === "Failed"
      ? call.outcome.error
      : stopping?.by === "runtime"
        ? { reason: stopping.reason, message: stopping.message ?? "" }
        : undefined
  if (failed === undefined) return undefined
  const { message, reason = "" } = failed
  const kind = kinds[reason]
  if (kind === undefined) return undefined
  const stated = reason === "graph_stopped" || reason === media_unsupported ? { reason } : undefined
  return Exit.fail(new ModelError({ kind, message, ...stated }))
}

/** Gives the recorded recall: its lines, or its failure. If the recorded run recalled nothing, there are no lines. */
export const recallOf =
  ({ recalled }: Recording): Recall =>
  () => {
    const { failure, lines = [], tokens = 0 } = recalled ?? {}
    return failure === undefined
      ? Effect.succeed({ lines, text: promptText(lines), tokens })
      : Effect.fail(new StoreError({ message: failure }))
  }

const refused = Effect.fail(
  new MemoryRefused({ reason: "replay", message: "a replay changes no memories" })
)

/** The memory with which the replay's tools run: the live one, which they cannot write to. */
export const withoutWrites = (live: Context.Context<AgentMemory>): Context.Context<AgentMemory> => {
  const { get, list, recall } = Context.get(live, AgentMemory)
  return AgentMemory.context(
    AgentMemory.of({
      get,
      list,
      recall,
      remember: () => refused,
      undo: () => refused,
      endRun: () => Effect.succeed({ promoted: 0, dropped: 0 }),
      endConversation: Effect.succeed({ promoted: 0, dropped: 0 })
    })
  )
}

/** Accepts what a body or another model makes, so that it is described as usual, and keeps nothing. */
export const discardedFiles: BlobStore["Service"] = BlobStore.of({
  put: () => Effect.void,
  hold: (_, { digest }) => Effect.fail(new FileNotFound({ digest })),
  get: () => Effect.succeed(undefined),
  read: () => Effect.succeed(undefined),
  heldBy: () => Effect.succeed([]),
  withdraw: () => Effect.succeed(0),
  release: () => Effect.void,
  collect: () => Effect.succeed(0)
})

/** Says what guards said, of the same texts: no guard is asked again. An answer is recorded as its guards have left it. */
export const guardsOf = ({ guarded }: Recording): AgentGuards | undefined => {
  if (guarded.length === 0) return undefined
  const guards = guarded.map((event) => ({
    event,
    guard: Guard.make({
      name: event.guard,
      on: [event.on],
      mode: event.mode,
      judge: ({ text }) => recordedVerdict(event, text)
    })
  }))
  return (place) =>
    guards.flatMap(({ event, guard }) => {
      const isSame =
        event.on === place.on &&
        event.frame === place.frame &&
        event.step === place.step &&
        event.call === place.call
      return isSame ? [guard] : []
    })
}

const recordedVerdict = ({ reason = "", text, verdict }: Guarded, given: string): Guard.Verdict => {
  const why = reason === "" ? undefined : { reason }
  switch (verdict) {
    case "change":
      return { verdict, text: text ?? given, ...why }
    case "refuse":
    case "ask":
      return { verdict, reason }
    default:
      return { verdict: "pass", ...why }
  }
}

/** The same agents may take the same actions as in the recording without asking anybody, whatever is authorised now. */
export const authorizationsOf =
  ({ calls }: Recording) =>
  ({ agent, tool_key }: AuthorizedAction): Effect.Effect<Authorized | undefined> =>
    Effect.succeed(
      calls.findLast(
        ({ authorized }) => authorized?.agent === agent && authorized.tool_key === tool_key
      )?.authorized
    )
