/** A run of a service that was embedded with a directory of its own, and what a replay of it prints. */
import { Effect } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { agents, tools } from "./EmbeddedApp.ts"

/** The embedder's module, from the repository's root. */
export const app = "test/replay/EmbeddedApp.ts"

/** Starts a service on the directory and stops it once its one run, of one call, has ended; the run's id. */
export const endedRun = (directory: string): Effect.Effect<string> =>
  Effect.promise(async () => {
    const model = layer([call("look", { order: "1003" }), text("It is paid.")])
    const troupe = await start({ agents, tools, model, store: { directory }, retention: {} })
    try {
      const sent = await troupe.send({ agent: "shop", text: "Is 1003 paid?" })
      for await (const item of troupe.watch(sent.conversation)) {
        if (item._tag === "Event" && item.entry.event._tag === "RunEnded") break
      }
      return sent.run
    } finally {
      await troupe.stop()
    }
  })

/** What the command prints of a replay that decides as the run did. */
export const replayedAlike = /gate\s+same; calls: 1 replayed/
