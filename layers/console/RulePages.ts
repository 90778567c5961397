/** What may run and who is asked: the policy in force, the tools that it judges, and the MCP servers that bring some. */
import type { McpServerStatus } from "../../src/mcp/McpPin.ts"
import type { OutputOf } from "../../src/operation/Operation.ts"
import type * as ToolOperations from "../../src/operation/ToolOperations.ts"
import type { PermissionRule } from "../../src/permission/PermissionRule.ts"
import type { ToolListing } from "../../src/tool/Registry.ts"
import { cutText } from "../../src/value/CutText.ts"
import { apiPart } from "./ApiLine.ts"
import type { Child, Html } from "./Html.ts"
import { element } from "./Html.ts"
import type { CallTimes } from "./TimePages.ts"
import { timesPart } from "./TimePages.ts"
import type { View } from "./Shell.ts"
import { emptyList, fact, page, table } from "./Shell.ts"
import { duration } from "./Words.ts"

type InForce = OutputOf<typeof ToolOperations.policy>
type Tool = OutputOf<typeof ToolOperations.list>["items"][number]

/** The rows that a page has of one list; of the others there is a count. */
const rows_max = 500

const permissions = {
  allow: ["good", "allowed"],
  ask: ["wait", "asks"],
  deny: ["bad", "denied"],
  by_call: ["", "depends"]
} as const

const permissionTag = (permission: keyof typeof permissions): Html => {
  const [kind, word] = permissions[permission]
  return element("span", { class: `tag ${kind}` }, word)
}

const row = (...cells: ReadonlyArray<Child>): Html =>
  element(
    "tr",
    {},
    cells.map((cell) => element("td", {}, cell))
  )

/** A table with as many rows as a page has room for. */
const bounded = (columns: ReadonlyArray<string>, rows: ReadonlyArray<Html>): Child => [
  table(columns, rows.slice(0, rows_max)),
  rows.length > rows_max &&
    element(
      "p",
      { class: "quiet" },
      `and ${(rows.length - rows_max).toLocaleString("en")} more, which the API has`
    )
]

const group = (title: string, ...content: ReadonlyArray<Child>): Html =>
  element("section", { class: "group" }, element("h2", {}, title), content)

const sendersOf = ({ roles, unless_roles }: PermissionRule): string => {
  const only = roles === undefined ? "everybody" : roles.join(", ")
  return unless_roles === undefined ? only : `${only}, but not ${unless_roles.join(", ")}`
}

const modes = {
  allow: "a call that nothing else decides is allowed",
  ask: "a call that nothing else decides asks",
  deny: "a call that nothing else decides is denied",
  allow_reads: "tools that only read are allowed, all others ask"
} as const

interface Shown {
  /** What asks the API for what the page shows. */
  readonly line: string
}

/** The policy in force. */
export const policyPage = (
  view: View,
  { isStopped, line, policy, version, warnings }: InForce & Shown & { readonly isStopped: boolean }
): Html => {
  const { approval_required, default_deny, mode, rules, servers } = policy
  const byServer = Object.entries(servers)
  return page(
    view,
    { title: "Policy", current: "/policy" },
    isStopped &&
      element(
        "p",
        { class: "problem" },
        "Whatever it says: all tools of this tenant are stopped. ",
        element("a", { href: `${view.path}/kill-switch` }, "Kill switch")
      ),
    warnings.map((warning) => element("p", { class: "notice" }, warning)),
    element(
      "dl",
      { class: "facts" },
      fact("Version", element("code", {}, version)),
      fact(
        "Otherwise",
        mode === undefined ? "changes ask, all else is allowed, as tools declare it" : modes[mode]
      ),
      fact(
        "A capability without a scope",
        default_deny ? "covers nothing" : "covers every scope of its name"
      )
    ),
    element(
      "p",
      { class: "quiet group" },
      "What decides first wins: the kill switch, the tool's own permission, its server's, the rules, then what holds otherwise. Of rules that match, the strictest wins. The policy is read when a process starts, and nobody can change it here."
    ),
    group(
      "Rules",
      rules.length === 0
        ? element("p", { class: "quiet" }, "There are none.")
        : bounded(
            ["Calls", "Permission", "For senders"],
            rules.map((rule) =>
              row(
                element("code", {}, rule.pattern),
                permissionTag(rule.permission),
                sendersOf(rule)
              )
            )
          )
    ),
    byServer.length > 0 &&
      group(
        "Servers",
        bounded(
          ["Tools of", "Permission"],
          byServer.map(([name, permission]) => row(name, permissionTag(permission)))
        )
      ),
    approval_required.length > 0 &&
      group(
        "Always asked about",
        element("p", {}, approval_required.slice(0, rows_max).join(", "))
      ),
    element("p", {}, element("a", { href: `${view.path}/tools` }, "What it says of each tool")),
    apiPart(line)
  )
}

