/** The fetch for hosts of an operator's configuration: what it does with an answer that leads elsewhere. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { judgedFetch } from "../../layers/network/JudgedFetch.ts"
import { web } from "../calls/Web.ts"

describe("the fetch that judges its connection", () => {
  it.live("follows no redirect: it fails there, or returns it where `manual` is asked for", () =>
    Effect.gen(function* () {
      const { port, seen } = yield* web((_, response) => {
        response.writeHead(302, { location: "/elsewhere" }).end()
      })
      const fetch = judgedFetch({ allow: [], named: true })
      const url = `http://127.0.0.1:${port}/`
      yield* Effect.flip(Effect.tryPromise(() => fetch(url)))
      yield* Effect.flip(Effect.tryPromise(() => fetch(url, { redirect: "follow" })))
      const { status } = yield* Effect.promise(() => fetch(url, { redirect: "manual" }))
      assert.strictEqual(status, 302)
      assert.deepStrictEqual(
        seen.map((request) => request.url),
        ["/", "/", "/"]
      )
    }).pipe(Effect.scoped)
  )
})
