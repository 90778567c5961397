/**
 * The variants of direct calls. The operation is one of an ordinary desk: a path with a parameter, an object within the
 * body, a fixed field and a bound one.
 */
import { Effect, Result } from "effect"
import type { Json } from "../../src/value/Canonical.ts"
import { bodyAssembler } from "../../src/call/BodyAssembly.ts"
import type { JsonObject } from "../../src/call/BodyPath.ts"
import type { PlatformOp } from "../../src/call/PlatformOp.ts"
import { resolveTools } from "../../src/call/ResolvedTool.ts"
import type { CallContext, GovernedContext } from "../../src/tool/GovernedTool.ts"
import { jsonSchemaInput } from "../../src/tool/ToolCodec.ts"
import * as ConfiguredTools from "../../layers/calls/ConfiguredTools.ts"
import type { Options } from "../../layers/calls/ConfiguredTools.ts"
import * as DirectCall from "../../layers/calls/DirectCall.ts"
import type { Sample } from "./Row.ts"
import { compileSchemas, measure, sized } from "./Work.ts"

const text = { type: "string", maxLength: 200 }
const person = {
  type: "object",
  properties: { id: text, name: text },
  required: ["id"],
  additionalProperties: false
}
const ticket = {
  type: "object",
  properties: {
    session_id: text,
    title: text,
    state: { type: "string", enum: ["open", "closed"] },
    priority: { type: "integer", minimum: 1, maximum: 5 },
    tags: { type: "array", items: text, maxItems: 10 },
    owner: person
  },
  required: ["session_id", "title"],
  additionalProperties: false
}
const found = {
  type: "object",
  properties: {
    state: { type: "string", enum: ["open", "closed"] },
    owner: text,
    limit: { type: "integer", minimum: 1, maximum: 100 }
  },
  additionalProperties: false
}
const input_schema = {
  type: "object",
  properties: { ticket_id: text, ticket },
  required: ["ticket_id", "ticket"],
  additionalProperties: false
}

/** A third each: reads by a query, creations by a body, and changes as `args` below are of. */
const operation = (index: number): PlatformOp => {
  const named = { op: `op_${index}`, description: "Does something with tickets of the desk." }
  switch (index % 3) {
    case 0:
      return {
        ...named,
        method: "POST",
        path: `/api/tickets/{ticket_id}/fields-${index}`,
        bind: { "ticket.session_id": "$ctx.session.id" },
        input_schema
      }
    case 1:
      return { ...named, method: "POST", path: `/api/tickets-${index}`, input_schema: ticket }
    default:
      return {
        ...named,
        method: "GET",
        path: `/api/tickets-${index}`,
        read_only: true,
        input_schema: found
      }
  }
}

const endpoint = "https://desk.example.org/api/tools/call"
const operationsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => operation(index))

/**
 * What it takes this thread, the first time in a process and then again: the first makes the parsers of everything that a
 * tool has, which a tool declared in code needs as well. What loading the modules left behind is collected before: any work
 * that comes first would pay for it.
 */
const started = async (options: Options, count: number): Promise<Sample> => {
  await compileSchemas()
  const once = async () => {
    const before = process.threadCpuUsage()
    const tools = await Effect.runPromise(ConfiguredTools.tools(options))
    const used = process.threadCpuUsage(before)
    if (tools.length !== count) throw new Error("a tool is missing")
    return (used.user + used.system) / 1_000
  }
  globalThis.gc?.()
  return { first_ms: await once(), cpu_ms: await once() }
}

/** From configurations to tools that can be called, with the catalogue that they name. */
export const resolve = (): Promise<Sample> => {
  const operations = operationsOf(100)
  const tools = operations.map(({ op }) => ({ type: "platform", op }) as const)
  return started({ tools, operations, callback: { endpoint } }, tools.length)
}

export const catalogue = (): Promise<Sample> =>
  started({ tools: [], operations: operationsOf(1_000), callback: { endpoint } }, 0)