const effects = {
  none: "nothing",
  read: "reads",
  write: "changes our systems",
  external: "acts outside"
} as const

const losses = {
  again: "it runs again",
  ask: "the tool finds out",
  unknown: "an operator settles it"
} as const

const scopes = { run: "one run", conversation: "a conversation", tenant: "the tenant" } as const

const onceOf = ({ category, idempotency }: Tool): Child => {
  if (idempotency === undefined) return category === "mutate" && "each call by itself"
  const { holds_ms, key, scope } = idempotency
  return [
    element("code", {}, key),
    ` once in ${scopes[scope]}`,
    holds_ms !== undefined && `, for ${duration(holds_ms)}`
  ]
}

const deciders = ({ approval_expires_ms, approvers, can_be_authorized, permission }: Tool): Child =>
  (permission === "ask" || permission === "by_call") && [
    approvers.length === 0 ? "any approver or operator" : approvers.join(", "),
    approval_expires_ms !== undefined && `, within ${duration(approval_expires_ms)}`,
    can_be_authorized && element("p", { class: "small quiet" }, "or authorised in advance")
  ]

const toolRow = (tool: Tool): Html => {
  const { agents, available, capabilities, deprecated, description, key, provider } = tool
  return element(
    "tr",
    {},
    element(
      "td",
      { class: "wide" },
      element("code", {}, key),
      " ",
      !available && element("span", { class: "tag bad" }, "not available"),
      deprecated && element("span", { class: "tag wait" }, "deprecated"),
      element("p", {}, cutText(description, 300)),
      element(
        "p",
        { class: "small quiet" },
        provider !== "internal" && `from ${provider} `,
        capabilities.length > 0 && `needs ${capabilities.join(", ")}`
      )
    ),
    element("td", {}, effects[tool.side_effects]),
    element("td", {}, permissionTag(tool.permission)),
    element("td", {}, deciders(tool)),
    element("td", {}, onceOf(tool)),
    element("td", {}, losses[tool.on_loss]),
    element("td", {}, agents.length === 0 ? "none" : agents.join(", "))
  )
}

const offerRow = ({ available, description, name }: ToolListing): Html =>
  row(
    element("code", {}, name),
    cutText(description, 300),
    available
      ? element("span", { class: "tag good" }, "a worker is there")
      : element("span", { class: "tag bad" }, "no worker is there")
  )

const serverPart = ({ message, restarts, server, state, target, tools }: McpServerStatus): Html => {
  const amiss = tools.filter((tool) => tool.state !== "available")
  return element(
    "section",
    { class: "group" },
    element(
      "h3",
      {},
      server,
      " ",
      element("span", { class: `tag ${state === "connected" ? "good" : "bad"}` }, state)
    ),
    message !== "" && element("p", { class: "notice" }, cutText(message, 1_000)),
    element(
      "dl",
      { class: "facts" },
      fact("At", element("code", {}, cutText(target, 300))),
      fact("Connected again", restarts),
      fact("Tools", tools.length),
      fact("Not available", amiss.length)
    ),
    amiss.length > 0 &&
      bounded(
        ["Tool", "State", "Why"],
        amiss.map((each) =>
          row(
            each.tool,
            element("span", { class: "tag wait" }, each.state.replaceAll("_", " ")),
            cutText(each.message, 1_000)
          )
        )
      )
  )
}

/** The tools of the process that answers. `servers`: undefined for those who may not look at MCP servers. */
export const toolsPage = (
  view: View,
  {
    line,
    offers,
    servers,
    times,
    tools
  }: Shown & {
    readonly times: CallTimes
    readonly tools: ReadonlyArray<Tool>
    readonly servers?: ReadonlyArray<McpServerStatus> | undefined
    /** What workers offer to run, from other processes too. */
    readonly offers: ReadonlyArray<ToolListing>
  }
): Html =>
  page(
    view,
    { title: "Tools", current: "/tools" },
    tools.length === 0
      ? emptyList("This process has no tools.", "Tools that a program declares stand here.")
      : bounded(
          ["Tool", "Does", "Calls", "Who decides", "Once", "If its outcome is lost", "Agents"],
          tools.map(toolRow)
        ),
    timesPart(view, times),
    offers.length > 0 && [
      element("h2", { class: "more" }, "Offered by workers"),
      bounded(["Tool", "Does", "State"], offers.map(offerRow))
    ],
    servers !== undefined && [
      element("h2", { class: "more" }, "MCP servers"),
      servers.length === 0
        ? element("p", { class: "quiet" }, "There are none.")
        : servers.map(serverPart)
    ],
    apiPart(line)
  )
