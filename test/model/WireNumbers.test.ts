/**
 * Numbers in the arguments of calls come from every wire as they are, or are refused; and no request has half of a surrogate
 * pair. Over real HTTP, through the providers' own clients.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { isKept, numbers } from "../entry/NumberCorpus.ts"
import { isFull } from "../Long.ts"
import { serve, status } from "./ChatServer.ts"
import { askAt, body, pieces } from "./Wires.ts"
import { wires } from "./WireTurns.ts"

/** The text of an answer with these numbers in the first call's arguments, whether they are text or an object. */
const withNumbers = (text: string, list: string): string => {
  const changed = text.replaceAll(/(\\?"limit\\?": ?)5\b/g, `$1[7,${list}]`)
  assert.notStrictEqual(changed, text)
  return changed
}

const inLists = (all: ReadonlyArray<string>, size: number) =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, n) =>
    all.slice(n * size, (n + 1) * size).join(",")
  )

const kept = numbers.filter(isKept)
const odd = numbers.filter((number) => !isKept(number))
const short = ["-1.50", "1E2", "0.30000000000000004", "-9007199254740993", "1e400"]
const few = [...short, ...[0, 300, 600].map((n) => odd[n]!)]
/** Lists of numbers that are all kept, or of which none is. */
const lists = isFull ? [...few, ...inLists(kept, 300), ...inLists(odd, 40)] : few

describe.each(wires.map((wire) => [wire.label ?? wire.provider, wire] as const))(
  "the wire of %s",
  (_, wire) => {
    it.live("gives arguments with their numbers, or as text that is refused", () =>
      Effect.gen(function* () {
        for (const list of lists) {
          const text = withNumbers(body(wire), list)
          const whole = withNumbers(JSON.stringify(wire.whole), list)
          const answers = [pieces(text, [text.length]), pieces(text, [7]), status(200, whole)]
          for (const [index, answer] of answers.entries()) {
            const server = yield* serve([answer])
            const env = index === 2 ? { TROUPE_MODEL_STREAM: "off" } : {}
            const { turn } = yield* askAt(wire, server, { env })
            const [call] = turn.calls
            const title = `${list.slice(0, 40)} ${index}`
            if (isKept(list.split(",")[0]!)) {
              const { limit } = call!.arguments as { readonly limit: unknown }
              assert.strictEqual(
                JSON.stringify(limit),
                JSON.stringify(JSON.parse(`[7,${list}]`)),
                title
              )
            } else {
              assert.isNull(call?.arguments, title)
              assert.include(call?.malformed?.replace(/\s/g, ""), `"limit":[7,${list}]`, title)
            }
          }
        }
      }).pipe(Effect.scoped)
    )

    it.live("gets no half of a surrogate pair, whatever is said", () =>
      Effect.gen(function* () {
        const server = yield* serve([pieces(body(wire), [10_000])])
        const half = "in \ud83d the \udc4d middle \\ud83d 👍"
        yield* askAt(wire, server, {
          over: {
            system: half,
            transcript: [
              { role: "user", text: half },
              { role: "assistant", text: half, calls: [] },
              { role: "user", text: "go on" }
            ]
          }
        })
        const sent = JSON.stringify(server.asked)
        assert.notMatch(sent.replaceAll("\\\\", ""), /\\ud[89a-f]/)
        assert.include(sent, "in \ufffd the \ufffd middle")
        assert.include(sent, "👍")
      }).pipe(Effect.scoped)
    )
  }
)
