/**
 * Two services on one PostgreSQL that both believe they own the same runs: the first is frozen for longer than its lease,
 * the second takes its runs over, and the first wakes up in the middle of what both do.
 */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as Judge from "./Judge.ts"
import * as Service from "./Service.ts"

/** The tag of each run with how often its effect may have been asked for. */
const runs = [
  ["thinking", "once", 1],
  ["writing", "once", 1],
  ["keyed", "keyed", 2],
  ["parked", "gated", 1]
] as const

export const takeover = Effect.fnUntraced(function* (options: Service.Options, judge: Judge.Judge) {
  const ids = new Map<string, string>()
  const id = (tag: string) => ids.get(tag)!
  const zombie = yield* Service.start({
    ...options,
    park_ms: 20,
    holds: [{ point: "model", tag: "thinking" }]
  })
  for (const tag of ["writing", "keyed"]) yield* judge.hold(tag)
  for (const [tag, tool] of runs) ids.set(tag, yield* zombie.send(tag, [tool], ["read"]))
  const { id: approval } = yield* Service.question(zombie, id("parked"))
  yield* Service.until(zombie.actors, (all) => all.some((actor) => actor.state === "parked"))
  yield* zombie.reached("model", "thinking")
  yield* judge.received("writing")
  yield* judge.received("keyed")
  yield* zombie.child.signal("SIGSTOP")

  const heir = yield* Service.start({ ...options, holds: [{ point: "settle", tag: "thinking" }] })
  yield* heir.decide(approval)
  const call = yield* Service.unknown(heir, id("writing"))
  yield* heir.settle(id("writing"), call, { _tag: "Succeeded", json: "true" })
  const finished: Array<Service.Journal> = []
  for (const [tag] of runs.slice(1)) finished.push(yield* Service.ended(heir, id(tag)))
  // The first run is in the middle of its call when the zombie's turn ends.
  yield* heir.reached("settle", "thinking")

  yield* zombie.child.signal("SIGCONT")
  yield* judge.release
  yield* zombie.release("model", "thinking")
  if (options.unfenced === true) {
    // Nobody refuses it: it goes on, and does what the heir has done.
    yield* Service.until(
      Effect.sync(() => Judge.of(judge, id("thinking")).length),
      (effects) => effects > 1
    )
  } else {
    yield* zombie.fenced(id("thinking"))
    // The settlement woke it: it may have seen the other owner's claim before it had anything to append.
    for (const [tag] of runs.slice(0, 3)) {
      yield* zombie.child.printed(new RegExp(`another process took this actor's run.*${tag}`))
    }
  }
  yield* heir.release("settle", "thinking")
  yield* Service.ended(heir, id("thinking"))
  // It lost its runs and nothing else.
  const later = yield* zombie.send("later", ["once"], ["read"])
  Judge.assertComplete(yield* Service.ended(zombie, later), "later")

  const after = yield* heir.journals(runs.map(([tag]) => id(tag)))
  for (const [index, [tag, , effects_max]] of runs.entries()) {
    Judge.assertComplete(after[index]!, tag)
    if (index > 0) assert.deepStrictEqual(after[index], finished[index - 1])
    const effects = Judge.of(judge, id(tag))
    assert.strictEqual(effects.length, effects_max)
    assert.strictEqual(new Set(effects.map(({ key }) => key)).size, 1)
  }
})
