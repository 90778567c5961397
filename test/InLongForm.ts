import { it } from "@effect/vitest"
import { isFull } from "./Long.ts"

const none = () => {}

/** A live test of the long form alone. */
export const inLongForm: (...test: Parameters<typeof it.live>) => void = isFull ? it.live : none

/** The same for a test that is a function, which may give a promise. */
export const inLongFormPlain: (name: string, test: () => void | Promise<void>) => void = isFull
  ? it
  : none
