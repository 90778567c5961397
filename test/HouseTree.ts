/**
 * The files of the house as texts, what each imports, and where it belongs: for the rules of `architecture.test.ts`.
 */
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, posix } from "node:path"
import { fileURLToPath } from "node:url"

export const root = fileURLToPath(new URL("..", import.meta.url))

/** Path from the root, with slashes, to text. */
export type Tree = ReadonlyMap<string, string>

export const load = (...folders: ReadonlyArray<string>): Tree =>
  new Map(
    folders
      .flatMap((folder) =>
        readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) =>
          posix.join(folder, name.replaceAll("\\", "/"))
        )
      )
      .filter((path) => path.endsWith(".ts"))
      .toSorted()
      .map((path) => [path, readFileSync(join(root, path), "utf8")])
  )

export const withoutComments = (text: string): string =>
  text.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/^\s*\/\/.*$/gm, "")

const importPattern =
  /(?:^|[\s;])(?:import|export)\s[^"';]*?from\s*["']([^"']+)["']|(?:^|[\s;])import\s*["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']/g

/** What was found last in each file: every rule asks for every file. */
const found = new Map<string, { readonly text: string; readonly imports: ReadonlyArray<string> }>()

/** What a file imports: own files as paths from the root, packages by their name. */
export const importsOf = (path: string, text: string): ReadonlyArray<string> => {
  const last = found.get(path)
  if (last?.text === text) return last.imports
  const imports = [...withoutComments(text).matchAll(importPattern)].map((match) => {
    const name = (match[1] ?? match[2] ?? match[3])!
    return name.startsWith(".") ? posix.join(dirname(path), name) : name
  })
  found.set(path, { text, imports })
  return imports
}

export const isOwn = (name: string): boolean => /^(src|services|layers|test|scripts)\//.test(name)
export const roomOf = (path: string): string | undefined => /^layers\/([^/]+)\//.exec(path)?.[1]
export const under = (name: string, ...packages: ReadonlyArray<string>): boolean =>
  packages.some((each) => name === each || name.startsWith(`${each}/`))

/**
 * Areas of the reference application. Each has sub-rooms of its own, and shows the others nothing but its contracts. Core is the
 * outbox and the audit, which are the runtime's own (`isCore`): a sub-room of that name would be walled as the others are.
 */
export const contexts: ReadonlyArray<string> = ["platform", "worlds", "core"]

/** The context that a file belongs to: `layers/spectral/worlds/WorldTools.ts` to worlds. */
export const contextOf = (path: string): string | undefined => {
  const [, context] = /^(?:src|services|layers\/[^/]+)\/(?:spectral\/)?([^/]+)\//.exec(path) ?? []
  return context !== undefined && contexts.includes(context) ? context : undefined
}

/** The context core: the runtime's outbox and its journal, with what writes, relays and reads them. */
export const isCore = (path: string): boolean =>
  /^(services\/(Outbox|Run(Journal|News|Ownership|Quarantine|Reader)|TaskStore|ApprovalRecords)|layers\/(runtime|sql\/(journal|outbox))\/)/.test(
    path
  )

export const isContract = (path: string): boolean =>
  contextOf(path) !== undefined && path.includes(`/${contextOf(path)}/contracts/`)

/** Everything that a file reaches through imports of own files, with the way to it. */
export const reach = (tree: Tree, from: string): ReadonlyMap<string, string> => {
  const ways = new Map<string, string>([[from, from]])
  const queue = [from]
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    for (const name of importsOf(path, tree.get(path) ?? "")) {
      if (!tree.has(name) || ways.has(name)) continue
      ways.set(name, `${ways.get(path)!} > ${name}`)
      queue.push(name)
    }
  }
  return ways
}

/**
 * The rooms of `src` by floor; imports go down only. On the ground each room imports those before it; the rooms of the kernel know
 * one another; a service may do without any room of the features.
 */
export const floors = {
  ground: ["value", "schema", "network", "error", "principal"],
  kernel: (
    "tool capability permission approval run replay conversation delivery cost agent memory " +
    "erasure queue entry"
  ).split(" "),
  features: "operation call graph mcp builtin wire spectral semstreams".split(" ")
} as const

const heightOf = (room: string): number | undefined => {
  const { features, ground, kernel } = floors
  const place = ground.findIndex((each) => each === room)
  if (place !== -1) return place
  if (kernel.includes(room)) return ground.length
  return features.includes(room) ? ground.length + 1 : undefined
}

