/** Programs that start others, and whether any of them is left. */
import { readFileSync } from "node:fs"
import { Effect } from "effect"
import { eventually } from "../contracts/Contract.ts"

/** Is there a process of this id that still runs? A dead one that nobody has waited for is none. */
export const isAlive = (pid: number): boolean => {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch {
    return false
  }
}

export const gone = (pids: ReadonlyArray<number>) =>
  eventually(
    Effect.sync(() => pids.filter(isAlive)),
    (left) => left.length === 0
  )

/** A program that starts another one in its group, writes both ids, and waits for ever. */
export const family = (file: string) =>
  `const c = require("node:child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "inherit" });
   require("node:fs").writeFileSync(${JSON.stringify(file)}, process.pid + " " + c.pid);
   process.on("SIGTERM", () => {}); process.on("SIGINT", () => {}); setInterval(() => {}, 1000)`

export const idsIn = (file: string) =>
  eventually(
    Effect.sync(() => {
      try {
        return readFileSync(file, "utf8").split(" ").map(Number)
      } catch {
        return []
      }
    }),
    (ids) => ids.length === 2
  )
