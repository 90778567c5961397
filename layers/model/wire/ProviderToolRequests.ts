/**
 * Translates provider tools into the form that each client takes: which provider has which tool, by which name and arguments,
 * and which settings it cannot express. The documents of the clients' packages describe these tools.
 */
import type { LanguageModelV4ProviderTool, SharedV4ProviderOptions } from "@ai-sdk/provider"
import type { ModelSettings } from "../../../src/agent/ModelSettings.ts"
import type { ProviderTool } from "../../../src/agent/ProviderTools.ts"
import { providerToolId, providerToolOf } from "../../../src/agent/ProviderTools.ts"
import type { Json } from "../../../src/value/Canonical.ts"
import { defined } from "../../../src/value/PlainObject.ts"

type Args = Readonly<Record<string, unknown>>

/** The form of one tool for one client: an entry in the list of tools, or an option. */
type Form =
  | { readonly id: string; readonly args: Args; readonly options?: SharedV4ProviderOptions }
  | { readonly id?: undefined; readonly options: SharedV4ProviderOptions }

type Of<Name extends ProviderTool["tool"]> = Extract<ProviderTool, { tool: Name }>

/** A function gives the name of a member that the provider cannot express. A tool that the provider does not have is absent. */
interface Provider {
  /** The provider's name in an agent's settings. */
  readonly name: string
  readonly web_search?: (tool: Of<"web_search">, settings: Args) => Form | string
  readonly web_fetch?: (tool: Of<"web_fetch">, settings: Args) => Form | string
  readonly code_execution?: (tool: Of<"code_execution">, settings: Args) => Form | string
  readonly file_search?: (tool: Of<"file_search">, settings: Args) => Form | string
  readonly mcp?: (tool: Of<"mcp">, settings: Args, token: string | undefined) => Form | string
}

const serverArgs = ({ server, tools, url }: Of<"mcp">, token: string | undefined) =>
  defined({ serverLabel: server, serverUrl: url, allowedTools: tools, authorization: token })

const no_stores = "no stores: name at least one"

const openai: Provider = {
  name: "openai",
  web_search: ({ allowed_domains, blocked_domains, uses_max }, settings) => {
    if (uses_max !== undefined) return "uses_max"
    const filters = defined({ allowedDomains: allowed_domains, blockedDomains: blocked_domains })
    const filtered = Object.keys(filters).length === 0 ? undefined : { filters }
    return { id: "openai.web_search", args: { ...settings, ...filtered } }
  },
  code_execution: (_tool, settings) => ({ id: "openai.code_interpreter", args: settings }),
  file_search: ({ results_max, stores }, settings) =>
    stores === undefined
      ? no_stores
      : {
          id: "openai.file_search",
          args: { ...settings, ...defined({ vectorStoreIds: stores, maxNumResults: results_max }) },
          // Without it the provider says that it searched, and not what it found.
          options: { openai: { include: ["file_search_call.results"] } }
        },
  mcp: (tool, settings, token) => ({
    id: "openai.mcp",
    // Nobody can be asked: the policy allowed the server.
    args: { ...settings, ...serverArgs(tool, token), requireApproval: "never" }
  })
}

/** An Anthropic tool. Its version is the date in its type. */
const dated = (kind: string, version: string, { version: other = version, ...args }: Args) => ({
  id: `anthropic.${kind}_${String(other)}`,
  args
})

const domains = ({
  allowed_domains,
  blocked_domains,
  uses_max
}: Of<"web_search"> | Of<"web_fetch">) =>
  defined({ allowedDomains: allowed_domains, blockedDomains: blocked_domains, maxUses: uses_max })

