import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import { call, calls, fails, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

const specialist = (name: string, tools: ReadonlyArray<string>) =>
  AgentSpec.make({ name: AgentName.make(name), instructions: `Be ${name}.`, tools })

const supervisor = (...names: ReadonlyArray<string>): H.Options["agent"] => ({
  tools: [],
  specialists: names.map((name) => AgentName.make(name))
})

const look = H.reads((n) => Effect.succeed(n))
const ask = (name: string, task = "find out") => call(`ask_${name}`, { task })

describe("a supervisor and its specialists", () => {
  it.live("SA-07 run two delegations at once in frames of the same run, with one answer", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      const opened = all.filter((event) => event._tag === "FrameOpened")
      assert.sameMembers(
        opened.map(({ agent }) => agent as string),
        ["scan", "mend"]
      )
      assert.strictEqual(H.count(all, "RunEnded"), 1)
      assert.deepInclude(H.end(all), { status: "complete", text: "both agree" })
      const asked = yield* H.requests
      const own = asked.filter(({ frame }) => frame === "0")
      assert.deepStrictEqual(H.resultsShown(own[1]), ['"scanned"', '"mended"'])
      // A specialist sees its task and its own work, and nothing of the conversation or of the other.
      const scan = asked.filter(({ agent }) => agent === "scan")
      assert.deepStrictEqual(scan[0]?.transcript, [{ role: "user", text: "find out" }])
      assert.deepStrictEqual(scan[0]?.history, [])
      assert.strictEqual(scan[0]?.system, "Be scan.")
      assert.deepStrictEqual(
        scan[0]?.tools.map(({ name }) => name),
        ["look"]
      )
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { look },
          agent: supervisor("scan", "mend"),
          agents: [specialist("scan", ["test.look@1"]), specialist("mend", ["test.look@1"])],
          script: {
            "0": [calls([ask("scan"), ask("mend")]), text("both agree")],
            scan: [call("look", { n: 1 }), text("scanned")],
            mend: [text("mended")]
          }
        })
      )
    )
  )

  it.live(
    "SA-07 have a third delegation in one turn refused, and one in the next turn allowed",
    () =>
      Effect.gen(function* () {
        const all = yield* H.ended(yield* H.send("hello"))
        assert.strictEqual(H.count(all, "FrameOpened"), 3)
        const own = (yield* H.requests).filter(({ frame }) => frame === "0")
        const [first, second, third] = H.resultsShown(own[1])
        assert.deepStrictEqual([first, second], ['"found"', '"found"'])
        assert.match(third!, /^ToolPolicyError \(permission, DELEGATIONS_MAX\)/)
        assert.strictEqual(H.resultsShown(own[2])[3], '"found"')
      }).pipe(
        Effect.provide(
          H.layer({
            tools: { look },
            agent: supervisor("scan"),
            agents: [specialist("scan", ["test.look@1"])],
            script: ({ frame, step }) =>
              frame !== "0"
                ? text("found")
                : step === 1
                  ? calls([ask("scan", "a"), ask("scan", "b"), ask("scan", "c")])
                  : step === 2
                    ? ask("scan", "c")
                    : text("done")
          })
        )
      )
  )

  it.live("SA-13 leave out a specialist without tools", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      const [first, second] = yield* H.requests
      assert.deepStrictEqual(
        first?.tools.map(({ name }) => name),
        ["ask_scan"]
      )
      assert.strictEqual(H.count(all, "FrameOpened"), 0)
      assert.include(H.resultsShown(second)[0], "UNKNOWN_TOOL")
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { look },
          agent: supervisor("scan", "idle"),
          agents: [specialist("scan", ["test.look@1"]), specialist("idle", [])],
          script: [ask("idle"), text("done")]
        })
      )
    )
  )

  it.live("keep a specialist whose tools its provider runs, and warn of one that has none", () => {
    const lines: Array<string> = []
    const logger = Logger.make<unknown, void>(({ logLevel, message }) => {
      if (logLevel === "Warn") lines.push(String(message))
    })
    return Effect.gen(function* () {
      yield* H.ended(yield* H.send("hello"))
      const [first] = yield* H.requests
      assert.deepStrictEqual(
        first?.tools.map(({ name }) => name),
        ["ask_searcher", "ask_lead"]
      )
      assert.deepStrictEqual(lines, [
        "tester cannot delegate to idle, which has no tools, and is not shown it: give idle tools, or name it in handoffs."
      ])
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { look },
          agent: supervisor("searcher", "lead", "idle"),
          agents: [
            { ...specialist("searcher", []), provider_tools: ["web_search"] },
            { ...specialist("lead", []), specialists: [AgentName.make("scan")] },
            specialist("scan", ["test.look@1"]),
            specialist("idle", [])
          ],
          script: [text("done")]
        }).pipe(Layer.provide(Logger.layer([logger])))
      )
    )
  })

  it.effect(
    "keep a question in a specialist's frame while the run is parked, and the frame continues after it",
    () => {
      const ran: Array<number> = []
      return Effect.gen(function* () {
        const run = yield* H.send("hello")
        const { approval, call: id, payload } = yield* H.question(run)
        assert.strictEqual(id, "0/1.0/1.0")
        assert.strictEqual(payload.agent_name, "mend")
        yield* TestClock.adjust(10)
        yield* H.decide(approval, H.approve)
        const all = yield* H.ended(run)
        assert.deepStrictEqual(ran, [5])
        assert.strictEqual(H.count(all, "RunClaimed"), 2)
        assert.strictEqual(H.count(all, "FrameOpened"), 1)
        assert.deepInclude(H.end(all), { status: "complete", text: "all done" })
      }).pipe(
        Effect.provide(
          H.layer({
            tools: { pay: H.asks((n) => Effect.sync(() => (ran.push(n), n))) },
            agent: supervisor("mend"),
            agents: [specialist("mend", ["test.pay@1"])],
            config: { park_ms: 10 },
            script: ({ frame, transcript }) =>
              frame === "0"
                ? transcript.length === 1
                  ? ask("mend")
                  : text("all done")
                : transcript.length === 1
                  ? call("pay", { n: 5 })
                  : text("mended")
          })
        )
      )
    }
  )

  it.live("turn a failure of a specialist's model into a failed call of the supervisor", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      const own = (yield* H.requests).filter(({ frame }) => frame === "0")
      const [first, second] = H.resultsShown(own[1])
      assert.match(first!, /^ToolTransientError \(external, model_transient\): overloaded/)
      assert.strictEqual(second, '"mended"')
      assert.deepInclude(H.end(all), { status: "complete" })
      assert.strictEqual(H.settled(all).length, 2)
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { look },
          agent: supervisor("scan", "mend"),
          agents: [specialist("scan", ["test.look@1"]), specialist("mend", ["test.look@1"])],
          script: {
            "0": [calls([ask("scan"), ask("mend")]), text("done")],
            scan: [fails("transient", "overloaded")],
            mend: [text("mended")]
          }
        })
      )
    )
  )

  it.live("count the turns of all frames against one limit", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.strictEqual(H.count(all, "ModelTurned"), 5)
      assert.deepInclude(H.end(all), { status: "failed", reason: "recursion_limit" })
      const open = all.filter((event) => event._tag === "FrameOpened").length
      assert.strictEqual(open, 2)
      // Every call has its one result, also those that had opened frames.
      const proposed = all.flatMap((event) =>
        event._tag === "ModelTurned" ? event.calls.map(() => event.frame) : []
      )
      assert.strictEqual(H.settled(all).length, proposed.length)
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { look },
          agent: { ...supervisor("scan"), limits: RunLimits.make({ steps_max: 5 }) },
          agents: [specialist("scan", ["test.look@1"])],
          script: ({ frame }) =>
            frame === "0" ? calls([ask("scan", "a"), ask("scan", "b")]) : call("look", { n: 1 })
        })
      )
    )
  )

  it.live("have the questions of every frame closed by a cancel", () =>
    Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.happened(run, "ApprovalRequested", 2)
      yield* H.cancel(run)
      const all = yield* H.ended(run)
      assert.strictEqual(H.count(all, "ApprovalClosed"), 2)
      assert.deepStrictEqual(
        H.settled(all).map(({ outcome }) => outcome._tag),
        ["Cancelled", "Cancelled", "Cancelled", "Cancelled"]
      )
      assert.deepStrictEqual(yield* H.pending, [])
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { pay: H.asks((n) => Effect.succeed(n)) },
          agent: supervisor("mend"),
          agents: [specialist("mend", ["test.pay@1"])],
          script: ({ frame }) =>
            frame === "0" ? calls([ask("mend", "a"), ask("mend", "b")]) : call("pay", { n: 1 })
        })
      )
    )
  )
})
