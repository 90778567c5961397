/** A shop whose refunds a person decides, behind a console, and a browser without a script. */
import { Effect, Layer, Schema } from "effect"
import { assert } from "vitest"
import { agent, MessageId, Principal, Tenant, tool } from "troupe"
import type { Options } from "troupe/embed"
import { start } from "troupe/embed"
import { feature } from "troupe/feature"
import { DeliveryRefused, Outbox } from "troupe/services"
import { call, scripted, text } from "troupe/testing"

export const tenant = "default"
export const anna = new Principal({ id: "anna", tenant, roles: ["operator"] })

const getOrder = tool(
  {
    namespace: "shop",
    name: "get_order",
    description: "Reads an order.",
    side_effects: "read",
    input: Schema.Struct({ order: Schema.String })
  },
  ({ order }) => ({ order, total: "498.00", currency: "EUR" })
)

const refundOrder = tool(
  {
    namespace: "shop",
    name: "refund_order",
    description: "Pays an order back.",
    side_effects: "external",
    input: Schema.Struct({ order: Schema.String, amount: Schema.String, why: Schema.String })
  },
  ({ amount, order }) => `${amount} of ${order} is paid back`
)

const refunds = agent({
  name: "refunds",
  instructions: "Settle orders.",
  tools: ["get_order", "refund_order"]
})
const billing = agent({
  name: "billing",
  instructions: "Help customers.",
  specialists: ["refunds"]
})

/** Whose tokens the console knows, each by the name of its principal. */
export const tokens = {
  olga: { roles: ["operator"], tenant },
  otto: { roles: ["operator"], tenant },
  vera: { roles: ["viewer"], tenant },
  boss: { roles: ["approver"], tenant },
  other: { roles: ["admin"], tenant: "elsewhere" },
  cora: { roles: ["operator"], tenant: "elsewhere" },
  ada: { roles: ["customer"], tenant },
  feed: { roles: ["publisher"], tenant }
} as const

export type Name = keyof typeof tokens

export const tokenOf = (name: string): string => `token-of-${name}-${"x".repeat(24)}`

export const http = {
  port: 0,
  console: true,
  tokens: Object.entries(tokens).map(([name, of]) => ({
    token: tokenOf(name),
    principal: new Principal({ id: name, ...of })
  }))
}

/** The supervisor asks its specialist, which reads, and proposes what is given. */
const model = (proposed: Readonly<Record<string, string>>) =>
  scripted(({ agent: name, step }) => {
    const order = proposed["order"] ?? ""
    if (name === "billing") {
      return step === 1
        ? call("ask_refunds", { task: `settle ${order} with the customer` })
        : text("You get your money back.")
    }
    if (step === 1) return call("get_order", { order })
    return step === 2 ? call("refund_order", proposed) : text("It is settled.")
  })

const refund = { order: "order-1003", amount: "249.00", why: "second delivery lost" }

/** The shop itself. */
export const shopOptions = (proposed: Readonly<Record<string, string>> = refund) => ({
  agents: [billing, refunds],
  tools: [getOrder, refundOrder],
  model: model(proposed)
})

/** A started service with its console. */
export const shop = (
  more: Partial<Options> = {},
  proposed: Readonly<Record<string, string>> = refund
) => start({ ...shopOptions(proposed), http, ...more })

/** A bank that takes an order and never says whether it was paid; sent again, it does. `attempts`: the orders it was sent. */
export const bank = async (more: Partial<Options> = {}, memo = "for the delivery") => {
  const attempts: Array<string> = []
  const pay = tool(
    {
      namespace: "bank",
      name: "pay",
      description: "Pays an invoice.",
      side_effects: "external",
      permission: "allow",
      timeout_ms: "20 millis",
      input: Schema.Struct({ invoice: Schema.String, memo: Schema.String })
    },
    ({ invoice }): string | Promise<string> => {
      const isFirst = !attempts.includes(invoice)
      attempts.push(invoice)
      return isFirst ? new Promise<string>(() => {}) : `${invoice} is paid`
    }
  )
  const model = scripted(({ step, transcript }) => {
    const [asked] = transcript
    return asked?.role === "user" && step === 1
      ? call("pay", { invoice: asked.text, memo })
      : text("That is all.")
  })
  const clerk = agent({ name: "clerk", instructions: "Pay invoices.", tools: ["pay"] })
  const troupe = await start({ agents: [clerk], tools: [pay], model, http, ...more })
  const ask = async (invoice: string) =>
    (await troupe.ask({ agent: "clerk", text: invoice }, anna)).run
  return { troupe, ask, attempts }
}

/** The id of the n-th of the letters of a post office. */
export const letterId = (n: number): string =>
  `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`

