/**
 * The counter as its parent sees it: the only judge of what happened outside.
 */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Scope } from "effect"
import * as Children from "./Child.ts"
import * as Homes from "./Homes.ts"
import type { Seen } from "./Plan.ts"
import type { Journal } from "./Service.ts"

export interface Judge {
  readonly url: string
  /** Every effect so far, in order, also those that were never answered. */
  readonly seen: () => ReadonlyArray<Seen>
  /** The next effect of this tag is written down and not answered. */
  readonly hold: (tag: string) => Effect.Effect<void>
  /** Answers what is held, to whoever is still there. */
  readonly release: Effect.Effect<void>
  /** Waits for an effect of this tag. */
  readonly received: (tag: string) => Effect.Effect<void>
}

/** Each answer takes up to `answer_ms`. */
export const slow = Effect.fnUntraced(function* (
  answer_ms: number
): Effect.fn.Return<Judge, never, Scope.Scope> {
  const log = join(yield* Homes.temporary, "effects.log")
  const child = yield* Children.start("test/process/counter.ts", [log, String(answer_ms)])
  const ready = yield* child.heard((it) => it.notice === "ready")
  return {
    url: ready.notice === "ready" ? (ready.url ?? "") : "",
    seen: () =>
      existsSync(log)
        ? readFileSync(log, "utf8")
            .split("\n")
            .slice(0, -1)
            .map((line) => JSON.parse(line) as Seen)
        : [],
    hold: (tag) => child.tell({ hold: tag }),
    release: child.tell({ release: true }),
    received: (tag) =>
      Effect.asVoid(child.heard((it) => it.notice === "received" && it.tag === tag))
  }
})

export const start: Effect.Effect<Judge, never, Scope.Scope> = slow(0)

/** Effects of a run. */
export const of = (judge: Judge, run: string): ReadonlyArray<Seen> =>
  judge.seen().filter((each) => each.run === run)

/** No gap, one claim an epoch, and at most one terminal event, which is the last. */
export const assertSound = (entries: Journal): void => {
  assert.isTrue(
    entries.every(({ seq }, index) => seq === index),
    "the journal has a gap or a duplicate"
  )
  const epochs = entries.flatMap(({ event }) => (event._tag === "RunClaimed" ? [event.epoch] : []))
  assert.deepStrictEqual(
    epochs,
    epochs.map((_, index) => index + 1)
  )
  const ends = entries.flatMap(({ event, seq }) => (event._tag === "RunEnded" ? [seq] : []))
  assert.isTrue(ends.length === 0 || (ends.length === 1 && ends[0] === entries.length - 1))
  const settled = entries.flatMap(({ event }) => (event._tag === "CallSettled" ? [event.call] : []))
  assert.strictEqual(new Set(settled).size, settled.length, "a call has two results")
}

/** It ended well, and its text says what the plan was. */
export const assertComplete = (entries: Journal, tag: string): void => {
  assertSound(entries)
  const last = entries.at(-1)!.event
  assert.deepInclude(last, { _tag: "RunEnded", status: "complete", text: `did ${tag}` })
}
