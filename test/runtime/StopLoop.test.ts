import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { ToolUserError } from "../../src/error/ToolError.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

const stops = { stop_loop: true }
const once = ({ transcript }: { readonly transcript: ReadonlyArray<unknown> }) =>
  transcript.length === 1

describe("a tool that stops the loop", () => {
  it.live("SM-20 ends the run with its content, without another turn of the model", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.deepInclude(H.end(all), { status: "complete", text: "decided: retry" })
      assert.strictEqual((yield* H.requests).length, 1)
      assert.strictEqual(H.count(all, "RunEnded"), 1)
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { decide: H.reads(() => Effect.succeed("decided: retry"), stops) },
          script: [call("decide", { n: 1 })]
        })
      )
    )
  )

  it.live(
    "SM-20 ends the run with JSON where its content is no text, after its siblings have ended",
    () =>
      Effect.gen(function* () {
        const run = yield* H.send("hello")
        const { approval } = yield* H.question(run)
        yield* H.happened(run, "CallSettled")
        assert.strictEqual(H.count(yield* H.events(run), "RunEnded"), 0)
        yield* H.decide(approval, H.deny)
        const all = yield* H.ended(run)
        assert.deepInclude(H.end(all), { status: "complete", text: '{"action":"retry"}' })
        assert.strictEqual(H.settled(all).length, 2)
        assert.strictEqual((yield* H.requests).length, 1)
      }).pipe(
        Effect.provide(
          H.layer({
            tools: {
              decide: H.reads(() => Effect.succeed({ action: "retry" }), stops),
              pay: H.asks((n) => Effect.succeed(n))
            },
            script: [calls([call("pay", { n: 1 }), call("decide", { n: 1 })])]
          })
        )
      )
  )

  it.live("SM-20 stops nothing when it fails", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.deepInclude(H.end(all), { text: "then something else" })
      assert.strictEqual((yield* H.requests).length, 2)
    }).pipe(
      Effect.provide(
        H.layer({
          tools: {
            decide: H.reads(
              () => Effect.fail(new ToolUserError({ kind: "invalid_args", message: "no action" })),
              stops
            )
          },
          script: [call("decide", { n: 1 }), text("then something else")]
        })
      )
    )
  )

  it.live("SM-20 in a specialist ends its frame, and its supervisor goes on", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.deepInclude(H.end(all), { text: "all done" })
      const own = (yield* H.requests).filter(({ frame }) => frame === "0")
      assert.deepStrictEqual(H.resultsShown(own[1]), ['"decided"'])
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { decide: H.reads(() => Effect.succeed("decided"), stops) },
          agent: { tools: [], specialists: [AgentName.make("judge")] },
          agents: [
            AgentSpec.make({
              name: AgentName.make("judge"),
              instructions: "Judge.",
              tools: ["test.decide@1"]
            })
          ],
          script: (request) =>
            request.frame !== "0"
              ? call("decide", { n: 1 })
              : once(request)
                ? call("ask_judge", { task: "judge" })
                : text("all done")
        })
      )
    )
  )
})
