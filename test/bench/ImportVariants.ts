/**
 * What an import costs this thread, in a process that has imported nothing yet. `root` is where the package was built.
 */
import { readFileSync } from "node:fs"
import { pathToFileURL } from "node:url"
import type { Sample } from "./Row.ts"

const imported = async (load: () => Promise<unknown>): Promise<Sample> => {
  const before = process.threadCpuUsage()
  await load()
  const used = process.threadCpuUsage(before)
  return { cpu_ms: (used.user + used.system) / 1_000 }
}

const module = (root: string, path: string) => import(pathToFileURL(`${root}/${path}`).href)

const entry = "layers/compose/entries/Embed.js"

const imports = /^(?:import|export)\b[^"]*"([^"]+)"/gm

/** What a module of the package and the modules that it imports take from other packages. */
const packagesOf = (url: URL, seen = new Set<string>(), found = new Set<string>()) => {
  if (seen.has(url.href)) return found
  seen.add(url.href)
  for (const [, specifier] of readFileSync(url, "utf8").matchAll(imports)) {
    if (specifier!.startsWith(".")) packagesOf(new URL(specifier!, url), seen, found)
    else found.add(specifier!)
  }
  return found
}

/** What the entry imports of Effect, and nothing of the package. */
export const effect = (root: string): Promise<Sample> => {
  const used = [...packagesOf(pathToFileURL(`${root}/${entry}`))].filter(
    (specifier) => specifier === "effect" || specifier.startsWith("effect/")
  )
  if (used.length === 0) throw new Error("the entry imports nothing of Effect")
  return imported(async () => {
    for (const specifier of used) await import(specifier)
  })
}

export const embed = (root: string) => imported(() => module(root, entry))

/** With what `start` loads of the package for an ephemeral store. */
export const started = (root: string) =>
  imported(async () => {
    await module(root, entry)
    await module(root, "layers/compose/promises/StartedService.js")
  })
