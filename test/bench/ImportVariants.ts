/**
 * What an import costs this thread, in a process that has imported nothing yet. `root` is where the package was built.
 */
import { pathToFileURL } from "node:url"
import type { Sample } from "./Row.ts"

const imported = async (load: () => Promise<unknown>): Promise<Sample> => {
  const before = process.threadCpuUsage()
  await load()
  const used = process.threadCpuUsage(before)
  return { cpu_ms: (used.user + used.system) / 1_000 }
}

const module = (root: string, path: string) => import(pathToFileURL(`${root}/${path}`).href)

export const effect = () => imported(() => import("effect"))

export const embed = (root: string) => imported(() => module(root, "embed.js"))

/** With what `start` loads of the package for an ephemeral store. */
export const started = (root: string) =>
  imported(async () => {
    await module(root, "embed.js")
    await module(root, "chunks/StartedService.js")
  })
