/** Messages with images and other files, from `send` to what the model is shown. */
import { createHash, randomBytes } from "node:crypto"
import { Effect, Schema } from "effect"
import { assert, describe, it } from "vitest"
import type { Options, Store } from "../../layers/compose/options/ServiceOptions.ts"
import { service_principal } from "../../layers/compose/promises/ServicePrincipal.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { ModelRequest } from "../../services/ModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import * as Homes from "../process/Homes.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import { hostile } from "./HostileValues.ts"

const image = new Uint8Array(randomBytes(300_000))
const digest = createHash("sha256").update(image).digest("hex")
const base64 = Buffer.from(image).toString("base64")
const picture = {
  type: "image",
  media_type: "image/png",
  data: image,
  name: "receipt.png"
} as const
const kept = {
  type: "image" as const,
  digest,
  media_type: "image/png",
  size: 300_000,
  name: "receipt.png"
}

const boss = new Principal({ id: "boss", tenant: Tenant.make("default"), roles: ["approver"] })
const carl = new Principal({ id: "carl", tenant: Tenant.make("default"), roles: ["customer"] })
const stranger = new Principal({ id: "x", tenant: Tenant.make("other"), roles: ["admin"] })

const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    description: "Pays an order back.",
    side_effects: "external",
    input: Schema.Struct({ order: Schema.String }),
    output: Schema.String
  },
  ({ order }) => Effect.succeed(order)
)

/** A shop that asks before it pays, and the requests that its model got. */
const shop = async (more: Partial<Options> = {}) => {
  const requests: Array<ModelRequest> = []
  const troupe = await start({
    agents: [AgentSpec.make({ name: "shop", instructions: "Help.", tools: ["refund"] })],
    tools: [refund],
    model: layer((request) => {
      requests.push(request)
      const wants = request.transcript.length === 1 && request.history.length === 0
      return wants ? call("refund", { order: "1" }) : text("done")
    }),
    ...more
  })
  return { troupe, requests }
}

/** A database that is up to date, and gone afterwards. */
const inDatabase = (use: (store: Store) => Promise<void>) =>
  Effect.runPromise(
    Effect.scoped(Effect.flatMap(Homes.durable, (store) => Effect.promise(() => use(store))))
  )

type Refused = { _tag?: string; field?: string; bytes_max?: number }
const tagOf = (promise: Promise<unknown>): Promise<Refused> =>
  promise.then(
    () => ({}),
    (error: Refused) => error
  )

const bytesOf = (request: ModelRequest | undefined) => request?.files?.get(digest)

