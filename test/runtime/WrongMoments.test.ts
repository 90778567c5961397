/** Decisions, cancels and settlements that come at the wrong moment, or from the wrong person: what each is told. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { ApprovalId, CallId, RunId, Tenant } from "../../src/value/Ids.ts"
import type { Principal } from "../../src/principal/Principal.ts"
import * as H from "./Harness.ts"

const none = "00000000-0000-4000-8000-000000000000"
const nobodysRun = RunId.make(none)
const nobodysQuestion = ApprovalId.make(none)
const stranger = H.person("eve", ["admin"], Tenant.make("globex"))
const viewer = H.person("vera", ["viewer"])
const customer = H.person("carl", ["customer"])

const options: H.Options = {
  tools: { pay: H.asks((n) => Effect.succeed(n)) },
  script: ({ transcript }) =>
    transcript.some(({ role }) => role === "tool") ? text("done") : call("pay", { n: 1 })
}

/** What came of it: its error, or "done". */
const told = <E extends { readonly _tag: string }, R>(effect: Effect.Effect<unknown, E, R>) =>
  Effect.match(effect, { onFailure: ({ _tag }) => _tag, onSuccess: () => "done" })

const cancel = (run: RunId, by: Principal) =>
  told(AgentRuntime.use((agents) => agents.interrupt(run, by, "enough")))
const settle = (run: RunId, by: Principal) =>
  told(
    AgentRuntime.use((agents) =>
      agents.settle(run, CallId.make("0/1.0"), { _tag: "Failed", message: "no" }, by)
    )
  )
const decide = (id: ApprovalId, by: Principal) => told(H.decide(id, H.approve, by))

/** A run that asks, sent by this person; a later one waits behind it. */
const asking = Effect.gen(function* () {
  const { task } = yield* AgentRuntime.use((agents) =>
    agents.send({ agent: H.agentName, text: "pay" }, customer)
  )
  const run = task.id
  const { approval } = yield* H.question(run, 1, task.conversation)
  const later = yield* H.send("and then?", task.conversation)
  return { run, approval, later, conversation: task.conversation }
})

interface Row {
  readonly moment: string
  readonly by: Principal
  readonly decide: string
  readonly cancel: string
  readonly settle: string
}

const over = { decide: "ApprovalSettled", cancel: "RunIsOver", settle: "RunIsOver" }
const rows: ReadonlyArray<Row> = [
  {
    moment: "of nobody's",
    by: H.alice,
    decide: "ApprovalNotFound",
    cancel: "RunNotFound",
    settle: "RunNotFound"
  },
  {
    moment: "that asks",
    by: stranger,
    decide: "ApprovalNotFound",
    cancel: "RunNotFound",
    settle: "RunNotFound"
  },
  {
    moment: "that asks",
    by: viewer,
    decide: "NotEntitled",
    cancel: "NotEntitled",
    settle: "NotEntitled"
  },
  {
    moment: "that asks",
    by: customer,
    decide: "NotEntitled",
    cancel: "done",
    settle: "NotEntitled"
  },
  { moment: "that asks", by: H.alice, decide: "done", cancel: "done", settle: "CallNotUnknown" },
  {
    moment: "that waits",
    by: H.alice,
    decide: "ApprovalNotFound",
    cancel: "done",
    settle: "CallNotUnknown"
  },
  {
    moment: "that waits",
    by: customer,
    decide: "ApprovalNotFound",
    cancel: "RunNotFound",
    settle: "NotEntitled"
  },
  { moment: "that was cancelled", by: H.alice, ...over },
  {
    moment: "that was cancelled",
    by: customer,
    ...over,
    decide: "NotEntitled",
    settle: "NotEntitled"
  },
  { moment: "that has ended", by: H.alice, ...over },
  {
    moment: "that has ended",
    by: stranger,
    decide: "ApprovalNotFound",
    cancel: "RunNotFound",
    settle: "RunNotFound"
  }
]

const place = Effect.fnUntraced(function* (moment: string) {
  if (moment === "of nobody's") return { run: nobodysRun, approval: nobodysQuestion }
  const { approval, conversation, later, run } = yield* asking
  switch (moment) {
    case "that waits":
      return { run: later, approval: nobodysQuestion }
    case "that was cancelled":
      yield* H.cancel(run)
      return { run, approval }
    case "that has ended":
      yield* H.decide(approval, H.approve)
      yield* H.ended(run, conversation)
      return { run, approval }
    default:
      return { run, approval }
  }
})

describe("a command at the wrong moment", () => {
  for (const { by, moment, ...expected } of rows) {
    for (const command of ["decide", "cancel", "settle"] as const) {
      it.live(`${command} of a run ${moment}, by ${by.id}: ${expected[command]}`, () =>
        Effect.gen(function* () {
          const { approval, run } = yield* place(moment)
          const tag =
            command === "decide"
              ? yield* decide(approval, by)
              : yield* (command === "cancel" ? cancel : settle)(run, by)
          assert.strictEqual(tag, expected[command])
        }).pipe(Effect.provide(H.layer(options)))
      )
    }
  }

  it.live("a second decision is refused, a second cancel changes nothing", () =>
    Effect.gen(function* () {
      const { approval, conversation, later, run } = yield* asking
      assert.strictEqual(yield* decide(approval, H.alice), "done")
      assert.strictEqual(yield* decide(approval, H.alice), "ApprovalSettled")
      yield* H.ended(run, conversation)
      assert.strictEqual(yield* decide(approval, H.alice), "ApprovalSettled")
      assert.strictEqual(yield* cancel(later, H.alice), "done")
      assert.strictEqual(yield* cancel(later, H.alice), "RunIsOver")
    }).pipe(Effect.provide(H.layer(options)))
  )
})
