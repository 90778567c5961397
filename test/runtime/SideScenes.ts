/** Agents that answer messages beside a run that waits for people. */
import { Deferred, Effect } from "effect"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import type { ModelRequest } from "../../services/ModelGateway.ts"
import type { RunId } from "../../src/value/Ids.ts"
import * as H from "./Harness.ts"

export const isSide = ({ system }: ModelRequest): boolean => system.includes("Note of the system")

export const said = ({ transcript: [first] }: ModelRequest): string =>
  first?.role === "user" ? first.text : ""

/** What the model was asked for a message, in its turns. */
export const turnsOf = (words: string) =>
  Effect.map(H.requests, (all) => all.filter((request) => said(request) === words))

export const textsOf = (entries: ModelRequest["history"]) =>
  entries.flatMap((entry) =>
    entry.role === "tool" || entry.text === "" ? [] : [`${entry.role}: ${entry.text}`]
  )

export type Side = (request: ModelRequest) => Turn | Effect.Effect<Turn>

export const answers: Side = (request) => text(`beside: ${said(request)}`)

/** Bodies that ran. */
export const ran: Array<string> = []

export const scriptOf =
  (side: Side): Side =>
  (request) => {
    if (isSide(request)) return side(request)
    return said(request).startsWith("pay") && request.transcript.length === 1
      ? call("pay", { n: 1 })
      : text(`done: ${said(request)}`)
  }

/** `pay` asks a person, `look` reads, `note` writes and asks nobody. */
export const optionsOf = (
  side: Side = answers,
  agent: H.Options["agent"] = {},
  asked: Parameters<typeof H.asks>[1] = {}
): H.Options => ({
  tools: {
    pay: H.asks((n) => Effect.sync(() => (ran.push("pay"), `paid ${n}`)), asked),
    look: H.reads((n) => Effect.succeed(`seen ${n}`)),
    note: H.writes((n) => Effect.sync(() => (ran.push("note"), `noted ${n}`)), {
      precondition: () => Effect.sync(() => void ran.push("precondition"))
    })
  },
  agent: { mailbox: "answer", ...agent },
  script: scriptOf(side)
})

export const layer = (...of: Parameters<typeof optionsOf>) => H.layer(optionsOf(...of))

/** A run that waits for a person, and its question. */
export const waiting = Effect.gen(function* () {
  const run = yield* H.send("pay one")
  const { approval } = yield* H.question(run)
  return { run, approval }
})

/** Blocks side runs until it is completed, and says when the first has begun its turn. */
export const makeGate = () => {
  const [begun, open] = [Deferred.makeUnsafe<void>(), Deferred.makeUnsafe<void>()]
  const side: Side = (request) =>
    Effect.gen(function* () {
      yield* Deferred.succeed(begun, undefined)
      yield* Deferred.await(open)
      return yield* Effect.succeed(answers(request) as Turn)
    })
  return { side, begun: Deferred.await(begun), open: Deferred.succeed(open, undefined) }
}

export const endOf = (run: RunId) => Effect.map(H.ended(run), H.end)
