/**
 * The clock of a service under test: it stands still until the test moves it.
 */
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"

/**
 * It has been moved once, by nothing, so that it never warns of a test that uses time and does not advance: the runtime always
 * waits for something, and only the test knows when to advance. What a step of it starts has a minute to come to rest.
 */
export const layer: Layer.Layer<TestClock.TestClock> = TestClock.layer({
  warningDelay: "1 minute"
}).pipe(Layer.tap((context) => Effect.provideContext(TestClock.adjust(0), context)))
