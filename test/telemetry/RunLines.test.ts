/** What the log says of a run that asks a person. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Logger, References } from "effect"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as ToolCallTelemetry from "../../layers/telemetry/ToolCallTelemetry.ts"
import * as H from "../runtime/Harness.ts"

const lines: Array<readonly [message: string, about: Readonly<Record<string, unknown>>]> = []

const layer = H.over({
  tools: { pay: H.asks(() => Effect.succeed("paid")) },
  script: ({ transcript }) => (transcript.length > 1 ? text("done") : call("pay", { n: 1 })),
  observers: "ambient"
}).pipe(
  Layer.provide(ToolCallTelemetry.layer),
  Layer.provideMerge(EphemeralStores.layer),
  Layer.provideMerge(
    Logger.layer([
      Logger.make<unknown, void>(({ fiber, message }) => {
        lines.push([String(message), fiber.getRef(References.CurrentLogAnnotations)])
      })
    ])
  )
)

it.live("the log has a line for a run's begin, question, decision, call and end", () =>
  Effect.gen(function* () {
    const run = yield* H.send("pay")
    yield* H.happened(run, "ApprovalRequested")
    const [question] = yield* H.pending
    yield* H.decide(question!.id, { _tag: "Deny", reason: "not today" })
    yield* H.ended(run)
    const about = lines.filter(([, { run_id }]) => run_id === run)
    // Whoever decides and the run's loop each say what they appended.
    assert.sameMembers(
      about.map(([message]) => message),
      ["run began", "question asked", "question decided", "tool_call", "run ended"]
    )
    const of = new Map(about)
    const [began, asked, decided] = ["run began", "question asked", "question decided"].map(
      (message) => of.get(message)
    )
    const [called, ended] = [of.get("tool_call"), of.get("run ended")]
    assert.hasAllKeys(began, ["run_id", "conversation", "tenant", "agent", "trace_id"])
    assert.deepInclude(asked, { tool: "pay", approval: question!.id, call_id: question!.call })
    assert.deepInclude(decided, { decision: "Deny", by: H.alice.id, approval: question!.id })
    assert.deepInclude(called, { call_id: question!.call, reason: "APPROVAL_DENIED", ok: false })
    assert.deepInclude(ended, { status: "complete", tenant: H.tenant })
    assert.notInclude(JSON.stringify(about), "not today")
  }).pipe(Effect.provide(layer))
)