describe("messages with files", () => {
  it("an image is journaled by its digest and shown to the model, also after a restart", async () => {
    await inDatabase(async (store) => {
      const first = await shop({ store })
      const parts = [picture, { type: "text", text: "It was wet." } as const]
      const message = { agent: "shop", text: "Pay this back", parts, idempotency_key: "k" }
      const asked = await first.troupe.ask(message)
      if (asked.status !== "awaiting_approval") return assert.fail(asked.status)
      const shown = { role: "user", text: "Pay this back", parts: [kept, parts[1]] }
      assert.deepStrictEqual(first.requests[0]?.transcript[0] as unknown, shown)
      assert.strictEqual(bytesOf(first.requests[0]), base64)
      // The same message again is the same task, and one with another picture is not.
      assert.strictEqual((await first.troupe.send(message)).run, asked.run)
      const other = { ...message, parts: [{ ...picture, data: image.slice(1) }] }
      assert.strictEqual((await tagOf(first.troupe.send(other)))._tag, "IdempotencyConflict")
      await first.troupe.stop()

      const second = await shop({ store })
      await second.troupe.decide(asked.approvals[0]!.id, { decision: "approve" }, boss)
      assert.deepInclude(await second.troupe.result(asked.run), { status: "complete" })
      assert.deepStrictEqual(second.requests[0]?.transcript[0] as unknown, shown)
      assert.strictEqual(bytesOf(second.requests[0]), base64)
      // The next message of the conversation has it in its past, by reference and from the same bytes.
      const again = { agent: "shop", text: "", conversation: asked.conversation }
      const { data: _, ...reference } = { ...picture, digest }
      assert.deepInclude(await second.troupe.ask({ ...again, parts: [reference] }), {
        status: "complete"
      })
      const last = second.requests.at(-1)
      assert.deepStrictEqual(last?.history[0] as unknown, shown)
      assert.deepStrictEqual(last?.transcript[0] as unknown, { ...shown, text: "", parts: [kept] })
      assert.strictEqual(bytesOf(last), base64)
      const messages = await second.troupe.messages(asked.conversation)
      assert.deepStrictEqual(messages[0]?.parts as unknown, shown.parts)
      assert.notProperty(messages[1], "parts")
      const rows = JSON.stringify(await second.troupe.runEvents(asked.run))
      assert.include(rows, digest)
      assert.isBelow(rows.length, 20_000)
      await second.troupe.stop()
    })
  }, 120_000)

  it("the journal grows with the number of images, and not with their bytes", async () => {
    const { troupe } = await shop({
      agents: [AgentSpec.make({ name: "shop", instructions: "Help." })]
    })
    /** The events of a run whose message has so many images of so many bytes, in characters. */
    const journaled = async (images: number, bytes: number): Promise<number> => {
      const parts = Array.from({ length: images }, () => ({
        ...picture,
        data: new Uint8Array(randomBytes(bytes))
      }))
      const { run } = await troupe.ask({ agent: "shop", text: "Look", parts })
      return JSON.stringify(await troupe.runEvents(run)).length
    }
    try {
      const [few, small, large, more] = [
        await journaled(2, 1_000),
        await journaled(4, 1_000),
        await journaled(4, 500_000),
        await journaled(8, 1_000)
      ]
      // A size of six digits in place of one of four, for each of them.
      assert.isAtMost(Math.abs(large - small), 4 * 2 + 40)
      const each = (small - few) / 2
      assert.isBelow(each, 400)
      assert.isAtMost(Math.abs(more - few - 6 * each), 40)
    } finally {
      await troupe.stop()
    }
  })

  it("what is no part, too large, or another tenant's is refused, and starts nothing", async () => {
    const { requests, troupe } = await shop()
    const send = (part: unknown, by = service_principal) =>
      tagOf(troupe.send({ agent: "shop", text: "x", parts: [part as never] }, by))
    try {
      for (const value of hostile) {
        assert.strictEqual((await send(value))._tag, "InvalidInput")
        const parts = { agent: "shop", text: "x", parts: value as never }
        if (value !== undefined)
          assert.strictEqual((await tagOf(troupe.send(parts)))._tag, "InvalidInput")
        // Some texts are base64.
        if (typeof value === "string") continue
        assert.strictEqual((await send({ ...picture, data: value })).field, "message.parts.0.data")
      }
      const wrong = [
        ["media_type", { ...picture, media_type: "audio/wav" }],
        ["media_type", { ...picture, media_type: "image/png; charset=x" }],
        ["media_type", { ...picture, type: "audio" }],
        ["data", { ...picture, data: "data:image/png;base64,AAAA" }],
        ["data", { ...picture, data: new Uint8Array() }],
        ["name", { ...picture, name: "../etc/passwd" }],
        ["name", { ...picture, name: "a\r\nb" }],
        ["digest", { ...kept, digest: digest.toUpperCase() }],
        ["text", { type: "text", text: "" }]
      ] as const
      for (const [field, part] of wrong) {
        assert.deepInclude(await send(part), {
          _tag: "InvalidInput",
          field: `message.parts.0.${field}`
        })
      }
      const many = Array.from({ length: 33 }, () => picture)
      const tooMany = await tagOf(troupe.send({ agent: "shop", text: "x", parts: many }))
      assert.strictEqual(tooMany.field, "message.parts")
      assert.strictEqual(
        (await send({ ...picture, data: new Uint8Array(20_000_001) }))._tag,
        "FileTooLarge"
      )
      assert.strictEqual((await send(kept))._tag, "FileNotFound")
      const long = { type: "text", text: "x".repeat(1_000_000) }
      assert.strictEqual((await send(long))._tag, "MessageTooLarge")
      assert.strictEqual(
        (await tagOf(troupe.send({ agent: "shop", text: "" }))).field,
        "message.text"
      )
      assert.lengthOf(requests, 0)
      assert.deepStrictEqual(await send(picture), {})
      assert.strictEqual((await send(kept, stranger))._tag, "FileNotFound")
    } finally {
      await troupe.stop()
    }
  })
})

