/** The files of the process that is killed, and their digests. */
import { createHash } from "node:crypto"

export const names = ["sent", "unsent", "refused"] as const

export const fileOf = (name: (typeof names)[number]) => ({
  type: "image" as const,
  media_type: "image/png",
  data: new TextEncoder().encode(`\0 ${name}`)
})

export const digestOf = (name: (typeof names)[number]): string =>
  createHash("sha256").update(fileOf(name).data).digest("hex")
