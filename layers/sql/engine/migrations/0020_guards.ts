/**
 * The files `0020_*` are one migration: what the database refuses by itself.
 */
import { migration as words } from "./0020_words.ts"

export const migration = words