describe("messages that are sent at the same time", () => {
  it("are refused beyond what a tenant and all may have of them in memory, and taken a moment later", async () => {
    const store = { postgres: await Effect.runPromise(EmbeddedPostgres.migrated) }
    const { troupe } = await shop({ store, in_flight_bytes_max: 8_000_000 })
    try {
      const admin = (tenant: string) =>
        new Principal({ id: "boss", tenant: Tenant.make(tenant), roles: ["admin"] })
      const send = (units: number, tenant: string, parts: ReadonlyArray<typeof picture> = []) => {
        const message = { agent: "shop", text: "x".repeat(units) }
        return tagOf(
          troupe.send(parts.length === 0 ? message : { ...message, parts }, admin(tenant))
        )
      }
      const full = (bytes_max: number) => ({ _tag: "IntakeFull", bytes_max })
      // Two bytes for each unit, and 10,000 for the message; none is accepted before all were looked at.
      const [first, second, third, other, last] = await Promise.all([
        send(300_000, "a"),
        send(180_000, "a"),
        send(40_000, "a"),
        send(490_000, "b"),
        send(40_000, "c")
      ])
      assert.deepInclude(third, full(1_000_000))
      assert.deepInclude(last, full(2_000_000))
      assert.deepStrictEqual([first, second, other], [{}, {}, {}])
      assert.deepStrictEqual(await send(40_000, "a"), {})
      assert.deepStrictEqual(await send(40_000, "c"), {})
      // The bytes of files count, and a message that is sent alone is taken, however large it is.
      const large = { ...picture, data: randomBytes(1_500_000) }
      const [alone, beside] = await Promise.all([send(1, "a", [large]), send(1, "a")])
      assert.deepStrictEqual(alone, {})
      assert.deepInclude(beside, full(1_000_000))
    } finally {
      await troupe.stop()
    }
  }, 60_000)
})

const draw = tool(
  {
    namespace: "shop",
    name: "draw",
    description: "Draws a chart.",
    side_effects: "read",
    input: Schema.Struct({ bytes: Schema.Int }),
    output: Schema.String
  },
  async ({ bytes }, call) => {
    await call.attach({
      type: "image",
      media_type: "image/png",
      data: image.slice(0, bytes),
      name: "c.png"
    })
    return "drawn"
  }
)

