/** Sessions of the console by the digest of their id: found until they end, and links that one caller gets. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { randomBytes } from "node:crypto"
import { ConsoleSessions } from "../../services/ConsoleSessions.ts"
import * as Samples from "./Samples.ts"

const digest = () => randomBytes(32).toString("hex")

export const consoleSessionsTests = (it: Vitest.MethodsNonLive<ConsoleSessions>): void => {
  it.effect("a session is found until it ends, by itself or by a sign-out", () =>
    Effect.gen(function* () {
      const sessions = yield* ConsoleSessions
      const session = {
        tenant: Samples.tenant(),
        token_sha256: digest(),
        ends_at: (yield* Clock.currentTimeMillis) + 1_000
      }
      const [a, b] = [digest(), digest()]
      yield* sessions.add(a, session, "session")
      yield* sessions.add(b, session, "session")
      assert.deepInclude(yield* sessions.find(a, "session"), session)
      assert.isUndefined(yield* sessions.find(digest(), "session"))
      yield* sessions.end(a)
      assert.isUndefined(yield* sessions.find(a, "session"))
      yield* TestClock.adjust(999)
      assert.deepInclude(yield* sessions.find(b, "session"), session)
      yield* TestClock.adjust(1)
      assert.isUndefined(yield* sessions.find(b, "session"))
    })
  )

  it.effect("a link is no session, and is used once, by one of all who come at once", () =>
    Effect.gen(function* () {
      const sessions = yield* ConsoleSessions
      const link = {
        tenant: Samples.tenant(),
        token_sha256: digest(),
        ends_at: (yield* Clock.currentTimeMillis) + 1_000
      }
      const [a, b, c] = [digest(), digest(), digest()]
      yield* sessions.add(a, link, "link")
      yield* sessions.add(b, link, "link")
      yield* sessions.add(c, link, "session")
      assert.isUndefined(yield* sessions.find(a, "session"))
      assert.isUndefined(yield* sessions.find(c, "link"))
      assert.deepInclude(yield* sessions.find(a, "link"), link)
      assert.isUndefined(yield* sessions.use(c))
      yield* sessions.end(a)
      const used = yield* Effect.all(
        Array.from({ length: 8 }, () => sessions.use(a)),
        { concurrency: 8 }
      )
      assert.lengthOf(
        used.filter((each) => each !== undefined),
        1
      )
      assert.isUndefined(yield* sessions.use(a))
      assert.isUndefined(yield* sessions.find(a, "link"))
      yield* TestClock.adjust(1_000)
      assert.isUndefined(yield* sessions.find(b, "link"))
      assert.isUndefined(yield* sessions.use(b))
    })
  )
  it.effect("a session has whom a provider signed in, and a token's has nobody", () =>
    Effect.gen(function* () {
      const sessions = yield* ConsoleSessions
      const session = {
        tenant: Samples.tenant(),
        token_sha256: digest(),
        ends_at: (yield* Clock.currentTimeMillis) + 1_000
      }
      const provided = {
        issuer: "https://login.example",
        id: "olga \u{1f600} 'x'",
        roles: ["viewer", "auditor"]
      }
      const [a, b] = [digest(), digest()]
      yield* sessions.add(a, { ...session, provided }, "session")
      yield* sessions.add(b, session, "session")
      assert.deepInclude(yield* sessions.find(a, "session"), { ...session, provided })
      assert.isUndefined((yield* sessions.find(b, "session"))?.provided)
    })
  )
  it.effect("the sessions of one token leave those of others", () =>
    Effect.gen(function* () {
      const sessions = yield* ConsoleSessions
      const session = {
        tenant: Samples.tenant(),
        token_sha256: digest(),
        ends_at: (yield* Clock.currentTimeMillis) + 1_000
      }
      const [other, first, last] = [digest(), digest(), digest()]
      yield* sessions.add(other, { ...session, token_sha256: digest() }, "session")
      yield* sessions.add(first, session, "session")
      for (let more = 1; more < 100; more++) {
        yield* sessions.add(digest(), { ...session, ends_at: session.ends_at + more }, "session")
      }
      assert.isDefined(yield* sessions.find(first, "session"))
      yield* sessions.add(last, { ...session, ends_at: session.ends_at + 100 }, "session")
      assert.isUndefined(yield* sessions.find(first, "session"))
      for (const kept of [other, last]) assert.isDefined(yield* sessions.find(kept, "session"))
    })
  )
}
