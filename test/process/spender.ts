/**
 * A process that asks a model under a budget and gets no answer. Argument: the URL of its database. Prints `called` once the model
 * is called, and stays.
 */
import { Effect } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import { layer } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { budgets, shop } from "./BudgetShop.ts"

const [, , url = ""] = process.argv
const troupe = await start({
  agents: [shop],
  store: { postgres: url },
  budgets,
  model: layer(() =>
    Effect.andThen(
      Effect.sync(() => process.stdout.write("called\n")),
      Effect.never
    )
  )
})
await troupe.send({ agent: "shop", text: "hello" })
setInterval(() => {}, 1_000)
