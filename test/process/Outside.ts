/**
 * What tools of the processes under test do outside, and what those declare whose bodies are in a worker of the queue.
 */
import { Effect, Schema } from "effect"
import * as ConfiguredTools from "../../layers/calls/ConfiguredTools.ts"
import { ToolTransientError } from "../../src/error/ToolError.ts"
import type { CallbackTool } from "../../src/call/ToolConfig.ts"
import type { CallContext, Reconciled } from "../../src/tool/GovernedTool.ts"

/** To the counter. An answer that does not come says nothing about the effect. */
export const effect = (
  counter: string,
  tool: string,
  tag: string,
  { call, key, run }: CallContext
): Effect.Effect<boolean, ToolTransientError> =>
  Effect.tryPromise({
    try: async (signal) => {
      const body = JSON.stringify({ tool, tag, run, call, key })
      const response = await fetch(counter, { method: "POST", body, signal })
      await response.text()
      return true
    },
    catch: () =>
      new ToolTransientError({ kind: "network", reason: "COUNTER", message: "it did not answer" })
  })

/** Asks the counter whether it has seen the call's key. */
export const happened = (counter: string, { key }: CallContext) =>
  Effect.tryPromise({
    try: async (signal): Promise<Reconciled<boolean>> => {
      const response = await fetch(`${counter}/?key=${key}`, { signal })
      return (await response.json()) === true
        ? { _tag: "Happened", result: true }
        : { _tag: "NotHappened" }
    },
    catch: () => new ToolTransientError({ kind: "network", message: "it did not answer" })
  })

const declared = {
  namespace: "work",
  side_effects: "external",
  permission: "allow",
  // Of the whole way: also the time that a worker is missed for.
  timeout_ms: 10_000,
  input: Schema.Struct({ step: Schema.Int, index: Schema.Int }),
  output: Schema.Boolean
} as const

export const remote = [
  { ...declared, name: "far" },
  { ...declared, name: "sure", idempotent: true }
] as const

const posting = (name: string): CallbackTool => ({
  kind: "callback",
  name,
  permission: "allow",
  input_schema: {
    type: "object",
    properties: { step: { type: "integer" }, index: { type: "integer" } }
  },
  call: {
    method: "POST",
    path: `/api/${name}`,
    body: { tool: name },
    context: {
      tag: "$ctx.session.id",
      run: "$ctx.workflow.artifact_id",
      call: "$ctx.workflow.revision_id"
    }
  }
})

/** Direct calls to the counter, which takes each key of `reposted` once. */
export const direct = (counter: string) =>
  Effect.orDie(
    ConfiguredTools.tools({
      tools: [posting("posted"), { ...posting("reposted"), idempotent: true }],
      callback: { endpoint: `${counter}/api/tools/call` },
      context: ({ call, run }) => ({ workflow: { artifact_id: run, revision_id: call } })
    })
  )
