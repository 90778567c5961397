/**
 * Tools that the model's provider runs by itself within a turn: a search, code in its sandbox, a remote MCP server. An agent
 * declares those that it may use. No person can be asked about a single use, because it is over when the runtime learns of it.
 */
import { Schema } from "effect"
import type { Subject } from "../permission/Policy.ts"
import type { PermissionRule } from "../permission/PermissionRule.ts"
import { parsePattern } from "../permission/PermissionRule.ts"
import type { ProviderRan } from "../run/ProviderWork.ts"
import type { ToolGroup } from "../tool/ToolGroup.ts"
import { between, textUpTo, jsonUpTo } from "../value/Bounds.ts"

export const ProviderToolName = Schema.Literals([
  "web_search",
  "web_fetch",
  "code_execution",
  "file_search",
  "mcp"
])
export type ProviderToolName = typeof ProviderToolName.Type

/**
 * More arguments of the tool, by the provider's name (`openai`, `anthropic`, `google`, `xai`, `openaiCompatible`), as its AI SDK
 * package documents them. The declaration's own members take precedence over them.
 */
const settings = Schema.optionalKey(
  Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Json)).check(jsonUpTo(16_384))
)

const Text = textUpTo(500)
const some = (most: number) =>
  Schema.Array(Text).check(Schema.isMinLength(1), Schema.isMaxLength(most))
const Count = between(1, 1_000)

const web = {
  allowed_domains: Schema.optionalKey(some(100)),
  blocked_domains: Schema.optionalKey(some(100)),
  /** The greatest number of uses in one turn. */
  uses_max: Schema.optionalKey(Count),
  settings
}

/** A tool with settings. If the provider cannot express a declared tool or setting, the start fails. */
export const ProviderTool = Schema.Union([
  Schema.Struct({ tool: Schema.Literal("web_search"), ...web }),
  /** Reads pages by their addresses. */
  Schema.Struct({ tool: Schema.Literal("web_fetch"), ...web }),
  Schema.Struct({ tool: Schema.Literal("code_execution"), settings }),
  Schema.Struct({
    tool: Schema.Literal("file_search"),
    /** The provider's names for the stores to search: vector stores, or Gemini's file search stores. */
    stores: Schema.optionalKey(some(20)),
    results_max: Schema.optionalKey(Count),
    settings
  }),
  Schema.Struct({
    tool: Schema.Literal("mcp"),
    /** The server's name, by which policies refer to it: `servers: { "mcp:NAME": "allow" }`. */
    server: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{1,64}$/)),
    url: Schema.String.check(
      Schema.isMaxLength(2_000),
      Schema.isPattern(/^https:\/\/[^\s@#]+$/, {
        expected: "an https address without credentials"
      })
    ),
    /** The names of the server's tools that may run. Absent = all. */
    tools: Schema.optionalKey(some(100)),
    /** The environment variable whose value is sent as the server's bearer token. */
    token_variable: Schema.optionalKey(
      Schema.String.check(Schema.isPattern(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/))
    ),
    settings
  })
])
export type ProviderTool = typeof ProviderTool.Type

/** The provider tools of an agent, at most 32. A name alone stands for the tool without settings. */
export const ProviderTools = Schema.Array(
  Schema.Union([Schema.Literals(["web_search", "web_fetch", "code_execution"]), ProviderTool])
).check(Schema.isMaxLength(32))
export type ProviderTools = typeof ProviderTools.Type

export const providerToolsOf = (declared: ProviderTools): ReadonlyArray<ProviderTool> =>
  declared.map((each) => (typeof each === "string" ? { tool: each } : each))

/** Identifies a declaration among those of one agent. */
export const providerToolId = (declared: ProviderTool): string =>
  declared.tool === "mcp" ? `mcp:${declared.server}` : declared.tool

/** The key by which a policy names a provider's tool, where a tool of the runtime has the same plain name. */
export const providerToolKey = (tool: ProviderToolName): string => `provider.${tool}@1`

