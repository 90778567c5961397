import { it } from "@effect/vitest"
import { isFull } from "./Long.ts"

/** A live test of the long form alone. */
export const inLongForm: (...test: Parameters<typeof it.live>) => void = isFull ? it.live : () => {}
