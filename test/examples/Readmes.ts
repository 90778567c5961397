/** The READMEs of the repository, as texts: that of the top level, and those of its rooms; and the examples that they print. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

export const root = join(import.meta.dirname, "../..")

export interface Readme {
  /** From the root, with slashes. */
  readonly path: string
  readonly text: string
}

const read = (path: string): Readme => ({ path, text: readFileSync(join(root, path), "utf8") })

const houses = ["src", "services", "layers", "scripts", "test", "findings"]

export const readmes: ReadonlyArray<Readme> = [
  "README.md",
  ...houses.flatMap((house) =>
    readdirSync(join(root, house), { recursive: true, encoding: "utf8" })
      .map((name) => `${house}/${name.replaceAll("\\", "/")}`)
      .filter((path) => path.endsWith("/README.md"))
      .toSorted()
  )
].map(read)

/** What GitHub shows beside them. */
export const guides: ReadonlyArray<Readme> = ["CONTRIBUTING.md", "SECURITY.md"].map((name) =>
  read(`.github/${name}`)
)

const here = readdirSync(import.meta.dirname).toSorted()

/** For people who come from another framework. */
export const comparisons: ReadonlyArray<Readme> = here
  .filter((name) => /^coming-from-.*\.md$/.test(name))
  .map((name) => read(`test/examples/${name}`))

export interface Example {
  /** Without its ending. */
  readonly name: string
  /** Without the comment at its end. */
  readonly code: string
  /** What it prints, as the comment at its end says; empty if it has none. */
  readonly output: string
}

export const examples: ReadonlyArray<Example> = here
  .filter((name) => /^[a-z]+\.ts$/.test(name))
  .map((name) => {
    const [code = "", output = ""] = read(`test/examples/${name}`).text.split("\n// Output:\n")
    return { name: name.slice(0, -3), code, output: output.replaceAll(/^\/\/ ?/gm, "") }
  })

/** The fenced blocks of a language, wherever they stand. */
export const blocksOf = (text: string, language: string): ReadonlyArray<string> =>
  [...text.matchAll(/^( *)```(\w*)\n([\s\S]*?)^ *```$/gm)].flatMap(([, , of, code]) =>
    of === language ? [code!] : []
  )

/** Everything but fenced blocks. */
export const proseOf = (text: string): string => text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, "")
