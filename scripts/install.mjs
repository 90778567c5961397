/**
 * Installs the dependencies when they are missing or older than the lockfile, so that a fresh clone
 * needs nothing but `npm start` or `npm test`. Plain JavaScript without imports from node_modules:
 * it runs on any Node from 20 on, before Node 24 (a devDependency) exists.
 */
import { spawn, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const at = (path) => join(root, path)

const give = (...lines) => {
  for (const line of lines) console.error(line)
  process.exit(1)
}

if (Number(process.versions.node.split(".")[0]) < 20) {
  give(`troupe needs Node 20 or later to install itself; this is ${process.version}`)
}

const manifests = ["package-lock.json", "package.json"]
const installed = at("node_modules/.package-lock.json")
const stamp = at("node_modules/.troupe-lock")
const wanted = createHash("sha256")
for (const file of manifests) wanted.update(readFileSync(at(file)))
const digest = wanted.digest("hex")

/** npm writes its own lockfile last, so that an install that was cut short is not taken for a whole one. */
const complete = () => {
  if (!existsSync(installed)) return false
  if (existsSync(stamp)) return readFileSync(stamp, "utf8") === digest
  return manifests.every((file) => statSync(installed).mtimeMs >= statSync(at(file)).mtimeMs)
}

/**
 * Says how many packages of the lockfile are there: on a terminal in one line every second, elsewhere in a line every five. Those
 * of other platforms stay away. `command/Progress.ts` needs a Node that reads TypeScript, which may not be there yet.
 */
const watchPackages = () => {
  const lockfile = readFileSync(at("package-lock.json"), "utf8")
  const places = [...lockfile.matchAll(/^ {4}"(node_modules\/[^"]+)": \{/gm)].map(([, it]) => it)
  const { isTTY } = process.stderr
  const began = Date.now()
  const timer = setInterval(
    () => {
      const there = places.filter((place) => existsSync(at(`${place}/package.json`))).length
      const s = Math.round((Date.now() - began) / 1_000)
      const text = `installing: ${there} of ${places.length} packages, ${(there / s).toFixed(1)} a second, ${s} s`
      process.stderr.write(isTTY ? `\r\u001b[2K${text}` : `${text}\n`)
    },
    isTTY ? 1_000 : 5_000
  )
  return () => {
    clearInterval(timer)
    if (isTTY) process.stderr.write("\r\u001b[2K")
  }
}

/** The npm that runs this script, or the one on the path when another package manager does. Gives why it failed. */
const npm = (args) =>
  new Promise((settle) => {
    const running = process.env.npm_execpath ?? ""
    const options = { cwd: root, stdio: ["ignore", "inherit", "inherit"] }
    const child = /^npm(-cli)?\.c?js$/.test(basename(running))
      ? spawn(process.execPath, [running, ...args], options)
      : spawn("npm", args, { ...options, shell: process.platform === "win32" })
    child.on("error", ({ message }) => settle(`npm did not start: ${message}`))
    child.on("close", (code) =>
      settle(code === 0 ? undefined : "npm install failed; see the lines above")
    )
  })

if (!complete()) {
  console.error("Installing dependencies (once) ...")
  const ended = watchPackages()
  // Node 24 and the test tools are devDependencies: NODE_ENV=production must not leave them out.
  const failure = await npm([
    "install",
    "--include=dev",
    "--no-save",
    "--no-audit",
    "--no-fund",
    "--no-progress",
    "--loglevel=error"
  ])
  ended()
  if (failure !== undefined) give(failure)
  writeFileSync(stamp, digest)
}

/** What the next script runs on: npm puts node_modules/.bin first on the path. */
const own = at(`node_modules/.bin/node${process.platform === "win32" ? ".cmd" : ""}`)
const version = existsSync(own)
  ? spawnSync(own, ["--version"], { encoding: "utf8", shell: process.platform === "win32" }).stdout
  : process.version
if (Number(/^v(\d+)/.exec(version ?? "")?.[1] ?? 0) < 24) {
  give(
    "The package node@24 is not usable here: its install script may have been kept from running.",
    "Remove node_modules and run again with npm_config_ignore_scripts=false, or use Node 24 yourself."
  )
}
