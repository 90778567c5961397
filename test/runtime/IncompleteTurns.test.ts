/**
 * Turns that did not end well: which of their calls run, what their model reads, and how the run ends.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName } from "../../src/value/Ids.ts"
import type { FinishReason, RunEvent } from "../../src/run/RunEvent.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

/** A tool that needs no argument, so that nothing but its turn keeps it from running. */
const free = (ran: Array<unknown>) => ({
  wipe: H.writes((n) => Effect.sync(() => (ran.push(n), "wiped")))
})

const look = H.reads((n) => Effect.succeed(n))

const cut = (finish: FinishReason, args: Turn["calls"][number]["arguments"] = {}) =>
  call("wipe", args, { finish })

const malformed = (input: string, finish: FinishReason): Turn => ({
  ...call("wipe", null, { finish }),
  calls: [{ model_id: "c", name: "wipe", arguments: null, malformed: input }]
})

const stopping = (all: ReadonlyArray<RunEvent>) => all.find((event) => event._tag === "RunStopping")

const reasons = (all: ReadonlyArray<RunEvent>) =>
  H.settled(all).map(({ outcome }) =>
    outcome._tag === "Failed" ? outcome.error.reason : outcome._tag
  )

describe("a turn that was cut", () => {
  const open = H.writes(() => Effect.succeed("wiped"))
  const noArguments = { wipe: { ...open, parameters: {} } }

  for (const finish of ["length", "other"] as const) {
    for (const [what, turn] of [
      ["no arguments", cut(finish)],
      ["half of its arguments", malformed('{"n": 1', finish)],
      ["a text of nothing", malformed("", finish)],
      ["arguments that are no object", cut(finish, [1])]
    ] as const) {
      it.live(`by ${finish} does not run a call with ${what}, and its model reads why`, () =>
        Effect.gen(function* () {
          const all = yield* H.ended(yield* H.send("hello"))
          assert.deepStrictEqual(reasons(all), ["TURN_CUT"])
          assert.strictEqual(H.count(all, "CallDispatched"), 0)
          const [, second] = yield* H.requests
          assert.include(H.resultsShown(second)[0], "the turn was cut")
          assert.deepInclude(H.end(all), { status: "complete", text: "done" })
          assert.notProperty(H.end(all), "finish")
        }).pipe(Effect.provide(H.layer({ tools: noArguments, script: [turn, text("done")] })))
      )
    }
  }

  it.live("runs those of its calls whose arguments are whole, and no other", () => {
    const ran: Array<unknown> = []
    return Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.deepStrictEqual(ran, [1])
      assert.sameMembers(reasons(all) as Array<string>, ["Value", "TURN_CUT"])
    }).pipe(
      Effect.provide(
        H.layer({
          tools: free(ran),
          script: [
            calls([call("wipe", { n: 1 }), malformed('{"n": 2', "length")], { finish: "length" }),
            text("done")
          ]
        })
      )
    )
  })

  for (const finish of ["refusal", "content_filter"] as const) {
    const reason = finish === "refusal" ? "refused" : "content_filtered"
    it.live(
      `by ${finish} runs none of its calls, whole as they are, and is not asked again`,
      () => {
        const ran: Array<unknown> = []
        return Effect.gen(function* () {
          const all = yield* H.ended(yield* H.send("hello"))
          assert.deepStrictEqual(ran, [])
          assert.deepStrictEqual(reasons(all), ["TURN_CUT", "TURN_CUT"])
          assert.strictEqual(H.count(all, "ModelTurned"), 1)
          assert.deepInclude(H.end(all), { status: "failed", reason, finish, text: "I will" })
          assert.include(stopping(all)?.message, "none of its calls ran")
        }).pipe(
          Effect.provide(
            H.layer({
              tools: free(ran),
              script: [
                calls([call("wipe", { n: 1 }), call("wipe", { n: 2 })], { finish, text: "I will" })
              ]
            })
          )
        )
      }
    )
  }

  it.live("again and again ends the run with the reason", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.strictEqual(H.count(all, "ModelTurned"), 10)
      assert.deepInclude(H.end(all), { status: "failed", reason: "mistakes_max", finish: "length" })
      assert.include(stopping(all)?.message, "TURN_CUT")
    }).pipe(
      Effect.provide(
        H.layer({ tools: noArguments, script: ({ step }) => malformed(`{${step}`, "length") })
      )
    )
  )
})

