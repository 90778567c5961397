/** What a tool itself says of a call at this moment: before a person is asked, and again before its body. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { ToolPolicyError, ToolTransientError } from "../../src/error/ToolError.ts"
import type { RunId } from "../../src/value/Ids.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import * as Replay from "../../layers/compose/entries/Replay.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AuthorizationDesk } from "../../services/AuthorizationDesk.ts"
import * as H from "./Harness.ts"

const closed = new ToolPolicyError({
  kind: "permission",
  reason: "CLOSED",
  message: "The shop is closed."
})

/** What the precondition and the body saw. */
interface Seen {
  readonly asked: Array<number>
  readonly ran: Array<number>
}

type Answer = Effect.Effect<unknown, ToolPolicyError | ToolTransientError>

/** `answer` says what the precondition does the nth time, from 1. */
const optionsOf = (
  seen: Seen,
  answer: (nth: number) => Answer,
  make: typeof H.asks = H.asks,
  timeout_ms = 10_000
): H.Options => ({
  tools: {
    pay: make((n) => Effect.sync(() => (seen.ran.push(n), n)), {
      timeout_ms,
      approvers: ["customer", "approver", "operator"],
      precondition: ({ n }: { readonly n: number }) =>
        Effect.suspend(() => answer(seen.asked.push(n)))
    })
  },
  script: ({ step }) => (step === 1 ? call("pay", { n: 7 }) : text("done"))
})

const seenOf = (): Seen => ({ asked: [], ran: [] })
const tagsOf = (events: ReadonlyArray<RunEvent>) => events.map(({ _tag }) => _tag)

const errorOf = (events: ReadonlyArray<RunEvent>) => {
  const outcome = H.outcome(events)
  return outcome?._tag === "Failed" ? outcome.error : assert.fail(JSON.stringify(outcome))
}

/** The replay asks nobody, and goes as the run went. */
const replays = Effect.fnUntraced(function* (run: RunId, options: H.Options, seen: Seen) {
  const before = { asked: [...seen.asked], ran: [...seen.ran] }
  const app = { agents: H.agentsOf(options), tools: [H.toolsOf(options.tools ?? {})] }
  const report = yield* Replay.replay(run, { app })
  assert.isUndefined(report.divergence, JSON.stringify(report.divergence))
  if (typeof report.gate === "string") return assert.fail(report.gate)
  assert.isUndefined(report.gate.divergence, JSON.stringify(report.gate.divergence))
  assert.deepStrictEqual(seen, before)
})

const passes = Effect.void
const refuses = Effect.fail(closed)

describe("a precondition", () => {
  it.live("refuses a call before anybody is asked", () => {
    const seen = seenOf()
    const options = optionsOf(seen, () => refuses)
    return Effect.gen(function* () {
      const run = yield* H.send("go")
      const events = yield* H.ended(run)
      assert.notInclude(tagsOf(events), "ApprovalRequested")
      assert.deepInclude(errorOf(events), { class: "ToolPolicyError", reason: "CLOSED" })
      assert.deepStrictEqual(seen, { asked: [7], ran: [] })
      yield* replays(run, options, seen)
    }).pipe(Effect.provide(H.layer(options)))
  })

  it.live("refuses an approved call whose moment is over", () => {
    const seen = seenOf()
    const options = optionsOf(seen, (nth) => (nth === 1 ? passes : refuses))
    return Effect.gen(function* () {
      const run = yield* H.send("go")
      yield* H.decide((yield* H.question(run)).approval, H.approve)
      const events = yield* H.ended(run)
      assert.notInclude(tagsOf(events), "CallDispatched")
      assert.deepInclude(errorOf(events), { class: "ToolPolicyError", reason: "CLOSED" })
      assert.deepStrictEqual(seen, { asked: [7, 7], ran: [] })
      yield* replays(run, options, seen)
    }).pipe(Effect.provide(H.layer(options)))
  })

  it.live("lets a call through, and sees what an approver made of its arguments", () => {
    const seen = seenOf()
    const options = optionsOf(seen, () => passes)
    return Effect.gen(function* () {
      const run = yield* H.send("go")
      const { approval } = yield* H.question(run)
      yield* H.decide(approval, { _tag: "Modify", arguments: { n: 8 } })
      assert.deepStrictEqual(H.outcome(yield* H.ended(run)), { _tag: "Value", json: "8" })
      assert.deepStrictEqual(seen, { asked: [7, 8], ran: [8] })
      yield* replays(run, options, seen)
    }).pipe(Effect.provide(H.layer(options)))
  })

  it.live("SA-28 refuses before a use of what was authorised in advance is spent", () => {
    const seen = seenOf()
    const options = optionsOf(seen, (nth) => (nth === 1 ? refuses : passes))
    return Effect.gen(function* () {
      const customer = H.person("carl", ["customer"])
      const request = { agent: H.agentName, action: "pay", uses_max: 1 }
      yield* AuthorizationDesk.use((desk) => desk.grant(request, customer))
      const first = yield* H.send("go", "c-1")
      assert.deepInclude(errorOf(yield* H.ended(first, "c-1")), { reason: "CLOSED" })
      // The one use is still there.
      const second = yield* H.send("go", "c-2")
      const events = yield* H.ended(second, "c-2")
      assert.deepStrictEqual(H.outcome(events), { _tag: "Value", json: "7" })
      assert.notInclude(tagsOf(events), "ApprovalRequested")
      assert.deepStrictEqual(seen.ran, [7])
    }).pipe(Effect.provide(H.layer(options)))
  })

  const failures: Readonly<Record<string, readonly [answer: Answer, error: object]>> = {
    "a store that does not answer": [
      Effect.fail(new ToolTransientError({ kind: "external", message: "the store is away" })),
      { class: "ToolTransientError", kind: "external" }
    ],
    "a defect": [
      Effect.die(new Error("a secret")),
      { class: "ToolTerminalError", kind: "internal", reason: "DEFECT" }
    ],
    "false, as one that is written as a question gives": [
      Effect.succeed(false),
      { class: "ToolTerminalError", kind: "internal", reason: "DEFECT" }
    ],
    "no answer within the tool's time": [
      Effect.never,
      { class: "ToolTransientError", kind: "timeout" }
    ]
  }
  for (const [what, [answer, error]] of Object.entries(failures)) {
    for (const [name, make] of [
      ["asks", H.asks],
      ["writes", H.writes],
      ["reads", H.reads]
    ] as const) {
      it.live(`fails the call on ${what}, of a tool that ${name}`, () => {
        const seen = seenOf()
        const options = optionsOf(seen, () => answer, make, 50)
        return Effect.gen(function* () {
          const run = yield* H.send("go")
          const events = yield* H.ended(run)
          assert.deepInclude(errorOf(events), error)
          assert.notInclude(JSON.stringify(events), "a secret")
          for (const tag of ["ApprovalRequested", "CallDispatched"] as const) {
            assert.notInclude(tagsOf(events), tag)
          }
          assert.deepStrictEqual(seen.ran, [])
          yield* replays(run, options, seen)
        }).pipe(Effect.provide(H.layer(options)))
      })
    }
  }
})
