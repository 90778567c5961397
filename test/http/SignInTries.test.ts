/** How often a sign-in may be tried, by address. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import { TestClock } from "effect/testing"
import { makeSignInTries } from "../../layers/http/boundary/SignInTries.ts"

const client = 30
const shared = 300

/** Whether each of so many tries was taken. */
const makeTrying = () => {
  const tries = makeSignInTries()
  const from = (peer: string, forwarded?: string) => {
    const headers = forwarded === undefined ? {} : { "x-forwarded-for": forwarded }
    const request = HttpServerRequest.fromWeb(new Request("http://x/", { headers }))
    return request.modify({
      remoteAddress: peer === "" ? Option.none() : Option.some(peer)
    })
  }
  return (count: number, peer: string, forwarded?: string) =>
    Effect.gen(function* () {
      let taken = 0
      for (let n = 0; n < count; n++) {
        const of = Effect.provideService(
          tries,
          HttpServerRequest.HttpServerRequest,
          from(peer, forwarded)
        )
        if ((yield* Effect.result(of))._tag === "Success") taken++
      }
      return taken
    })
}

describe("tries to sign in", () => {
  it.effect("are bounded for each address of the internet, whatever it says of others", () =>
    Effect.gen(function* () {
      const tried = makeTrying()
      assert.strictEqual(yield* tried(client + 5, "93.184.216.34"), client)
      assert.strictEqual(yield* tried(1, "93.184.216.34", "8.8.8.8"), 0)
      assert.strictEqual(yield* tried(1, "93.184.216.35"), 1)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(yield* tried(5, "93.184.216.34"), 1)
    })
  )

  it.effect("are those of a network, where addresses are many", () =>
    Effect.gen(function* () {
      const tried = makeTrying()
      assert.strictEqual(yield* tried(client, "2606:2800:220:1::1"), client)
      assert.strictEqual(yield* tried(1, "2606:2800:220:1:ffff:2:3:4"), 0)
      assert.strictEqual(yield* tried(1, "2606:2800:220:2::1"), 1)
      assert.strictEqual(yield* tried(client, "::ffff:93.184.216.34"), client)
      assert.strictEqual(yield* tried(1, "93.184.216.34"), 0)
    })
  )

  it.effect("are those of a proxy's clients, and of all of them a greater number", () =>
    Effect.gen(function* () {
      const tried = makeTrying()
      assert.strictEqual(yield* tried(client + 1, "10.0.0.1", "1.1.1.1, 93.184.216.34"), client)
      assert.strictEqual(yield* tried(1, "10.0.0.1", "93.184.216.34, 9.9.9.9"), 1)
      assert.strictEqual(yield* tried(1, "10.0.0.2", "93.184.216.34"), 1)
      let all = client + 2
      for (let n = 1; n < 300; n++) all += yield* tried(1, "10.0.0.3", `8.8.${n % 256}.${n >> 8}`)
      assert.isAbove(all, shared)
      assert.strictEqual(yield* tried(2, "10.0.0.3", "9.8.7.6"), 1)
      assert.strictEqual(yield* tried(client + 1, "10.0.0.4", "no address"), client)
      assert.strictEqual(yield* tried(shared + 1, ""), shared)
    })
  )

  it.effect("say when to try again", () =>
    Effect.gen(function* () {
      const request = HttpServerRequest.fromWeb(new Request("http://x/"))
      const tries = makeSignInTries()
      for (let n = 0; n < shared; n++) {
        yield* Effect.provideService(tries, HttpServerRequest.HttpServerRequest, request)
      }
      const problem = yield* Effect.flip(
        Effect.provideService(tries, HttpServerRequest.HttpServerRequest, request)
      )
      assert.deepInclude(problem, { status: 429, title: "Too many tries to sign in" })
      assert.include(problem.detail, "Try again in 1 s.")
    })
  )
})
