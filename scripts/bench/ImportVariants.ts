/**
 * What an import costs this thread, in a process that has imported nothing yet.
 */
import type { Sample } from "./Row.ts"

const imported = async (load: () => Promise<unknown>): Promise<Sample> => {
  const before = process.threadCpuUsage()
  await load()
  const used = process.threadCpuUsage(before)
  return { cpu_ms: (used.user + used.system) / 1_000 }
}

export const effect = () => imported(() => import("effect"))
export const embed = () => imported(() => import("../../layers/compose/NodeService.ts"))