const groups: Readonly<Record<ProviderToolName, ToolGroup>> = {
  web_search: "network",
  web_fetch: "network",
  code_execution: "inspect",
  file_search: "knowledge",
  mcp: "network"
}

export const providerToolGroup = ({ tool }: ProviderTool): ToolGroup => groups[tool]

/**
 * The facts by which a policy judges the tool. Searches and page reads count as reads. So does code in a sandbox, unless its
 * settings may change the sandbox. An MCP server may do anything, and counts as a mutation.
 */
export const providerToolSubject = (declared: ProviderTool): Subject => {
  const { tool } = declared
  const reads = tool !== "mcp" && (tool !== "code_execution" || declared.settings === undefined)
  return {
    name: tool,
    key: providerToolKey(tool),
    category: reads ? "read" : "mutate",
    read_only: reads ? true : null,
    arguments: ["url"],
    ...(tool === "mcp" ? { server: `mcp:${declared.server}` } : undefined)
  }
}

/**
 * The arguments that a rule can read before a turn: the URL of an MCP server, and nothing for other tools, because the model has
 * not chosen them yet.
 */
export const providerToolArguments = (declared: ProviderTool): unknown =>
  declared.tool === "mcp" ? { url: declared.url } : {}

/**
 * The rules as they apply to a provider's tool. A rule that asks or denies for some arguments does so for all of them, because
 * the model chooses the arguments later. For an MCP server the rules stay as they are, because its URL is known.
 */
export const rulesBefore = (
  rules: ReadonlyArray<PermissionRule>,
  { tool }: ProviderTool
): ReadonlyArray<PermissionRule> =>
  tool === "mcp"
    ? rules
    : rules.map((rule) =>
        rule.permission === "allow" ? rule : { ...rule, pattern: parsePattern(rule.pattern).tool }
      )

/** Other names that providers and their clients use for these tools. */
const known: Readonly<Record<string, ProviderToolName>> = {
  search: "web_search",
  browser_search: "web_search",
  google_search: "web_search",
  web_search_preview: "web_search",
  "server:google_search_web": "web_search",
  visit: "web_fetch",
  visit_website: "web_fetch",
  url_context: "web_fetch",
  "server:url_context": "web_fetch",
  python: "code_execution",
  code_interpreter: "code_execution",
  bash_code_execution: "code_execution",
  text_editor_code_execution: "code_execution",
  "server:code_execution": "code_execution",
  "server:file_search": "file_search",
  "server:mcp": "mcp"
}

/** The tool that a provider ran; undefined = it is not one that an agent can declare. */
export const providerToolOf = ({
  name,
  server
}: Pick<ProviderRan, "name" | "server">): ProviderToolName | undefined => {
  if (server !== undefined) return "mcp"
  const lower = name.toLowerCase()
  if (lower.startsWith("mcp.")) return "mcp"
  return (
    ProviderToolName.literals.find((each) => each === lower) ??
    (Object.hasOwn(known, lower) ? known[lower] : undefined)
  )
}

/** The name of the first tool that ran without being offered; undefined = all were offered. */
export const undeclaredOf = (
  ran: ReadonlyArray<ProviderRan>,
  offered: ReadonlyArray<ProviderTool>
): string | undefined =>
  ran.find((each) => {
    const tool = providerToolOf(each)
    return !offered.some(
      (declared) =>
        declared.tool === tool &&
        (declared.tool !== "mcp" || each.server === undefined || each.server === declared.server)
    )
  })?.name

/** The tools that the providers of these agents' models run, as a policy judges them. */
export const providedSubjects = (
  agents: ReadonlyArray<{ readonly spec: { readonly provider_tools?: ProviderTools } }>
): ReadonlyArray<Subject> =>
  agents.flatMap(({ spec }) => providerToolsOf(spec.provider_tools ?? []).map(providerToolSubject))
