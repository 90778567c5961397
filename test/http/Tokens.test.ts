/** Tokens that admins make, over a real socket. */
import { createHash } from "node:crypto"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { AccessTokens } from "../../services/AccessTokens.ts"
import { Credentials } from "../../services/Credentials.ts"
import { TokenId } from "../../src/value/Ids.ts"
import type { Who } from "./Service.ts"
import { ask, layer as service, layerWith, listen } from "./Service.ts"
import { CallerToken } from "../../src/operation/Operation.ts"
import * as Tokens from "../../layers/service/TokenEffects.ts"

const path = "/v1/tokens"
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex")
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

const create = (json: unknown, as: Who = "admin") => ask(path, { as, json })
const revoke = (id: string, as: Who = "admin") => ask(`${path}/${id}`, { as, method: "DELETE" })

layer(service, { excludeTestServices: true })("/v1/tokens", (it) => {
  it.effect("a token is shown once, kept as its digest, and holds until it is revoked", () =>
    Effect.gen(function* () {
      const made = yield* create({ name: "ci", roles: ["operator", "viewer"], principal: "bot" })
      assert.strictEqual(made.status, 201)
      const { token, ...record } = made.json
      assert.match(token, /^troupe_[0-9a-f]{72}$/)
      assert.strictEqual(token.slice(-8), sha256(token.slice(0, -8)).slice(0, 8))
      assert.deepInclude(record, { tenant: "acme", principal: "bot", created_by: "admin" })
      assert.deepStrictEqual(record.roles, ["viewer", "operator"])

      const stored = yield* (yield* AccessTokens).find(sha256(token))
      assert.deepStrictEqual(stored, record)
      assert.strictEqual((yield* ask("/v1/runs", bearer(token))).status, 200)
      const listed = yield* ask(path, { as: "admin" })
      const found = listed.json.items.find(({ id }: { id: string }) => id === record.id)
      assert.isAtLeast(found.last_used_at, record.created_at)
      assert.notInclude(listed.text, token)
      yield* ask("/v1/runs", bearer(token))
      assert.deepStrictEqual(yield* (yield* AccessTokens).find(sha256(token)), found)

      assert.strictEqual((yield* revoke(record.id)).json.revoked_by, "admin")
      const after = yield* ask("/v1/runs", bearer(token))
      const unknown = yield* ask("/v1/runs", bearer(`${token}0`))
      for (const each of [after, unknown]) delete each.json.correlation_id
      assert.strictEqual(after.status, 401)
      assert.deepStrictEqual(after.json, unknown.json)
    })
  )

  it.effect("only admins make, see and revoke tokens, and only those of their tenant", () =>
    Effect.gen(function* () {
      const { json } = yield* create({ name: "theirs", roles: ["viewer"] })
      const others = ["vera", "ada", "olga", "carl", "pia", "nemo", "otto"] as const
      for (const as of others) {
        assert.strictEqual((yield* create({ name: "mine", roles: ["admin"] }, as)).status, 403)
        assert.strictEqual((yield* ask(path, { as })).status, 403)
        assert.strictEqual((yield* revoke(json.id, as)).status, 403)
      }
      assert.strictEqual((yield* revoke(json.id, "stranger")).status, 404)
      assert.deepStrictEqual((yield* ask(path, { as: "stranger" })).json.items, [])
      const claims = { name: "n", roles: ["viewer"], tenant: "acme" }
      assert.strictEqual((yield* create(claims, "stranger")).status, 400)
      assert.strictEqual((yield* ask("/v1/runs", bearer(json.token))).status, 200)
    })
  )

  it.effect("a token makes none that outlives it, and can revoke itself", () =>
    Effect.gen(function* () {
      const own = yield* create({ name: "short", roles: ["admin"], holds_ms: 60_000 })
      const { expires_at, id, token } = own.json
      const json = { name: "long", roles: ["admin"], holds_ms: 86_400_000 }
      const asking = (authorization: string) => ask(path, { json, headers: { authorization } })
      // However the header is written.
      const spaced = yield* asking(`Bearer   ${token}`)
      assert.deepStrictEqual([spaced.status, spaced.json.expires_at], [201, expires_at])
      const child = yield* asking(`bearer ${token}`)
      assert.deepStrictEqual([child.status, child.json.expires_at], [201, expires_at])
      const self = yield* ask(`${path}/${id}`, { ...bearer(token), method: "DELETE" })
      assert.strictEqual(self.status, 200)
      assert.strictEqual((yield* ask(path, bearer(token))).status, 401)
      // Between the check of the request and the making of a token.
      const credentials = yield* Credentials
      const by = yield* credentials.verify(Redacted.make(child.json.token))
      const late = Tokens.create
        .perform(Effect.succeed({ name: "late", roles: ["admin"], holds_ms: 60_000 }), by)
        .pipe(Effect.provideService(CallerToken, Redacted.make(token)))
      assert.strictEqual((yield* Effect.flip(late))._tag, "Unauthorized")
    })
  )

  it.effect("a token that has expired is as one that never was", () =>
    Effect.gen(function* () {
      const { json } = yield* create({ name: "gone", roles: ["viewer"] })
      assert.strictEqual((yield* ask("/v1/runs", bearer(json.token))).status, 200)
      const { token: made, ...record } = json
      const old = `troupe_${"0".repeat(64)}`
      const text = old + sha256(old).slice(0, 8)
      const id = TokenId.make("6f9619ff-8b86-4011-b42d-00c04fc964ff")
      const expired = { ...record, id, created_at: 0, expires_at: record.created_at - 1 }
      yield* (yield* AccessTokens).add(expired, sha256(text))
      assert.strictEqual((yield* ask("/v1/runs", bearer(text))).status, 401)
      assert.notStrictEqual(made, text)
      assert.isUndefined((yield* (yield* AccessTokens).find(sha256(text)))?.last_used_at)
    })
  )

  it.effect("refuses names, roles and times out of bounds", () =>
    Effect.gen(function* () {
      const good = { name: "n", roles: ["viewer"] }
      for (const bad of [
        { ...good, name: "" },
        { ...good, name: "n".repeat(101) },
        { ...good, name: "a\nb" },
        { ...good, roles: [] },
        { ...good, roles: ["root"] },
        { ...good, roles: Array.from({ length: 17 }, () => "viewer") },
        { ...good, principal: "" },
        { ...good, principal: "p".repeat(201) },
        { ...good, holds_ms: 59_999 },
        { ...good, holds_ms: 367 * 86_400_000 },
        { ...good, expires_at: 1 }
      ]) {
        assert.strictEqual((yield* create(bad)).status, 400, JSON.stringify(bad))
      }
      assert.strictEqual((yield* revoke("not-an-id")).status, 400)
    })
  )
})

