/**
 * Which agent a name means: the agent of that name, or, of the kind `world`, of which there is one for each world, the first by name.
 */
import { Schema } from "effect"
import type { ApiClient } from "./ApiClient.ts"

const Agents = Schema.Struct({
  items: Schema.Array(
    Schema.Struct({ name: Schema.String, kind: Schema.optionalKey(Schema.String) })
  )
})

const kind = "world"

/** `told` is called with what to say where another agent is meant than the name says. */
export const namedAgent = async (
  client: Pick<ApiClient, "call">,
  name: string,
  told: (text: string) => void
): Promise<string> => {
  if (name !== kind) return name
  const { items } = await client.call("/v1/agents", Agents)
  const [first, ...others] = items
    .filter((each) => each.kind === kind)
    .map((each) => each.name)
    .toSorted()
  if (first === undefined || items.some((each) => each.name === name)) return name
  const rest = others.length === 0 ? "" : `; there are also ${others.join(", ")}`
  told(`  · each world has an agent of its own: this is ${first}${rest}`)
  return first
}
