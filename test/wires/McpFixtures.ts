/**
 * An agent that does what the conformance suite expects of its own tools, and which of its messages stands for a call of one of them:
 * the tools here have the names of agents.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { Schema } from "effect"
import { agent, tool } from "troupe"
import { call, fails, scripted, text } from "troupe/testing"

const Seconds = Schema.Struct({ seconds: Schema.Number })

const rest = tool(
  {
    namespace: "shop",
    name: "rest",
    description: "Rests.",
    input: Seconds,
    side_effects: "read"
  },
  async ({ seconds }, { signal }) => {
    await sleep(seconds * 1_000, undefined, { signal })
    return "rested"
  }
)
const worker = agent({ name: "worker", instructions: "Work.", tools: ["rest"] })

const model = scripted(({ step, transcript }) => {
  const [first] = transcript
  const [what, how = ""] = first?.role === "user" ? first.text.split(" ") : []
  if (step > 1) return what === "fail" ? fails("configuration", "It fails.") : text("Done.")
  return what === "hello" || how === "0" ? text("Hello.") : call("rest", { seconds: Number(how) })
})

export const fixtures = { agents: [worker], tools: [rest], model, customer_agents: [] }

const messages: Readonly<Record<string, (given: { readonly seconds?: number }) => string>> = {
  greet: () => "hello",
  slow_compute: ({ seconds }) => `rest ${seconds}`,
  failing_job: () => "fail 1"
}

/** The same message, with the tool that asks the agent in place of one of the suite. */
export const translated = (
  body: string,
  headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
) => {
  const { method, params, ...message } = body === "" ? {} : JSON.parse(body)
  const said = method === "tools/call" ? messages[params.name]?.(params.arguments) : undefined
  if (said === undefined) return { body, headers }
  const name = "ask_worker"
  const call = { ...params, name, arguments: { message: said } }
  const own = headers["mcp-name"] === params.name ? { "mcp-name": name } : undefined
  return {
    body: JSON.stringify({ ...message, method, params: call }),
    headers: { ...headers, ...own }
  }
}