/** A post office whose receiver refuses what it is sent, for good, until it is `open`. It was given some letters to deliver. */
export const postOffice = async (
  payloads: ReadonlyArray<Schema.Json>,
  more: Partial<Options> = {}
) => {
  const receiver = { open: false, took: new Array<string>(), refused: 0 }
  const deliver = (message: { readonly id: string }) =>
    Effect.suspend(() => {
      if (!receiver.open) {
        receiver.refused++
        return Effect.fail(new DeliveryRefused({ message: `refused: <${receiver.refused}>` }))
      }
      receiver.took.push(message.id)
      return Effect.void
    })
  const given = feature({
    name: "post",
    deliveries: [Effect.succeed([["post.deliver", deliver]])],
    layer: Layer.effectDiscard(
      Outbox.use((outbox) =>
        outbox.enqueue(
          payloads.map((payload, n) => ({
            id: MessageId.make(letterId(n)),
            tenant: Tenant.make(tenant),
            key: `order-${n}`,
            topic: "post.deliver",
            payload
          }))
        )
      ).pipe(Effect.orDie)
    )
  })
  const options = { agents: [], model: scripted([]), features: [given], http, ...more }
  return { troupe: await start(options), receiver }
}

/** An agent that says again what it is told. */
export const echo = (more: Partial<Options> = {}) =>
  start({
    agents: [agent({ name: "echo", instructions: "Say it again.", tools: [] })],
    model: scripted(({ transcript }) => {
      const last = transcript.at(-1)
      return text(last?.role === "user" ? `You said: ${last.text}` : "Nothing.")
    }),
    http,
    ...more
  })

/** Who is signed in at the console of a started service. */
export const signedIn = async ({ url = "" }: { readonly url?: string | undefined }, name: Name) => {
  const browser = new PlainBrowser(url)
  const { text } = await browser.signIn(name)
  assert.include(text, `<b>${name}</b>`)
  return browser
}

/** A browser without a script: it keeps cookies, follows answers to forms, and sends what a page's form has. */
export class PlainBrowser {
  static #count = 0
  /** One of its own: tries to sign in are bounded by address. */
  readonly #address = `198.51.100.${PlainBrowser.#count++ % 250}`
  readonly #base: string
  readonly #console: string
  #cookie = ""
  /** `console`: the path of the console below the base. */
  constructor(base: string, console = "/console") {
    this.#base = base
    this.#console = console
  }

  async request(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers)
    if (this.#cookie !== "") headers.set("cookie", this.#cookie)
    if (!headers.has("x-forwarded-for")) headers.set("x-forwarded-for", this.#address)
    const answer = await fetch(this.#base + path, { ...init, headers, redirect: "manual" })
    for (const set of answer.headers.getSetCookie()) {
      this.#cookie = set.includes("Max-Age=0") ? "" : (set.split(";", 1)[0] ?? "")
    }
    return answer
  }

  get cookie(): string {
    return this.#cookie
  }

  set cookie(cookie: string) {
    this.#cookie = cookie
  }

  async get(path: string): Promise<{ readonly status: number; readonly text: string }> {
    const answer = await this.request(path)
    return { status: answer.status, text: await answer.text() }
  }

  /** Sends fields to a path, with the key of the page's forms unless they have one, and follows the answer. */
  async post(
    path: string,
    fields: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = {}
  ) {
    const key = fields["form_key"] ?? (await this.formKey())
    const body = new URLSearchParams({ ...fields, form_key: key })
    const answer = await this.request(path, { method: "POST", body, headers })
    const text = await answer.text()
    const location = answer.headers.get("location")
    if (location === null) return { status: answer.status, text, location }
    return { ...(await this.get(location)), location }
  }

  /** The key of the forms of this session. */
  async formKey(): Promise<string> {
    const { text } = await this.get(this.#console)
    return /name="form_key" value="([0-9a-f]+)"/.exec(text)?.[1] ?? ""
  }

  async signIn(name: string) {
    return await this.post(`${this.#console}/sign-in`, { form_key: "none", token: tokenOf(name) })
  }
}

/** A heartbeat of a stream. */
export const alive = ": alive"

/** A stream that is read piece by piece. */
export const reading = (response: Response) => {
  assert.strictEqual(response.status, 200)
  assert.strictEqual(response.headers.get("content-type"), "text/event-stream")
  const reader = response.body?.getReader() ?? assert.fail("it has no body")
  const decoder = new TextDecoder()
  let read = ""
  const more = async () => {
    const { done, value } = await reader.read()
    read += decoder.decode(value, { stream: true })
    return !done
  }
  return {
    /** Reads until the text has come; it fails where the stream ends before. */
    until: async (text: string) => {
      while (!read.includes(text)) {
        if (!(await more())) assert.fail(`it ended before ${text}: ${read}`)
      }
      return read
    },
    /** Reads until so many heartbeats have come. */
    beats: async (count: number) => {
      while (read.split(alive).length <= count) {
        if (!(await more())) assert.fail(`it ended: ${read}`)
      }
      return read
    },
    end: async () => {
      while (await more());
      return read
    },
    leave: () => reader.cancel()
  }
}
