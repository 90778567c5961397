/** What signals do to a program of `NodeMain`. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Children from "./Child.ts"

const stopping = (stop_ms: number, signal: NodeJS.Signals) =>
  Effect.gen(function* () {
    const child = yield* Children.start("test/process/slowstop.ts", [String(stop_ms)])
    yield* child.printed("ready")
    yield* child.signal(signal)
    yield* child.printed("stopping")
    return child
  })

it.live("a program that is stopping ends at a second signal, with the code of that one", () =>
  Effect.gen(function* () {
    const child = yield* stopping(600_000, "SIGTERM")
    yield* Effect.sleep(700)
    yield* child.signal("SIGINT")
    assert.deepStrictEqual(yield* child.ended, { code: 130, signal: null })
    assert.include(child.text(), "a second SIGINT: this process ends at once")
    assert.notInclude(child.text(), "stopped")
  })
)

it.live("the same signal twice at once, as npm and a terminal send it, lets a program stop", () =>
  Effect.gen(function* () {
    const child = yield* stopping(1_000, "SIGINT")
    yield* child.signal("SIGINT")
    assert.deepStrictEqual(yield* child.ended, { code: 130, signal: null })
    assert.include(child.text(), "stopped")
  })
)