/** Why a file of `src` may not import this one; undefined if it may. */
export const floorRefusal = (path: string, name: string): string | undefined => {
  const [from, to] = [path, name].map((each) => /^src\/([^/]+)\//.exec(each)?.[1])
  if (from === undefined || to === undefined || from === to) return undefined
  const [above, below] = [heightOf(from), heightOf(to)]
  // The rooms of one floor know one another, but for those of the ground.
  return above === undefined || below === undefined || above >= below
    ? undefined
    : `src/${from} is below ${to}`
}

/** What each room within a room may import beside itself. */
export const inner: Readonly<Record<string, Readonly<Record<string, ReadonlyArray<string>>>>> = {
  // A call runs the same way whoever asks for it, so that `tool` knows nobody; `fiber` knows no run.
  runtime: {
    actor: ["loop", "approval", "directory", "feed", "fiber", "tool", "relay", "replay"],
    loop: ["feed", "fiber", "tool"],
    replay: ["loop", "directory", "fiber", "tool"],
    queue: ["fiber", "relay", "tool"],
    relay: ["tool"],
    approval: ["feed", "fiber", "tool"],
    directory: ["tool"],
    feed: ["fiber", "tool"],
    tool: ["fiber"],
    fiber: []
  },
  http: {
    server: ["handlers", "wires", "stream", "boundary"],
    wires: ["stream", "boundary"],
    handlers: ["stream", "boundary"],
    stream: ["boundary"],
    // Runs elsewhere, and knows nothing of the service but what it declares.
    client: [],
    boundary: []
  },
  model: { providers: ["plan", "wire"], plan: ["wire"], tape: [], wire: [] },
  compose: {
    entries: ["promises", "assembly", "options"],
    promises: ["assembly", "options"],
    assembly: ["options"],
    options: []
  },
  sql: {
    stores: ["journal", "outbox", "tools", "engine"],
    journal: ["engine"],
    outbox: ["engine"],
    tools: ["engine"],
    spectral: ["engine"],
    semstreams: ["journal", "engine"],
    archive: ["engine"],
    examination: ["engine"],
    retention: ["archive", "engine"],
    engine: []
  }
}

/** The first circle of files that import one another, as the way around it; undefined if there is none. */
export const circleIn = (tree: Tree): string | undefined => {
  const done = new Set<string>()
  const find = (path: string, way: ReadonlyArray<string>): string | undefined => {
    const at = way.indexOf(path)
    if (at !== -1) return [...way.slice(at), path].join(" > ")
    if (done.has(path)) return undefined
    for (const name of importsOf(path, tree.get(path)!)) {
      const circle = tree.has(name) ? find(name, [...way, path]) : undefined
      if (circle !== undefined) return circle
    }
    done.add(path)
    return undefined
  }
  for (const path of tree.keys()) {
    const circle = find(path, [])
    if (circle !== undefined) return circle
  }
  return undefined
}

/** The files of the ports that `services/README.md` lists under "To store". */
export const stores: ReadonlySet<string> = new Set(
  readFileSync(join(root, "services/README.md"), "utf8")
    .split("\n## To store\n")[1]!
    .split("\n## ")[0]!
    .split("\n")
    .flatMap((line) =>
      Array.from((line.split("|")[1] ?? "").matchAll(/`(\w+)`/g), ([, port]) => port!)
    )
    .map((port) => `services/${port}.ts`)
)

/** Features, which a service may do without: their rooms, wherever those are. */
const featureOf = (path: string): string | undefined =>
  /^(?:src|services|layers|layers\/\w+)\/(spectral|semstreams)\//.exec(path)?.[1]

/** Only the feature itself and the composition know a feature. */
export const featureRefusal = (path: string, name: string): string | undefined => {
  const feature = featureOf(name)
  return feature === undefined || featureOf(path) === feature || path.startsWith("layers/compose/")
    ? undefined
    : `a service does without ${feature}`
}

/** A surface performs the effects of operations, and they alone read stores. */
export const storeRefusal = (path: string, name: string): string | undefined =>
  /^layers\/(http|compose\/promises)\//.test(path) && stores.has(name)
    ? "a surface reads no store: layers/service does"
    : undefined

export const plant = (path: string, text: string): Tree => new Map([[path, text]])
