/** `stream({ run, after })`: a run that goes on or has ended, from where a reader left it, with nothing left out or given twice. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import type { NodeService, RunPart } from "../../layers/compose/entries/Embed.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, text, usage_default } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { ModelGateway } from "../../services/ModelGateway.ts"
import { AgentSpec, Principal, Tenant, tool } from "../../src/index.ts"

const look = tool({ namespace: "shop", name: "look", side_effects: "read" }, () => 1)
const shop = AgentSpec.make({ name: "shop", instructions: "Sell.", tools: ["look"] })
const customer = (id: string, tenant = "default") =>
  new Principal({ id, tenant: Tenant.make(tenant), roles: ["customer"] })
const carl = customer("carl")
const boss = new Principal({ id: "boss", tenant: carl.tenant, roles: ["operator"] })
const message = { agent: "shop", text: "Where is it?" }
type Turns = ModelGateway["Service"]["turn"]

const withTurns = async (turn: Turns, use: (troupe: NodeService) => Promise<void>) => {
  const troupe = await start({
    agents: [shop],
    tools: [look],
    model: Layer.succeed(ModelGateway, { turn }),
    customer_agents: ["shop"],
    telemetry: false
  })
  try {
    await use(troupe)
  } finally {
    await troupe.stop()
  }
}

type Wanted = Parameters<NodeService["stream"]>[0]

/** The parts until one for which `isLast` holds; the loop is left behind it. */
const partsUntil = async (
  troupe: NodeService,
  wanted: Wanted,
  isLast: (part: RunPart) => boolean = () => false,
  by: Principal = carl
) => {
  const parts: Array<RunPart> = []
  for await (const part of troupe.stream(wanted, by)) {
    parts.push(part)
    if (isLast(part)) break
  }
  return parts
}

const cursorOf = (part: RunPart | undefined): string => {
  if (part === undefined || part.type === "end") throw new Error("a part without a cursor")
  return part.cursor
}

const runOf = (parts: ReadonlyArray<RunPart>): string => {
  const [first] = parts
  if (first?.type !== "begun") throw new Error("a stream begins with begun")
  return first.run
}

/** What a reader has of each turn, by its step. */
const read = (parts: ReadonlyArray<RunPart>): ReadonlyArray<string> => {
  const turns: Array<string> = []
  for (const part of parts) {
    if (part.type === "restart") turns[part.step] = ""
    else if (part.type === "text") turns[part.step] = (turns[part.step] ?? "") + part.text
  }
  return turns
}

const seqs = (parts: ReadonlyArray<RunPart>) =>
  parts.flatMap((part) => (part.type === "event" ? [part.seq] : []))

const withoutBegun = (parts: ReadonlyArray<RunPart>) => parts.filter(({ type }) => type !== "begun")

/** Two turns that stream in pieces: a call between them. */
const twoTurns: Turns = ({ step }, sink) =>
  Effect.gen(function* () {
    const said = step === 1 ? ["I ", "loo", "k. "] : ["It ", "is ", "here."]
    let offset = 0
    for (const piece of said) {
      sink({ kind: "text", text: piece, offset })
      offset += piece.length
      yield* Effect.sleep(2)
    }
    return step === 1 ? { ...call("look"), text: said.join("") } : text(said.join(""))
  })

/** Says `first`, and after `go` the rest, which begins anew where it does not begin with `first`. */
const inTwo = (first: string, whole: string) => {
  const { promise, resolve: go } = Promise.withResolvers<void>()
  const turn: Turns = (_, sink) =>
    Effect.gen(function* () {
      sink({ kind: "text", text: first, offset: 0 })
      yield* Effect.promise(() => promise)
      const offset = whole.startsWith(first) ? first.length : 0
      sink({ kind: "text", text: whole.slice(offset), offset })
      return { ...text(whole), usage: usage_default }
    })
  return { turn, go }
}

const isText = ({ type }: RunPart): boolean => type === "text"

const refusal = async (troupe: NodeService, wanted: unknown, by: Principal = carl) =>
  partsUntil(troupe, wanted as Wanted, undefined, by).then(
    () => undefined,
    (error: { readonly _tag: string; readonly field?: string }) => [error._tag, error.field]
  )

