/**
 * Ends the process groups of a service that ends in any way, `kill -9` too: a shell of its own holds the other end of a pipe,
 * which the system closes with the service. It needs /bin/sh; where there is none, groups outlive a service that is killed.
 */
import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { existsSync } from "node:fs"

const shell = "/bin/sh"

/** Begins with the groups that are its arguments, and reads `+ GROUP` and `- GROUP`; at the end it kills those that are left. */
const script = `
groups="$*"
while read -r sign group; do
  left=""
  for each in $groups; do [ "$each" = "$group" ] || left="$left $each"; done
  groups=$left
  if [ "$sign" = "+" ]; then groups="$groups $group"; fi
done
for each in $groups; do kill -s KILL -- "-$each"; done
`

let watcher: ChildProcess | undefined
/** Groups that are running, for a watcher that takes another's place. */
const running = new Set<number>()

const start = (): ChildProcess | undefined => {
  if (process.platform === "win32" || !existsSync(shell)) return undefined
  // A session of its own: what is sent to the service's group, such as Ctrl-C, is not for it.
  const child = spawn(shell, ["-c", script, shell, ...[...running].map(String)], {
    detached: true,
    env: {},
    cwd: "/",
    stdio: ["pipe", "ignore", "ignore"]
  })
  const forget = () => {
    if (watcher === child) watcher = undefined
  }
  child.on("error", forget)
  child.on("exit", (_code, signal) => {
    forget()
    // One that ends by itself would do so again.
    if (signal !== null && running.size > 0) watcher ??= start()
  })
  child.stdin?.on("error", forget)
  child.unref()
  const { stdin } = child
  if (stdin !== null && "unref" in stdin && typeof stdin.unref === "function") stdin.unref()
  return child
}

/** The group is killed if this process ends before `unwatch`. */
export const watch = (group: number): void => {
  running.add(group)
  if (watcher === undefined) watcher = start()
  else watcher.stdin?.write(`+ ${group}\n`)
}

/** The group has ended: its number may be somebody else's soon. */
export const unwatch = (group: number): void => {
  if (running.delete(group)) watcher?.stdin?.write(`- ${group}\n`)
}
