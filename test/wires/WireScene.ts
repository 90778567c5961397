/** A service with wires, over real HTTP, and the people who use it. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Schema } from "effect"
import { agent, tool } from "troupe"
import { start } from "troupe/embed"
import { call, calls, scripted, text } from "troupe/testing"
import { wire_names } from "../../layers/http/boundary/HttpSettings.ts"
import { either } from "../Long.ts"

export const tokens = {
  olga: `token-olga-${"o".repeat(24)}`,
  ada: `token-ada-${"a".repeat(24)}`,
  vera: `token-vera-${"v".repeat(24)}`,
  carl: `token-carl-${"c".repeat(24)}`,
  carlAtWork: `token-carl-at-work-${"c".repeat(24)}`,
  cora: `token-cora-${"c".repeat(24)}`,
  otto: `token-otto-${"t".repeat(24)}`
} as const

export type Who = keyof typeof tokens

const people = {
  olga: { id: "olga", tenant: "default", roles: ["operator", "approver"] },
  ada: { id: "ada", tenant: "default", roles: ["operator"] },
  vera: { id: "vera", tenant: "default", roles: ["viewer"] },
  carl: { id: "carl", tenant: "default", roles: ["customer"] },
  carlAtWork: { id: "carl", tenant: "default", roles: ["operator"] },
  cora: { id: "cora", tenant: "default", roles: ["customer"] },
  otto: { id: "otto", tenant: "other", roles: ["operator", "approver"] }
} as const satisfies Record<Who, unknown>

/** What ran, in order. */
export const ran: Array<string> = []

/** A picture of one black point. */
export const picture = {
  type: "image",
  media_type: "image/png",
  name: "point.png",
  data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
} as const

const order = Schema.Struct({ order: Schema.String })

const look = tool(
  { namespace: "shop", name: "look", description: "Looks.", input: order, side_effects: "read" },
  ({ order }) => ({ order, status: "sent" })
)
const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    description: "Pays back.",
    input: order,
    side_effects: "external",
    approvers: ["approver", "customer"]
  },
  ({ order }) => {
    ran.push(`refund ${order}`)
    return "paid back"
  }
)
const broken = tool(
  { namespace: "shop", name: "broken", description: "Fails.", input: order, side_effects: "read" },
  () => {
    throw new Error("the depot does not answer")
  }
)

const draw = tool(
  { namespace: "shop", name: "draw", description: "Draws.", input: order, side_effects: "read" },
  async (_, { attach }) => {
    await attach({ ...picture, for: "customer" })
    return "drawn"
  }
)

/** Words of the library of schemas, which say nothing to people who send a request. */
export const schema_words = /readonly|\||<filter>|a value with/

/** What a call of `hold` waits for. */
export const held: { promise: Promise<unknown> } = { promise: Promise.resolve() }
const hold = tool(
  { namespace: "shop", name: "hold", description: "Holds.", input: order, side_effects: "read" },
  async () => {
    await held.promise
    return "let go"
  }
)
const lapse = tool(
  {
    namespace: "shop",
    name: "lapse",
    description: "Waits a moment for an answer.",
    input: order,
    side_effects: "external",
    approval_expires_ms: 30
  },
  () => "lapsed"
)

const clerk = agent({
  name: "clerk",
  description: "Helps with orders.",
  instructions: "Help.",
  tools: ["look", "refund", "broken", "draw", "hold", "lapse"],
  specialists: ["expert"]
})
const expert = agent({
  name: "expert",
  description: "Knows orders.",
  instructions: "Know.",
  tools: ["look"]
})

/** All that models were given, as JSON, in order. */
export const prompts: Array<string> = []

/**
 * Calls what the message says: `look 1003`, `refund 1003`, `twice 1003`, `both 1003`, `broken 1003`, `ask 1003`; anything else is
 * answered, and an object as it is.
 */
const model = scripted(
  ({ agent, history, step, system, transcript }) => {
    const [first] = transcript
    prompts.push(JSON.stringify({ system, history, transcript }))
    const said = first?.role === "user" ? first.text : ""
    const [what = "", order = ""] = said.split(" ")
    if (agent === "expert") {
      return step === 1
        ? call("look", { order: "7" }, { text: "I look it up." })
        : text("It was sent on Monday, says the depot, with all that was in it.")
    }
    if (what === "both" && step === 1) {
      return calls(["a", "b"].map((part) => call("refund", { order: `${order}-${part}` })))
    }
    if (what === "twice" && step <= 2) return call("refund", { order: `${order}-${step}` })
    if (step > 1) return text(`Done with ${said}.`, { reasoning: [{ text: "thought-7d1" }] })
    if (said.startsWith("{")) return text(said)
    if (what === "ask") return call("ask_expert", { task: said })
    if (what === "json") return text(order)
    return ["look", "refund", "broken", "draw", "hold", "lapse"].includes(what)
      ? call(what, { order }, { text: "One moment." })
      : text(`You said: ${said}`)
  },
  { piece_units: 8, piece_delay_ms: 2 }
)

type Options = Parameters<typeof start>[0]

export const shop = (more: Partial<Options> = {}) =>
  start({
    agents: [clerk, expert],
    customer_agents: ["clerk"],
    tools: [look, refund, broken, draw, hold, lapse],
    model,
    ...more,
    http: {
      port: 0,
      tokens: Object.entries(people).map(([who, principal]) => ({
        token: tokens[who as Who],
        principal
      })),
      settings: { wires: wire_names, origins: ["https://shop.example"] },
      ...more.http
    }
  } as Options)

export type Shop = Awaited<ReturnType<typeof shop>>

/** A service on each store, with PGlite in a directory that is removed behind it. */
export const shopOn = {
  ephemeral: async (use: (troupe: Shop) => Promise<void>, more: Partial<Options> = {}) => {
    const troupe = await shop(more)
    try {
      await use(troupe)
    } finally {
      await troupe.stop()
    }
  },
  PGlite: async (use: (troupe: Shop) => Promise<void>, more: Partial<Options> = {}) => {
    const directory = mkdtempSync(join(tmpdir(), "troupe-wire-"))
    try {
      await shopOn.ephemeral(use, { ...more, store: { directory } })
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  }
} as const

export const store_names = (["ephemeral", "PGlite"] as const).slice(0, either(1, 2))
