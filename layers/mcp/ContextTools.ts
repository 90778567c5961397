/**
 * Tools that read the resources and prompts of a server, where its declaration asks for them. Their definitions are ours, so they
 * are not pinned; what they give is a result like any other.
 */
import { Effect, Schema } from "effect"
import type { Json } from "../../src/value/Canonical.ts"
import { withoutSecrets } from "../../src/error/KnownSecrets.ts"
import { isObject } from "../../src/value/PlainObject.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import type { CallContext, GovernedTool, MisdeclaredTool } from "../../src/tool/GovernedTool.ts"
import { contentText } from "../../src/mcp/McpResult.ts"
import type { McpServer, McpToolDeclaration } from "../../src/mcp/McpServer.ts"
import { callTimes } from "../../src/mcp/McpServer.ts"
import { attachMedia } from "./ImportedTool.ts"
import type { Offers } from "./Offers.ts"
import { send } from "./McpSession.ts"

type Params = Readonly<Record<string, unknown>>
type Block = Readonly<Record<string, unknown>>

const blocksOf = (value: unknown): ReadonlyArray<Block> =>
  Array.isArray(value) ? value.filter(isObject) : []

/** These members of each item, and the cursor of the next page. */
const page = (answer: Params, list: string, members: ReadonlyArray<string>) => ({
  [list]: blocksOf(answer[list]).map((item) =>
    Object.fromEntries(
      members.flatMap((name) => (name in item ? [[name, item[name] as Json]] : []))
    )
  ),
  ...(typeof answer["nextCursor"] === "string" ? { nextCursor: answer["nextCursor"] } : undefined)
})

/** A content of a resource as a block: the media among them are attached. */
const blockOf = (content: Block): Block => {
  const { blob, mimeType } = content
  const kind = /^(image|audio)\//.exec(String(mimeType))?.[1]
  return kind === undefined || typeof blob !== "string"
    ? { type: "resource", resource: content }
    : { type: kind, mimeType, data: blob }
}

const described = ["title", "description"]
const resource_members = ["uri", "name", ...described, "mimeType", "size"]
const template_members = ["uriTemplate", "name", ...described, "mimeType"]

const cursor = Schema.optionalKey(Schema.String.annotate({ description: "Of the next page." }))

const names = {
  resources: ["list_resources", "read_resource"],
  prompts: ["list_prompts", "get_prompt"]
} as const

export const contextNames = ({ prompts, resources }: McpServer): ReadonlyArray<string> => [
  ...(resources === true ? names.resources : []),
  ...(prompts === true ? names.prompts : [])
]

const governed = (offers: Offers, name: string, description: string) => {
  const { namespace, tools } = offers.server
  const { name: _, ...declared }: McpToolDeclaration =
    (tools !== undefined && Object.hasOwn(tools, name) ? tools[name] : undefined) ?? {}
  const times = callTimes(offers.server, declared.timeout_ms)
  return {
    declared: {
      side_effects: "read" as const,
      text_result: true,
      description: `${description} Of the MCP server "${namespace}".`,
      ...declared,
      timeout_ms: times.total_ms,
      namespace,
      name
    },
    ask: (method: string, params: Params) =>
      send(offers, times, (connection, bounds) => connection.ask(method, params, bounds))
  }
}

const textOf = (content: ReadonlyArray<unknown>, call: CallContext): Effect.Effect<string> =>
  Effect.map(attachMedia({ content }, { call }), (attached) => contentText({ content }, attached))

const resourceTools = (offers: Offers, shown: (value: Json) => Json) => {
  const listing = governed(
    offers,
    "list_resources",
    "Lists resources, and templates of their URIs."
  )
  const reading = governed(offers, "read_resource", "Reads a resource by its URI.")
  return [
    tool({ ...listing.declared, input: Schema.Struct({ cursor }) }, (params) =>
      Effect.gen(function* () {
        const resources = yield* listing.ask("resources/list", params)
        const templates =
          params.cursor === undefined
            ? yield* Effect.orElseSucceed(listing.ask("resources/templates/list", {}), () => ({}))
            : {}
        return shown({
          ...page(resources, "resources", resource_members),
          ...page(templates, "resourceTemplates", template_members)
        })
      })
    ),
    tool({ ...reading.declared, input: Schema.Struct({ uri: Schema.String }) }, (params, call) =>
      Effect.gen(function* () {
        const { contents } = yield* reading.ask("resources/read", params)
        return shown(yield* textOf(blocksOf(contents).map(blockOf), call))
      })
    )
  ]
}

const promptTools = (offers: Offers, shown: (value: Json) => Json) => {
  const listing = governed(offers, "list_prompts", "Lists prompts and their arguments.")
  const getting = governed(offers, "get_prompt", "Gets a prompt, filled in with arguments.")
  const input = Schema.Struct({
    name: Schema.String,
    arguments: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
  })
  return [
    tool({ ...listing.declared, input: Schema.Struct({ cursor }) }, (params) =>
      Effect.map(listing.ask("prompts/list", params), (answer) =>
        shown(page(answer, "prompts", ["name", ...described, "arguments"]))
      )
    ),
    tool({ ...getting.declared, input }, (params, call) =>
      Effect.gen(function* () {
        const { messages } = yield* getting.ask("prompts/get", params)
        const said = yield* Effect.forEach(blocksOf(messages), ({ content, role }) =>
          Effect.map(textOf([content], call), (text) => `${String(role)}: ${text}`)
        )
        return shown(said.join("\n\n"))
      })
    )
  ]
}

/** The tools that the declaration asks for, but for names that tools of the server have. */
export const contextToolsOf = Effect.fnUntraced(function* (
  offers: Offers,
  taken: ReadonlySet<string>
): Effect.fn.Return<ReadonlyArray<GovernedTool>, MisdeclaredTool> {
  const shown = (value: Json): Json => withoutSecrets(value, offers.credentials.secrets())
  const wanted = contextNames(offers.server).filter((name) => !taken.has(name))
  const families = [...resourceTools(offers, shown), ...promptTools(offers, shown)]
  const tools = wanted.length === 0 ? [] : (yield* Effect.all(families)).flat()
  return tools
    .filter(({ spec }) => wanted.includes(spec.name))
    .map((each) => ({
      ...each,
      provider: `mcp:${offers.server.namespace}`,
      available: () => offers.connection !== undefined
    }))
})