describe("the event stream of a token", () => {
  it.live("ends soon after the token is revoked, and goes on where another one is", () =>
    Effect.gen(function* () {
      const sent = yield* ask("/v1/messages", {
        as: "olga",
        json: { agent: "spectral", text: "x" }
      })
      const events = `/v1/conversations/${sent.json.conversation_id}/events`
      const [first, second] = [
        yield* create({ name: "first", roles: ["viewer"] }),
        yield* create({ name: "second", roles: ["viewer"] })
      ]
      const revoked = yield* listen(events, bearer(first.json.token))
      const kept = yield* listen(events, bearer(second.json.token))
      const spaced = { authorization: `Bearer  ${second.json.token}` }
      const spread = yield* listen(events, { headers: spaced })
      const listed = yield* listen(events, { as: "vera" })
      yield* revoked.comments(3)
      assert.strictEqual((yield* revoke(first.json.id)).status, 200)
      // It ends as a whole answer, and whoever resumes finds that the token is gone.
      yield* revoked.rest
      assert.strictEqual((yield* ask(events, bearer(first.json.token))).status, 401)
      for (const stream of [kept, spread, listed]) yield* stream.comments(4)
    }).pipe(Effect.scoped, Effect.provide(layerWith({ heartbeat_ms: 20 })))
  )
})
