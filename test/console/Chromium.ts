/**
 * A Chromium of the npm registry. It is unpacked once, beside the packages of this clone, with the libraries and the font that a
 * bare machine lacks; without a font it ends as soon as it draws a text.
 */
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import sparticuz, { inflate } from "@sparticuz/chromium"
import { chromium } from "playwright-core"
import type { Browser } from "playwright-core"

const root = fileURLToPath(new URL("../..", import.meta.url))
const packed = join(dirname(fileURLToPath(import.meta.resolve("@sparticuz/chromium"))), "../bin")

const fonts = (home: string) => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>${home}/fonts</dir><dir>/usr/share/fonts</dir><cachedir>${home}/fonts-cache</cachedir></fontconfig>
`

/** Nothing that would loosen what a page may do. */
const args = ["--no-zygote"]

/** The folder of the browser. Of two processes that unpack it at once, each finds a whole one. */
const unpacked = async (): Promise<string> => {
  const cache = join(root, "node_modules/.cache")
  const home = join(cache, "chromium-153.0.0")
  if (existsSync(home)) return home
  mkdirSync(cache, { recursive: true })
  const own = mkdtempSync(join(cache, "chromium-"))
  const { TMPDIR } = process.env
  // The package unpacks into the folder for temporary files.
  process.env["TMPDIR"] = own
  try {
    await sparticuz.executablePath(packed)
    await inflate(join(packed, "al2023.tar.br"))
  } finally {
    if (TMPDIR === undefined) delete process.env["TMPDIR"]
    else process.env["TMPDIR"] = TMPDIR
  }
  writeFileSync(join(own, "fonts.conf"), fonts(home))
  try {
    renameSync(own, home)
  } catch (error) {
    if (!existsSync(home)) throw error
    rmSync(own, { recursive: true })
  }
  return home
}

const packedBrowser = async (): Promise<Browser> => {
  const home = await unpacked()
  return chromium.launch({
    executablePath: join(home, "chromium"),
    args,
    env: {
      ...process.env,
      LD_LIBRARY_PATH: join(home, "al2023/lib"),
      FONTCONFIG_FILE: join(home, "fonts.conf")
    }
  })
}

/** Where Linux has one that was installed. Chrome is found by its channel elsewhere. */
const installed = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].filter(existsSync)

const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split("\n", 1)[0] ?? ""

/** The browser of the registry, which is for Linux on x64, or else an installed one. A text = why there is none. */
export const launch = async (): Promise<Browser | string> => {
  const tries = [
    packedBrowser,
    ...installed.map((executablePath) => () => chromium.launch({ executablePath, args })),
    () => chromium.launch({ channel: "chrome", args })
  ]
  const reasons: Array<string> = []
  for (const attempt of tries) {
    try {
      return await attempt()
    } catch (error) {
      reasons.push(reasonOf(error))
    }
  }
  return `there is no browser: ${reasons.join("; ")}`
}
