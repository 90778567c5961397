/**
 * The files `0020_*` are one migration: what the database refuses by itself, and keys of side effects.
 */
import { Effect } from "effect"
import { migration as keys } from "./0020_keys.ts"
import { migration as words } from "./0020_words.ts"

export const migration = Effect.andThen(words, keys)