const calls_per_batch = sized(10, 1_000)

const args: JsonObject = {
  ticket_id: "T-100",
  ticket: {
    title: "The heating is off",
    state: "open",
    priority: 3,
    tags: ["heating", "third floor"],
    owner: { id: "p-7", name: "Ada" }
  }
}
const context: JsonObject = { session: { id: "s-1" } }
const fixed: JsonObject = { ticket: { source: "agent" } }

const repeated = (call: () => unknown) =>
  measure({
    prepare: () => Promise.resolve(),
    run: () => {
      for (let n = 0; n < calls_per_batch; n++) call()
      return Promise.resolve(calls_per_batch)
    }
  })

export const body = (): Promise<Sample> => {
  const assemble = Result.getOrThrow(
    bodyAssembler({ body: fixed, context: { "ticket.session_id": "$ctx.session.id" } })
  )
  return repeated(() => Result.getOrThrow(assemble(args, context)))
}

/** One operation, resolved as a start resolves it. */
const resolvedTool = () => {
  const resolved = resolveTools([{ type: "platform", op: "op_0" }], {
    catalogue: new Map([["op_0", operation(0)]]),
    endpoint,
    profile: "base",
    revisions: new Map(),
    identity: {},
    hasContext: true
  })
  const [tool] = Result.getOrThrow(resolved)
  if (tool?.target._tag !== "Direct") throw new Error("the operation is not called directly")
  return { ...tool, target: tool.target }
}

/** A call as the gate makes it, of which a direct call reads these members. */
const governed: GovernedContext = {
  toolCallId: "call-1",
  preliminary: () => Effect.void,
  call: {
    run: "run-1",
    call: "call-1",
    conversation: "s-1",
    tenant: "bench",
    trace_id: "0".repeat(32),
    principal: "bench"
  } as CallContext
}

/** The whole handler over a client that answers at once. */
export const request = async (): Promise<Sample> => {
  await compileSchemas()
  const tool = resolvedTool()
  const input = await Effect.runPromise(jsonSchemaInput(tool.name, tool.input_schema))
  const handler = await Effect.runPromise(
    DirectCall.handlerOf(
      {
        client: { send: () => Effect.succeed(null) },
        context: undefined,
        identity: {},

        profile: "base",
        revisionOf: () => Effect.succeed("")
      },
      endpoint,
      { ...tool, input }
    )
  )
  const calls = Effect.forEach(
    Array.from({ length: calls_per_batch }),
    () => handler(args, governed),
    { discard: true }
  )
  return measure({
    prepare: () => Promise.resolve(),
    run: async () => {
      await Effect.runPromise(calls)
      return calls_per_batch
    }
  })
}

const isObject = (value: unknown): value is Record<string, Json> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** A deep copy without the names that reach a prototype, which a merge of what a model wrote cannot do without. */
const copied = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(copied)
  if (!isObject(value)) return value
  const copy: Record<string, Json> = {}
  for (const name of Object.keys(value)) {
    if (name === "__proto__" || name === "constructor" || name === "prototype") continue
    copy[name] = copied(value[name] as Json)
  }
  return copy
}

const sessionOf = ({ session }: JsonObject): Json => {
  const id = isObject(session) ? session["id"] : undefined
  if (typeof id !== "string") throw new Error("there is no session")
  return id
}

const bareMerge = (): Record<string, Json> => {
  const whole = copied(args)
  const given = isObject(whole) ? whole : {}
  const inner = isObject(given["ticket"]) ? given["ticket"] : {}
  return {
    ...given,
    ticket: { ...inner, source: "agent", session_id: sessionOf(context) }
  }
}

export const bareBody = (): Promise<Sample> => repeated(bareMerge)

export const bareRequest = (): Promise<Sample> =>
  repeated(() => {
    const { ticket_id, ...rest } = bareMerge()
    const url = new URL(`/api/tickets/${encodeURIComponent(String(ticket_id))}`, endpoint)
    return { url, body: JSON.stringify(rest) }
  })
