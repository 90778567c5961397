/**
 * What becomes of the calls of a fork: they get the results that the other run's calls had, as a call gets that of an earlier one
 * with its key. A read that was not recorded runs; anything else is refused, and nobody is asked.
 */
import { Effect } from "effect"
import type { Digest } from "effect/crypto"
import { ToolPolicyError, ToolTerminalError } from "../../../src/error/ToolError.ts"
import type { ToolError } from "../../../src/error/ToolError.ts"
import { Cassette, routeOf } from "../../../src/replay/Cassette.ts"
import { isErased } from "../../../src/replay/Erased.ts"
import type { AnsweredCall } from "../../../src/replay/Fork.ts"
import { answeredCalls } from "../../../src/replay/Fork.ts"
import type { Recording } from "../../../src/replay/Recording.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { CallSettled } from "../../../src/run/RunEvent.ts"
import type { RunState } from "../../../src/run/RunState.ts"
import type { RunId } from "../../../src/value/Ids.ts"
import type { BlobStore } from "../../../services/BlobStore.ts"
import { digestOf } from "../tool/CallDigests.ts"
import type { AgentTool, CallHost } from "../tool/CallHost.ts"
import { callFinished, recordedFinished } from "../tool/CallOutcome.ts"
import { failedOutcome } from "../tool/FailedOutcome.ts"
import type { Instead } from "../tool/ToolInvoker.ts"

export const not_recorded = "FORK_NOT_RECORDED"

const notRecorded = ({ spec }: AgentTool, run: RunId): ToolError =>
  new ToolPolicyError({
    kind: "permission",
    reason: not_recorded,
    message: `This run is a fork of ${run}, which made no such call of "${spec.name}". A fork changes nothing and asks nobody, so the call was not made.`
  })

const erased = ({ spec }: AgentTool, run: RunId): ToolError =>
  new ToolTerminalError({
    kind: "internal",
    reason: "FORK_ERASED",
    message: `The result that "${spec.name}" had in run ${run} was erased.`
  })

interface Options {
  readonly digest: Digest.Digest["Service"]
  readonly blobs: BlobStore["Service"]
  /** The run that was forked, and its recording. */
  readonly run: RunId
  readonly recording: Recording
  /** The fork: its calls that are over have taken their results already. */
  readonly state: RunState
  /** Whether a tool is given a context without the secrets of its run, which no recording has. */
  readonly isSecretless: (tool: AgentTool) => boolean
}

/** The results by tool name and arguments, each in the order of the recording. */
const resultsOf = Effect.fnUntraced(function* ({ digest, recording, state }: Options) {
  const cassette = new Cassette()
  const answers: ReadonlyArray<AnsweredCall> = answeredCalls(recording)
  for (const [index, { arguments: all, name }] of answers.entries()) {
    const hashes = yield* Effect.forEach(all, (args) => digestOf(digest, args))
    for (const hash of new Set(hashes)) cassette.record(name, hash, index)
  }
  const take = (name: string, args: unknown) =>
    Effect.map(digestOf(digest, args), (hash) => {
      const index = cassette.take(name, hash)
      return typeof index === "number" ? answers[index]?.settled : undefined
    })
  for (const { phase, proposed } of state.calls.values()) {
    if (phase._tag === "Settled") yield* take(proposed.name, proposed.arguments)
  }
  return take
})

/** The call with the recorded result, whose files the fork then holds too. */
const answered = Effect.fnUntraced(function* (
  { blobs, run }: Options,
  host: CallHost,
  tool: AgentTool,
  settled: CallSettled
) {
  const { id } = host.call()
  const { files = [], outcome } = settled
  if (outcome._tag === "Value" && isErased(outcome.json)) {
    return callFinished(id, failedOutcome(erased(tool, run)))
  }
  const { conversation, tenant } = host.accepted
  const holder = { run: host.run, conversation, as: "result" } as const
  // Bytes that are gone are gone for the other run too: the result names them all the same.
  for (const file of files) yield* Effect.ignore(blobs.hold(tenant, file, holder))
  return recordedFinished(host, tool, id, settled)
})

/** Answers the calls of a fork. */
export const make = Effect.fnUntraced(function* (options: Options) {
  const { isSecretless, run } = options
  const take = yield* resultsOf(options)
  const instead: Instead = Effect.fnUntraced(function* (host, tool, asks, live) {
    const { id, proposed } = host.call()
    const { replay_policy, side_effects } = tool.spec
    const found = yield* take(proposed.name, proposed.arguments)
    const route = routeOf({ replay_policy, side_effects, recorded: found !== undefined })
    if (found !== undefined && route !== "fail" && route !== "run") {
      return yield* answered(options, host, tool, found)
    }
    const isHere = tool.client === undefined && !isSecretless(tool)
    if (route === "run" && !asks && isHere) return yield* live
    const refused: RunInput = callFinished(id, failedOutcome(notRecorded(tool, run)))
    return refused
  })
  return instead
})
