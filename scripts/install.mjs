/**
 * Installs the dependencies when they are missing or older than the lockfile, so that a fresh clone
 * needs nothing but `npm start` or `npm test`. Plain JavaScript without imports from node_modules:
 * it runs on any Node from 20 on, before Node 24 (a devDependency) exists.
 */
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { createHash } from "node:crypto"

const stamp = "node_modules/.troupe-lock"
const wanted = createHash("sha256")
  .update(readFileSync("package-lock.json"))
  .update(readFileSync("package.json"))
  .digest("hex")

const complete = () =>
  existsSync("node_modules/.package-lock.json") &&
  (existsSync(stamp)
    ? readFileSync(stamp, "utf8") === wanted
    : statSync("node_modules/.package-lock.json").mtimeMs >=
      Math.max(statSync("package-lock.json").mtimeMs, statSync("package.json").mtimeMs))

if (Number(process.versions.node.split(".")[0]) < 20) {
  console.error(`troupe needs Node 20 or later to install itself; this is ${process.version}`)
  process.exit(1)
}
if (!complete()) {
  console.error("Installing dependencies (once) ...")
  const npm = process.env.npm_execpath
  const args = ["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"]
  const ran = npm
    ? spawnSync(process.execPath, [npm, ...args], { stdio: ["ignore", "inherit", "inherit"] })
    : spawnSync("npm", args, {
        stdio: ["ignore", "inherit", "inherit"],
        shell: process.platform === "win32"
      })
  if (ran.status !== 0) {
    console.error("npm install failed; see the lines above")
    process.exit(ran.status ?? 1)
  }
  writeFileSync(stamp, wanted)
}