const anthropic = {
  name: "anthropic",
  web_search: (tool, settings) => {
    const { args, id } = dated("web_search", "20250305", settings)
    return { id, args: { ...args, ...domains(tool) } }
  },
  web_fetch: (tool, settings) => {
    const { args, id } = dated("web_fetch", "20250910", settings)
    // Its citations are off where nothing is said, and an answer would have no sources.
    return { id, args: { citations: { enabled: true }, ...args, ...domains(tool) } }
  },
  code_execution: (_tool, settings) => dated("code_execution", "20250825", settings),
  mcp: ({ server, tools, url }, settings, token) => {
    const authorization = token === undefined ? undefined : { authorizationToken: token }
    const tool_configuration =
      tools === undefined
        ? undefined
        : { toolConfiguration: { enabled: true, allowedTools: [...tools] } }
    const said = { ...settings, type: "url", name: server, url }
    const mcpServers = [{ ...said, ...authorization, ...tool_configuration }] as Json
    return { options: { anthropic: { mcpServers } } }
  }
} satisfies Provider

const limited = ({
  allowed_domains,
  blocked_domains,
  uses_max
}: Of<"web_search"> | Of<"web_fetch">): string | undefined => {
  if (uses_max !== undefined) return "uses_max"
  return (allowed_domains ?? blocked_domains) === undefined ? undefined : "a list of domains"
}

const google = {
  name: "google",
  web_search: (tool, settings) => limited(tool) ?? { id: "google.google_search", args: settings },
  web_fetch: (tool, settings) => limited(tool) ?? { id: "google.url_context", args: settings },
  code_execution: (_tool, settings) => ({ id: "google.code_execution", args: settings }),
  file_search: ({ results_max, stores }, settings) =>
    stores === undefined
      ? no_stores
      : {
          id: "google.file_search",
          args: { ...settings, ...defined({ fileSearchStoreNames: stores, topK: results_max }) }
        }
} satisfies Provider

const xai: Provider = {
  name: "xai",
  web_search: ({ allowed_domains, blocked_domains, uses_max }, settings) =>
    uses_max === undefined
      ? {
          id: "xai.web_search",
          args: {
            ...settings,
            ...defined({ allowedDomains: allowed_domains, excludedDomains: blocked_domains })
          }
        }
      : "uses_max",
  code_execution: (_tool, settings) => ({ id: "xai.code_execution", args: settings }),
  file_search: ({ results_max, stores }, settings) =>
    stores === undefined
      ? no_stores
      : {
          id: "xai.file_search",
          args: { ...settings, ...defined({ vectorStoreIds: stores, maxNumResults: results_max }) }
        },
  mcp: (tool, settings, token) => ({
    id: "xai.mcp",
    args: { ...settings, ...serverArgs(tool, token) }
  })
}

/** The tools at Vertex: Gemini's without file search, whose stores only Gemini's own API has, and Claude's web search alone. */
const vertex: Provider = {
  name: "google",
  web_search: google.web_search,
  web_fetch: google.web_fetch,
  code_execution: google.code_execution
}
const vertexClaude: Provider = { name: "anthropic", web_search: anthropic.web_search }

const providerOf = (provider: string): Provider | undefined => {
  if (/^(openai|azure)\.responses$/.test(provider)) return openai
  if (provider.startsWith("anthropic.")) return anthropic
  if (/anthropic/.test(provider))
    return /^googleVertex|^vertex/.test(provider) ? vertexClaude : undefined
  if (provider.startsWith("google.vertex")) return vertex
  if (provider.startsWith("google.")) return google
  return provider === "xai.responses" ? xai : undefined
}

/** Client options that would give a turn provider tools without the policy's check. */
const around: Readonly<Record<string, ReadonlyArray<string>>> = {
  anthropic: ["mcpServers", "container"],
  openaiCompatible: ["tools", "plugins", "web_search_options", "search_parameters"],
  xai: ["searchParameters"]
}

/** The first such option that an agent sets; undefined = there is none. */
export const optionAround = (
  options: ModelSettings["provider_options"] = {}
): string | undefined => {
  for (const [provider, names] of Object.entries(around)) {
    const given = options[provider] ?? {}
    const name = names.find((each) => Object.hasOwn(given, each))
    if (name !== undefined) return `${provider}.${name}`
  }
  return undefined
}

export interface SentTools {
  readonly tools: ReadonlyArray<LanguageModelV4ProviderTool>
  readonly options: SharedV4ProviderOptions | undefined
}

