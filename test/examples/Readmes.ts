/** The READMEs of the repository, as texts: that of the top level, and those of its rooms. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

export const root = join(import.meta.dirname, "../..")

export interface Readme {
  /** From the root, with slashes. */
  readonly path: string
  readonly text: string
}

const houses = ["src", "services", "layers", "scripts", "test", "findings"]

export const readmes: ReadonlyArray<Readme> = [
  "README.md",
  ...houses.flatMap((house) =>
    readdirSync(join(root, house), { recursive: true, encoding: "utf8" })
      .map((name) => `${house}/${name.replaceAll("\\", "/")}`)
      .filter((path) => path.endsWith("/README.md"))
      .toSorted()
  )
].map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }))

/** What GitHub shows beside them. */
export const guides: ReadonlyArray<Readme> = ["CONTRIBUTING.md", "SECURITY.md"].map((name) => ({
  path: `.github/${name}`,
  text: readFileSync(join(root, ".github", name), "utf8")
}))

/** The fenced blocks of a language, wherever they stand. */
export const blocksOf = (text: string, language: string): ReadonlyArray<string> =>
  [...text.matchAll(/^( *)```(\w*)\n([\s\S]*?)^ *```$/gm)].flatMap(([, , of, code]) =>
    of === language ? [code!] : []
  )

/** Everything but fenced blocks. */
export const proseOf = (text: string): string => text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, "")
