/**
 * Numbers in the arguments of calls come from every wire as they are, or are refused; and no request has half of a surrogate
 * pair. Over real HTTP, through the providers' own clients.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { isKept, numbers } from "../entry/NumberCorpus.ts"
import { either } from "../Long.ts"
import { serve, status } from "./ChatServer.ts"
import { askAt, body, pieces } from "./Wires.ts"
import { wires } from "./WireTurns.ts"

/** The text of an answer with another number in the first call's arguments, whether they are text or an object. */
const withNumber = (text: string, number: string): string => {
  const changed = text.replaceAll(/(\\?"limit\\?": ?)5\b/g, `$1[7,${number}]`)
  assert.notStrictEqual(changed, text)
  return changed
}

const odd = numbers.filter((number) => !isKept(number) && number.length < 100)
const some = [
  ...odd.filter((_, n) => n % Math.ceil(odd.length / either(4, 60)) === 0),
  "-1.50",
  "1E2",
  "0.30000000000000004",
  "-9007199254740993"
]

describe.each(wires.map((wire) => [wire.label ?? wire.provider, wire] as const))(
  "the wire of %s",
  (_, wire) => {
    it.live("gives arguments with their numbers, or as text that is refused", () =>
      Effect.gen(function* () {
        for (const number of some) {
          const text = withNumber(body(wire), number)
          const whole = withNumber(JSON.stringify(wire.whole), number)
          const answers = [pieces(text, [text.length]), pieces(text, [7]), status(200, whole)]
          for (const [index, answer] of answers.entries()) {
            const server = yield* serve([answer])
            const env = index === 2 ? { TROUPE_MODEL_STREAM: "off" } : {}
            const { turn } = yield* askAt(wire, server, { env })
            const [call] = turn.calls
            const title = `${number} ${index}`
            if (isKept(number)) {
              const limit = [7, Number(number)]
              assert.deepInclude(call?.arguments as object, { limit }, title)
            } else {
              assert.isNull(call?.arguments, title)
              assert.include(call?.malformed?.replace(/\s/g, ""), `"limit":[7,${number}]`, title)
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
