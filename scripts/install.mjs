/**
 * Installs the dependencies when they are missing or older than the lockfile, so that a fresh clone
 * needs nothing but `npm start` or `npm test`. Plain JavaScript without imports from node_modules:
 * it runs on any Node from 20 on, before Node 24 (a devDependency) exists.
 */
import { spawnSync } from "node:child_process"
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

/** The npm that runs this script, or the one on the path when another package manager does. */
const npm = (args) => {
  const running = process.env.npm_execpath ?? ""
  const stdio = ["ignore", "inherit", "inherit"]
  return /^npm(-cli)?\.c?js$/.test(basename(running))
    ? spawnSync(process.execPath, [running, ...args], { cwd: root, stdio })
    : spawnSync("npm", args, { cwd: root, stdio, shell: process.platform === "win32" })
}

if (!complete()) {
  console.error("Installing dependencies (once) ...")
  // Node 24 and the test tools are devDependencies: NODE_ENV=production must not leave them out.
  const ran = npm([
    "install",
    "--include=dev",
    "--no-save",
    "--no-audit",
    "--no-fund",
    "--loglevel=error"
  ])
  if (ran.status !== 0) {
    give(
      ran.error === undefined
        ? "npm install failed; see the lines above"
        : `npm did not start: ${ran.error.message}`
    )
  }
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
