/**
 * A service as an embedder starts it, with the agents of its argument (a `HostConfig`) on a PostgreSQL that it shares with
 * others. Speaks with its parent over IPC and ends with it.
 */
import { flushCompileCache } from "node:module"
import { Effect } from "effect"
import { service_principal } from "../../layers/compose/promises/ServicePrincipal.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"

export interface HostConfig {
  readonly postgres: string
  /** By name, with the specialist that each delegates to, if it does. */
  readonly agents: Readonly<Record<string, string | null>>
  /** What its models and tools begin they never end, where a message says `hold` or a specialist is asked. */
  readonly holds: boolean
}

export type HostRequest =
  | {
      readonly op: "send" | "ask"
      readonly agent: string
      readonly text: string
      readonly n: number
    }
  | { readonly op: "results"; readonly runs: ReadonlyArray<string> }
  | { readonly op: "cancel"; readonly run: string }
  | { readonly op: "unhosted" }

const { agents, holds, postgres } = JSON.parse(process.argv[2]!) as HostConfig

const held = (name: string) =>
  holds
    ? Effect.andThen(
        Effect.sync(() => process.send?.({ notice: "reached", point: "hold", tag: name })),
        Effect.never
      )
    : Effect.void

const look = tool({ namespace: "t", name: "look", side_effects: "read" }, () =>
  Effect.as(held("look"), "seen")
)

const specialists = new Set(Object.values(agents).filter((name) => name !== null))

const specOf = (name: string): AgentSpec => {
  const specialist = agents[name] ?? undefined
  return AgentSpec.make({
    name: AgentName.make(name),
    instructions: "Help.",
    specialists: specialist === undefined ? [] : [AgentName.make(specialist)],
    tools: specialists.has(name) ? ["t.look@1"] : []
  })
}

const model = scripted(({ agent, transcript }) => {
  const [first] = transcript
  if (first?.role !== "user" || transcript.length > 1) return text(`of ${agent}`)
  if (specialists.has(agent)) return call("look", {})
  const specialist = agents[agent]
  if (specialist !== null && first.text === "delegate") {
    return call(`ask_${specialist}`, { task: "look" })
  }
  return Effect.as(first.text === "hold" ? held(agent) : Effect.void, text(`of ${agent}`))
})

const service = await start({
  agents: Object.keys(agents).map(specOf),
  tools: [look],
  model,
  store: { postgres }
})

const done = async (request: HostRequest): Promise<unknown> => {
  switch (request.op) {
    case "send":
    case "ask": {
      const { agent, n, op, text } = request
      return Promise.all(
        Array.from({ length: n }, () =>
          op === "ask"
            ? service.ask({ agent, text }).then((answer) => `${answer.status} ${answer.text}`)
            : service.send({ agent, text }).then(({ run }) => run)
        )
      )
    }
    case "results":
      return Promise.all(
        request.runs.map((run) =>
          service.result(run).then((answer) => `${answer.status} ${answer.text}`)
        )
      )
    case "cancel":
      return service.cancel(request.run, service_principal, "enough")
    case "unhosted": {
      const all = await service.unhosted()
      return all.map(({ agent, count }) => [agent, count])
    }
  }
}

process.on("message", ({ id, ...request }: HostRequest & { readonly id: number }) => {
  done(request as HostRequest).then(
    (answer) => process.send?.({ id, answer: answer ?? null }),
    (error: { readonly _tag?: string }) =>
      process.send?.({ id, error: error._tag ?? String(error) })
  )
})
process.on("disconnect", () => process.exit())
process.send?.({ notice: "ready" })
// A killed process would leave nothing for the next one.
flushCompileCache()
