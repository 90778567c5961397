/**
 * The files `0020_*` are one migration: what the database refuses by itself, keys of side effects, and shares of
 * the room for files.
 */
import { Effect } from "effect"
import { migration as keys } from "./0020_keys.ts"
import { migration as shares } from "./0020_shares.ts"
import { migration as words } from "./0020_words.ts"

export const migration = words.pipe(Effect.andThen(keys), Effect.andThen(shares))
