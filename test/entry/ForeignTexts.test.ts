/** Ids, keys and addresses from outside: what has a control character, or leads to more than one mailbox, is refused at each entry. */
import { assert, describe, it } from "vitest"
import { start } from "../../layers/compose/entries/Embed.ts"
import { layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { Principal } from "../../src/principal/Principal.ts"

const olga = new Principal({ id: "olga", tenant: "default", roles: ["admin"] })
const token = "t".repeat(32)

const controls = [
  "a\nb",
  "a\rb",
  "a\0b",
  "\u001b[2Ja",
  "a\u007f",
  "a\u0085b",
  "a\u2028b",
  "a\ud800"
]
const mailboxes = ["jane@example.com", "j.o+x@mail.example", "ö@example.com"]
const none = [
  "jane",
  "@example.com",
  "jane@",
  "jane@example..com",
  "jane@-example.com",
  "a@example.com,b@example.com",
  "a@example.com;b@example.com",
  "a@example.com b@example.com",
  "Jane <jane@example.com>",
  '"a b"@example.com',
  "a@example.com\r\nBcc: b@example.com",
  "a@example.com%0aBcc:b@example.com",
  "a@b@example.com",
  "-oQ@example.com",
  `${"a".repeat(65)}@example.com`,
  `a@${"b".repeat(64)}.com`
]

const tagOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "done",
    (error: { readonly _tag?: string }) => error._tag
  )

describe("what comes from outside", () => {
  it("has no control character in any id or key", async () => {
    for (const id of controls) {
      assert.throws(() => new Principal({ id, tenant: "default", roles: [] }))
      assert.throws(() => new Principal({ id: "x", tenant: id, roles: [] }))
    }
    const troupe = await start({
      agents: [AgentSpec.make({ name: "desk", instructions: "Help." })],
      model: scripted(() => text("hello")),
      http: { port: 0, tokens: [{ token, principal: olga }] }
    })
    const post = async (path: string, body: object, headers = {}) =>
      (
        await fetch(`${troupe.url}/v1${path}`, {
          method: "POST",
          headers: {
            authorization: `Bearer ${token}`,
            "content-type": "application/json",
            ...headers
          },
          body: JSON.stringify(body)
        })
      ).status
    try {
      const message = { agent: "desk", text: "x" }
      const event = {
        specversion: "1.0",
        source: "/x",
        type: "x",
        time: "2026-01-01T00:00:00Z",
        data: {}
      } as const
      const { conversation } = await troupe.send(message, olga)
      for (const id of controls) {
        const what = JSON.stringify(id)
        const attempts: ReadonlyArray<Promise<unknown>> = [
          troupe.send(message, { ...olga, id }),
          troupe.send({ ...message, idempotency_key: id }, olga),
          troupe.send({ ...message, conversation: id }, olga),
          troupe.send({ ...message, channel_origin: id } as never, olga),
          troupe.runs({}, { ...olga, tenant: id } as never),
          troupe.settle("00000000-0000-4000-8000-000000000000", id, { _tag: "RunAgain" }, olga),
          troupe.publish({ ...event, id }, olga),
          troupe.publish({ ...event, id: "e", subject: id }, olga),
          troupe.createToken({ name: "n", roles: ["viewer"], principal: id }, olga),
          troupe.bind(conversation, { channel: "in_app", address: id, recipient: "olga" }, olga)
        ]
        for (const [index, attempt] of attempts.entries()) {
          assert.strictEqual(await tagOf(attempt), "InvalidInput", `${index} ${what}`)
        }
        assert.strictEqual(
          await post("/tokens", { name: "n", roles: ["viewer"], principal: id }),
          400,
          what
        )
        const bound = { channel: "in_app", address: id, recipient: id }
        assert.strictEqual(await post(`/conversations/${conversation}/bindings`, bound), 400, what)
      }
    } finally {
      await troupe.stop()
    }
  })

  it("names one mailbox where it binds a conversation to e-mail", async () => {
    const troupe = await start({
      agents: [AgentSpec.make({ name: "desk", instructions: "Help." })],
      model: scripted(() => text("hello")),
      http: { port: 0, tokens: [{ token, principal: olga }] }
    })
    try {
      const { conversation } = await troupe.send({ agent: "desk", text: "x" }, olga)
      const bind = async (address: string) => {
        const to = { channel: "email", address, recipient: "olga" }
        const response = await fetch(`${troupe.url}/v1/conversations/${conversation}/bindings`, {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: JSON.stringify(to)
        })
        return [await tagOf(troupe.bind(conversation, to, olga)), response.status]
      }
      for (const address of none) {
        assert.deepStrictEqual(await bind(address), ["InvalidInput", 400], address)
      }
      assert.deepStrictEqual(await troupe.bindings(conversation, olga), [])
      for (const address of mailboxes) {
        assert.strictEqual((await bind(address))[0], "done", address)
      }
      assert.lengthOf(await troupe.bindings(conversation, olga), mailboxes.length)
    } finally {
      await troupe.stop()
    }
  })
})
