/**
 * A runtime that decodes whatever it is given before anything is done with it.
 */
import { Effect, Stream } from "effect"
import * as Entries from "../../src/entry/Entries.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"

const actorsLimit = Entries.limitUpTo(100_000)

export const decoded = (runtime: AgentRuntime["Service"]): AgentRuntime["Service"] =>
  AgentRuntime.of({
    send: Effect.fnUntraced(function* (message, by) {
      const read = yield* Entries.message(message, "message")
      return yield* runtime.send(read, yield* Entries.principal(by, "by"))
    }),
    watch: (conversation, after, by) =>
      Stream.unwrap(
        Effect.gen(function* () {
          const id = yield* Entries.conversationId(conversation, "conversation")
          const from = yield* Entries.cursor(after, "after")
          return runtime.watch(id, from, yield* Entries.principal(by, "by"))
        })
      ),
    interrupt: Effect.fnUntraced(function* (run, by, reason) {
      const id = yield* Entries.runId(run, "run")
      const who = yield* Entries.principal(by, "by")
      return yield* runtime.interrupt(id, who, yield* Entries.reason(reason, "reason"))
    }),
    settle: Effect.fnUntraced(function* (run, call, settlement, by) {
      const id = yield* Entries.runId(run, "run")
      const which = yield* Entries.callId(call, "call")
      const read = yield* Entries.settlement(settlement, "settlement")
      return yield* runtime.settle(id, which, read, yield* Entries.principal(by, "by"))
    }),
    actors: Effect.fnUntraced(function* (limit, tenant) {
      const most = yield* actorsLimit(limit, "limit")
      return yield* runtime.actors(
        most,
        tenant === undefined ? undefined : yield* Entries.tenant(tenant, "tenant")
      )
    })
  })