/** For a provider without tools by name: its models run it by themselves, or a member of the request in the settings tells them. */
const bySettings = (key: string, { settings }: ProviderTool): Form | undefined => {
  const own = settings?.[key]
  return own === undefined ? undefined : { options: { [key]: own as Record<string, Json> } }
}

const formOf = (
  provider: Provider,
  tool: ProviderTool,
  token: string | undefined
): Form | string | undefined => {
  const settings = tool.settings?.[provider.name] ?? {}
  switch (tool.tool) {
    case "web_search":
      return provider.web_search?.(tool, settings)
    case "web_fetch":
      return provider.web_fetch?.(tool, settings)
    case "code_execution":
      return provider.code_execution?.(tool, settings)
    case "file_search":
      return provider.file_search?.(tool, settings)
    case "mcp":
      return provider.mcp?.(tool, settings, token)
  }
}

/** Merges options. Lists are joined, because several tools may add to one; otherwise the later value counts. */
export const joinedOptions = (
  one: SharedV4ProviderOptions | undefined,
  two: SharedV4ProviderOptions
): SharedV4ProviderOptions => {
  const all: Record<string, Record<string, Json>> = {
    ...(one as Record<string, Record<string, Json>>)
  }
  for (const [key, options] of Object.entries(two as Record<string, Record<string, Json>>)) {
    const before = all[key] ?? {}
    const merged: Record<string, Json> = { ...before, ...options }
    for (const [name, value] of Object.entries(options)) {
      const earlier = before[name]
      if (Array.isArray(value) && Array.isArray(earlier)) merged[name] = [...earlier, ...value]
    }
    all[key] = merged
  }
  return all as SharedV4ProviderOptions
}

/** A Gemini before 3 accepts either provider tools or functions; its client would leave the functions out. */
const isEarlyGemini = (model: string): boolean => /gemini-[12](\.|-|$)/.test(model)

/** The provider tools for one model, or why that is not possible. `tokenOf` gives the token of an MCP server. */
export const toSent = (
  { modelId, provider }: { readonly provider: string; readonly modelId: string },
  tools: ReadonlyArray<ProviderTool>,
  functions: number,
  tokenOf: (tool: ProviderTool) => string | undefined
): SentTools | string => {
  const known = providerOf(provider)
  const [key = ""] = provider.split(".")
  const sent: Array<LanguageModelV4ProviderTool> = []
  let options: SharedV4ProviderOptions | undefined
  for (const tool of tools) {
    const form = known === undefined ? bySettings(key, tool) : formOf(known, tool, tokenOf(tool))
    if (form === undefined) return `${provider} has no tool ${providerToolId(tool)}`
    if (typeof form === "string")
      return `${provider} cannot be told ${form} of ${providerToolId(tool)}`
    if (form.options !== undefined) options = joinedOptions(options, form.options)
    if (form.id !== undefined) {
      const id = form.id as LanguageModelV4ProviderTool["id"]
      sent.push({ type: "provider", id, name: nameOf(tool), args: { ...form.args } })
    }
  }
  if (known?.name === "google" && functions > 0 && sent.length > 0 && isEarlyGemini(modelId)) {
    return `${modelId} takes tools of its provider or those of the agent, and not both`
  }
  return { tools: sent, options }
}

/** A tool that ran, by the client's name for it, with its MCP server if that is known. */
export type RanTool = Parameters<typeof providerToolOf>[0]

/** Anthropic's remote MCP servers are not in the list of tools: the request names the servers in its options. */
export const isOffered = ({ options, tools }: SentTools, ran: RanTool): boolean => {
  const kind = providerToolOf(ran)
  return (
    tools.some(({ name }) =>
      kind === "mcp" && name.startsWith("mcp_")
        ? ran.server === undefined || name === `mcp_${ran.server}`
        : name === ran.name || name === kind
    ) || options?.["anthropic"]?.["mcpServers"] !== undefined
  )
}

/** The name by which the client reports a use. It distinguishes several MCP servers. */
const nameOf = (tool: ProviderTool): string =>
  tool.tool === "mcp" ? `mcp_${tool.server}` : tool.tool
