/**
 * Answers beyond their bounds, over real HTTP: they are refused before a provider's client parses them, and not requested
 * again.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { vi } from "vitest"
import { serve, status } from "./ChatServer.ts"
import type { Answer } from "./ChatServer.ts"
import { askAt, body, pieces } from "./Wires.ts"
import type { Asking } from "./Wires.ts"
import { compatible, wires } from "./WireTurns.ts"
import type { Wire } from "./WireTurns.ts"

const plain: Asking = { env: { TROUPE_MODEL_STREAM: "off" }, policy: { attempts_max: 3 } }
const streamed: Asking = { policy: { attempts_max: 3 } }

const refusedAt = (wire: Wire, answer: Answer, asking: Asking) =>
  Effect.gen(function* () {
    const server = yield* serve([answer])
    const failure = yield* Effect.flip(askAt(wire, server, asking))
    assert.strictEqual(failure.kind, "refused", `${wire.provider}: ${failure.message}`)
    assert.lengthOf(server.asked, 1)
    return failure.message
  }).pipe(Effect.scoped)

const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth)

/** An event, or a whole answer, with one more member. */
const withMember = (text: string, value: string): string => text.replace("{", `{"more":${value},`)

describe("an answer of a provider", () => {
  it.live("that nests too deep is refused on every wire, streamed and whole", () =>
    Effect.gen(function* () {
      for (const wire of wires) {
        const stream = withMember(body(wire), nested(5_000))
        const said = [
          yield* refusedAt(wire, pieces(stream, [stream.length]), streamed),
          yield* refusedAt(wire, pieces(stream, [1_000]), streamed),
          // A whole answer, to a request for one and to a request for a stream.
          yield* refusedAt(
            wire,
            status(200, withMember(JSON.stringify(wire.whole), nested(5_000))),
            plain
          ),
          yield* refusedAt(
            wire,
            status(200, withMember(JSON.stringify(wire.whole), nested(5_000))),
            streamed
          )
        ]
        for (const message of said) assert.include(message, "it nests deeper than 192")
      }
    })
  )

  it.live("that nests too deep only where the lines of an event are joined is refused", () =>
    Effect.gen(function* () {
      for (const end of ["\n", "\r\n", "\r"]) {
        const lines = Array.from({ length: 40 }, () => `data: ${"[".repeat(100)}`)
        const text = `${lines.join(end)}${end}${end}`
        assert.include(
          yield* refusedAt(compatible, pieces(text, [1_001]), streamed),
          "it nests deeper than 192"
        )
      }
    })
  )

  it.live(
    "with a number beyond a double's range is refused, and with a repeated member is read",
    () =>
      Effect.gen(function* () {
        const text = body(compatible)
        assert.include(
          yield* refusedAt(compatible, pieces(withMember(text, "1e999"), [text.length]), streamed),
          "is larger than a number can be"
        )
        const server = yield* serve([pieces(withMember(withMember(text, "1"), "2"), [text.length])])
        const { turn } = yield* askAt(compatible, server, streamed)
        assert.strictEqual(turn.text, compatible.turn.text)
      }).pipe(Effect.scoped)
  )

  it.live("that is larger than 32,000,000 bytes is refused, and not requested again", () =>
    Effect.gen(function* () {
      const text = `data: {"more":"${"x".repeat(33_000_000)}"}\n\n`
      assert.include(
        yield* refusedAt(compatible, pieces(text, [1_000_000]), streamed),
        "it is too large"
      )
    })
  )

  it.live("has each character scanned a few times, in however many pieces a line arrives", () =>
    Effect.gen(function* () {
      const said = "x".repeat(4_000_000)
      const chunk = { id: "1", choices: [{ index: 0, delta: { content: said } }] }
      const end = { id: "1", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }
      const text = body(compatible, [chunk, end])
      let units = 0
      const { split } = String.prototype
      yield* Effect.acquireRelease(
        Effect.sync(() =>
          vi.spyOn(String.prototype, "split").mockImplementation(function (this: string, ...by) {
            units += this.length
            return split.apply(this, by as never) as never
          })
        ),
        (spy) => Effect.sync(() => spy.mockRestore())
      )
      const server = yield* serve([pieces(text, [4_096])])
      const { turn } = yield* askAt(compatible, server, streamed)
      assert.strictEqual(turn.text.length, said.length)
      assert.isAtLeast(units, text.length)
      assert.isBelow(units, text.length * 10)
    }).pipe(Effect.scoped)
  )
})
