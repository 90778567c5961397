/** What a run left that ended before its guards had judged it: later runs of the conversation are not shown it. */
import { assert, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import type { Verdict } from "../../src/agent/Guard.ts"
import { DeclaredGuards } from "../../services/AgentDirectory.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { guard } from "./GuardScenes.ts"
import * as H from "./Harness.ts"

const passes: Verdict = { verdict: "pass" }

/** Cancels a run while the guard is judging `on`, and gives what the model is shown of the next message, here and after a start. */
const shownAfter = (on: "message" | "result") =>
  Effect.gen(function* () {
    const asked = yield* Deferred.make<void>()
    const slow = guard("slow", [on], ({ text: of }) =>
      of.includes("secret")
        ? Effect.andThen(Deferred.succeed(asked, undefined), Effect.never)
        : Effect.succeed(passes)
    )
    const watches = guard("watches", ["message", "result"], () => passes, { mode: "observe" })
    const tools = { look: H.reads(() => Effect.succeed("a secret result")) }
    const boot = (...script: ReadonlyArray<ReturnType<typeof text>>) =>
      Effect.provideService(H.boot({ tools, script }), DeclaredGuards, [slow, watches])
    const first = yield* boot(
      ...(on === "result" ? [call("look", { n: 1 }), text("done")] : [text("done")])
    )
    yield* first.run(
      Effect.gen(function* () {
        const run = yield* H.send(on === "message" ? "a secret message" : "hello")
        yield* Deferred.await(asked)
        yield* H.cancel(run)
        yield* H.ended(run)
        yield* Effect.flatMap(H.send("go on"), H.ended)
      })
    )
    const here = yield* first.run(H.requests)
    yield* first.stop
    const second = yield* boot(text("done"))
    yield* second.run(Effect.flatMap(H.send("and on"), H.ended))
    const there = yield* second.run(H.requests)
    return [...here.slice(-1), ...there].map(({ history }) => JSON.stringify(history))
  }).pipe(Effect.scoped, Effect.provide(EphemeralStores.layer))

for (const on of ["message", "result"] as const) {
  it.live(`a ${on} is withheld, in the process that ran it and in the next one`, () =>
    Effect.gen(function* () {
      const histories = yield* shownAfter(on)
      assert.isNotEmpty(histories)
      for (const history of histories) {
        assert.include(history, 'before the guard \\"slow\\" has judged this')
        assert.notInclude(history, "secret")
        if (on === "result") assert.include(history, "hello")
      }
    })
  )
}