describe("an answer that is not whole", () => {
  for (const finish of ["length", "refusal", "content_filter", "other"] as const) {
    it.live(`by ${finish} with a text is the answer, and the run has its finish`, () =>
      Effect.gen(function* () {
        const all = yield* H.ended(yield* H.send("hello"))
        assert.deepInclude(H.end(all), { status: "complete", text: "Well,", finish })
      }).pipe(Effect.provide(H.layer({ tools: {}, script: [text("Well,", { finish })] })))
    )
  }

  it.live("a whole answer has no finish", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.notProperty(H.end(all), "finish")
    }).pipe(Effect.provide(H.layer({ tools: {}, script: [text("Well.")] })))
  )

  for (const [finish, reason] of [
    ["length", "truncated"],
    ["refusal", "refused"],
    ["content_filter", "content_filtered"]
  ] as const) {
    it.live(`by ${finish} without a text fails at once as ${reason}, and is not asked again`, () =>
      Effect.gen(function* () {
        const all = yield* H.ended(yield* H.send("hello"))
        assert.strictEqual(H.count(all, "ModelTurned"), 1)
        assert.deepInclude(H.end(all), { status: "failed", reason, finish, text: "" })
        assert.include(stopping(all)?.message, "(THE WORD)")
      }).pipe(
        Effect.provide(
          H.layer({ tools: {}, script: [text(" \n", { finish, finish_raw: "THE WORD" })] })
        )
      )
    )

    it.live(`a specialist's by ${finish} without a text is a failed call of its supervisor`, () =>
      Effect.gen(function* () {
        const all = yield* H.ended(yield* H.send("hello"))
        assert.deepStrictEqual(reasons(all), [reason])
        assert.deepInclude(H.end(all), { status: "complete", text: "done" })
      }).pipe(
        Effect.provide(
          H.layer({
            tools: { look },
            agent: { tools: [], specialists: [AgentName.make("scan")] },
            agents: [
              AgentSpec.make({
                name: AgentName.make("scan"),
                instructions: "Scan.",
                tools: ["test.look@1"]
              })
            ],
            script: {
              "0": [call("ask_scan", { task: "find out" }), text("done")],
              scan: [text("", { finish })]
            }
          })
        )
      )
    )
  }

  it.live("a specialist's that was cut has a note for its supervisor", () =>
    Effect.gen(function* () {
      yield* H.ended(yield* H.send("hello"))
      const [, , second] = yield* H.requests
      assert.include(H.resultsShown(second)[0], "Half of\\n[runtime] This answer was cut")
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { look },
          agent: { tools: [], specialists: [AgentName.make("scan")] },
          agents: [
            AgentSpec.make({
              name: AgentName.make("scan"),
              instructions: "Scan.",
              tools: ["test.look@1"]
            })
          ],
          script: {
            "0": [call("ask_scan", { task: "find out" }), text("done")],
            scan: [text("Half of", { finish: "length" })]
          }
        })
      )
    )
  )

  it.live(
    "a call that the provider could not read goes back to the model with what was wrong",
    () =>
      Effect.gen(function* () {
        const all = yield* H.ended(yield* H.send("hello"))
        assert.deepInclude(H.end(all), { status: "complete", text: "done" })
        const [, second] = yield* H.requests
        const last = second?.transcript.at(-1)
        assert.strictEqual(last?.role, "user")
        assert.include(last?.role === "user" ? last.text : "", "print(wipe")
        assert.isTrue(all.some((event) => event._tag === "ModelTurned" && event.empty === true))
      }).pipe(
        Effect.provide(
          H.layer({
            tools: {},
            script: [text("", { finish: "other", unreadable: "print(wipe(n=" }), text("done")]
          })
        )
      )
  )
})