describe("a run that is streamed again", () => {
  it("goes on behind each of its cursors, in every place of its text, and ends alike", () =>
    withTurns(twoTurns, async (troupe) => {
      const parts = await partsUntil(troupe, message)
      const run = runOf(parts)
      assert.deepStrictEqual(read(parts).slice(1), ["I look. ", "It is here."])
      for (const [at, part] of parts.slice(0, -1).entries()) {
        const rest = await partsUntil(troupe, { run, after: cursorOf(part) })
        const both = [...parts.slice(0, at + 1), ...withoutBegun(rest)]
        assert.deepStrictEqual(read(both), read(parts), part.type)
        assert.deepStrictEqual(seqs(both), seqs(parts), part.type)
        assert.notInclude(
          rest.map(({ type }) => type),
          "restart"
        )
        assert.deepStrictEqual(rest.at(-1), parts.at(-1))
      }
      const whole = await partsUntil(troupe, { run })
      assert.deepStrictEqual([read(whole), seqs(whole)], [read(parts), seqs(parts)])
    }))

  it("goes on within the turn in progress, for each of two readers", async () => {
    const { go, turn } = inTwo("It is ", "It is here.")
    await withTurns(turn, async (troupe) => {
      const first = await partsUntil(troupe, message, isText)
      const after = cursorOf(first.at(-1))
      const again = { run: runOf(first), after }
      const seen = partsUntil(troupe, again, (part) => isText(part) && go() === undefined)
      const twice = partsUntil(troupe, again)
      go()
      assert.deepStrictEqual(read(await seen)[1], "here.")
      assert.deepStrictEqual(read([...first, ...withoutBegun(await twice)])[1], "It is here.")
    })
  })

  it("gives a turn whole behind a restart, where it was begun anew meanwhile", async () => {
    const { go, turn } = inTwo("It is ", "No, it is gone.")
    await withTurns(turn, async (troupe) => {
      const first = await partsUntil(troupe, message, isText)
      go()
      const run = runOf(first)
      await troupe.result(run, carl)
      const rest = await partsUntil(troupe, { run, after: cursorOf(first.at(-1)) })
      const [, restart] = rest
      assert.deepInclude(restart, { type: "restart", step: 1 })
      assert.deepStrictEqual(read([...first, ...withoutBegun(rest)])[1], "No, it is gone.")
    })
  })

  it("gives the value of its answer, and what was written of it, from within a turn too", async () => {
    const answer = Schema.Struct({ order: Schema.String, paid: Schema.Boolean })
    const { go, turn } = inTwo('{"order":"10', '{"order":"1003","paid":true}')
    await withTurns(turn, async (troupe) => {
      const first = await partsUntil(troupe, { ...message, answer }, isText, boss)
      go()
      const again = { run: runOf(first), after: cursorOf(first.at(-1)), answer }
      const values: Array<unknown> = []
      for await (const part of troupe.stream(again, boss)) {
        if (part.type === "value") values.push(part.value)
        if (part.type === "end") values.push(part.answer.value)
      }
      const value = { order: "1003", paid: true }
      assert.deepStrictEqual(values, [value, value])
    })
  })

  it("is not found by others, and a cursor of another run, or ahead, is refused", () =>
    withTurns(twoTurns, async (troupe) => {
      const parts = await partsUntil(troupe, message)
      const other = runOf(await partsUntil(troupe, message))
      const run = runOf(parts)
      const last = cursorOf(parts.at(-2))
      const events = Number(last.split(".")[1])
      const nowhere = crypto.randomUUID()
      for (const by of [customer("dora"), customer("carl", "elsewhere")]) {
        // As one that is nowhere, also where the owner would be told of a cursor that is ahead.
        for (const wanted of [
          { run },
          { run, after: last },
          { run, after: `${run}.${events + 1}` },
          { run: nowhere },
          { run: nowhere, after: `${nowhere}.9` }
        ]) {
          assert.deepStrictEqual(
            await refusal(troupe, wanted, by),
            ["RunNotFound", undefined],
            JSON.stringify(wanted)
          )
        }
      }
      const viewer = new Principal({ id: "vera", tenant: carl.tenant, roles: ["viewer"] })
      assert.isUndefined(await refusal(troupe, { run, after: last }, viewer))
      const after = ["InvalidInput", "message.after"]
      for (const cursor of [
        `${other}.0`,
        `${run}.${events + 1}`,
        `${run}.999999999`,
        `${run}.1e3`,
        `${run}.-1`,
        `${run}.01`,
        `${run}.2.1.3`,
        `${last}${"0".repeat(10_000)}`,
        run,
        "",
        3,
        null
      ]) {
        assert.deepStrictEqual(await refusal(troupe, { run, after: cursor }), after, String(cursor))
      }
      assert.deepStrictEqual(await refusal(troupe, { run: "nobody" }), [
        "InvalidInput",
        "message.run"
      ])
      assert.deepStrictEqual(await refusal(troupe, { ...message, run }), [
        "InvalidInput",
        "message.agent"
      ])
      assert.lengthOf(await troupe.runs(), 2)
    }))
})