describe("files that a body attaches", () => {
  it("are at most 32, also where it attaches many at once, and none once its call is over", () =>
    inDatabase(async (store) => {
      const refused: Array<unknown> = []
      const late = Promise.withResolvers<unknown>()
      const over = Promise.withResolvers<void>()
      const many = tool(
        { namespace: "shop", name: "many", description: "Draws charts.", side_effects: "read" },
        async (_, call) => {
          const { attach } = call
          const one = (n: number) =>
            attach({ type: "file", media_type: "text/plain", data: new Uint8Array([n]) })
          const given = await Promise.allSettled(Array.from({ length: 40 }, (_each, n) => one(n)))
          for (const each of given) if (each.status === "rejected") refused.push(each.reason)
          void over.promise.then(() => one(41).then(() => late.resolve("taken"), late.resolve))
          return given.length
        }
      )
      const troupe = await start({
        store,
        agents: [AgentSpec.make({ name: "shop", instructions: "Help.", tools: ["many"] })],
        tools: [many],
        model: layer(({ step }) => (step === 1 ? call("many", {}) : text("done")))
      })
      try {
        const { run } = await troupe.ask({ agent: "shop", text: "Draw them" })
        over.resolve()
        assert.lengthOf(refused, 8)
        assert.include(String(refused[0]), "at most 32 files")
        assert.include(String(await late.promise), "the call is over")
        const files: Array<number | undefined> = []
        for await (const item of troupe.watch(run)) {
          const event = item._tag === "Event" ? item.entry.event : undefined
          if (event?._tag === "CallSettled") files.push(event.files?.length)
        }
        assert.deepStrictEqual(files, [32])
      } finally {
        await troupe.stop()
      }
    }))
})

describe("files of results and answers", () => {
  it("what a tool attaches and what a model makes is journaled, shown to the model and given to the caller", async () => {
    const requests: Array<ModelRequest> = []
    const troupe = await start({
      agents: [AgentSpec.make({ name: "shop", instructions: "Help.", tools: ["draw"] })],
      tools: [draw],
      model: layer((request) => {
        requests.push({ ...request, transcript: [...request.transcript] })
        const file = { type: "image", media_type: "image/png", data: base64 } as const
        if (request.step === 1) return call("draw", { bytes: 10 })
        if (request.step === 2) return call("draw", { bytes: 0 })
        return text("", { generated: [file] })
      }),
      customer_agents: ["shop"]
    })
    try {
      const answer = await troupe.ask({ agent: "shop", text: "Draw it" })
      const small = image.slice(0, 10)
      const file = {
        type: "image",
        digest: createHash("sha256").update(small).digest("hex"),
        media_type: "image/png",
        name: "c.png",
        size: 10
      }
      const [, , first] = requests[1]?.transcript ?? []
      assert.deepInclude(first as object, { role: "tool", files: [file] })
      const encoded = Buffer.from(small).toString("base64")
      assert.strictEqual(requests[1]?.files?.get(file.digest), encoded)
      // A file that is refused is a failure of the call that its model is told of.
      assert.include(JSON.stringify(requests[2]?.transcript.at(-1)), "at least one byte")
      const { name: _, ...made } = kept
      assert.deepInclude(answer, { status: "complete", text: "", files: [made] })
      if (answer.status === "awaiting_approval") return
      const { data, ...told } = await troupe.file(answer.conversation, digest)
      assert.deepStrictEqual(data, image)
      assert.deepStrictEqual(told as unknown, made)
      const drawn = await troupe.file(answer.conversation, file.digest)
      assert.deepStrictEqual(drawn.data, small)
      const carls = await troupe.ask({ agent: "shop", text: "Draw mine" }, carl)
      if (carls.status === "awaiting_approval") return
      assert.deepStrictEqual((await troupe.file(carls.conversation, digest, carl)).data, image)
      for (const [conversation, of, by, tag] of [
        [carls.conversation, file.digest, carl, "FileNotFound"],
        [answer.conversation, digest, carl, "ConversationNotFound"],
        [answer.conversation, digest, stranger, "ConversationNotFound"],
        [answer.conversation, "0".repeat(64), service_principal, "FileNotFound"],
        [answer.conversation, "nonsense", service_principal, "InvalidInput"]
      ] as const) {
        assert.strictEqual((await tagOf(troupe.file(conversation, of, by)))._tag, tag)
      }
      const messages = await troupe.messages(answer.conversation)
      assert.deepInclude(messages.at(-1) as object, { role: "assistant", files: [made] })
      const rows = JSON.stringify(await troupe.runEvents(answer.run))
      assert.include(rows, file.digest)
      assert.isBelow(rows.length, 20_000)
    } finally {
      await troupe.stop()
    }
  })
})
