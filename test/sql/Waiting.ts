/**
 * A runtime whose run waits for a person, with another message behind it: what the dumps of databases hold.
 */
import { Effect, Layer } from "effect"
import * as EphemeralStore from "../../layers/ephemeral/EphemeralStore.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { Script } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import * as H from "../runtime/Harness.ts"

/** The first message calls the tool, the second does not; each ends with a text. */
const script: Script = ({ transcript }) => {
  const last = transcript.at(-1)
  return last?.role === "user" && last.text === "change it"
    ? call("change", { n: 1 })
    : text("Done.")
}

export const options: H.Options = {
  tools: { change: H.asks(() => Effect.succeed("changed")) },
  script
}

/** What it runs over; what actors remember is not kept. */
export const stores = Layer.merge(SqlStores.layer, EphemeralStore.layer)

/** Sends both messages and waits for the first one's question. */
export const sent = Effect.gen(function* () {
  const first = yield* H.send("change it")
  yield* H.question(first)
  yield* H.send("say so")
})
