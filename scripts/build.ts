/**
 * Makes what the package has in place of its sources: each entry of package.json and the command as JavaScript, what they share
 * in chunks, and the types of the entries. In a clone: npm run build
 */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { rolldown } from "rolldown"
import type { Plugin } from "rolldown"
import { dts } from "rolldown-plugin-dts"
import manifest from "../package.json" with { type: "json" }

const root = join(import.meta.dirname, "..")
const declarations = join(root, "node_modules/.cache/troupe-types")

/** The name of each entry's file in `dist`, and its source. */
const entries = Object.fromEntries(
  Object.values(manifest.exports).flatMap((target) =>
    typeof target === "string"
      ? []
      : [[target.default.replace(/^\.\/dist\/|\.js$/g, ""), target["troupe-source"]] as const]
  )
)

/** Its Node server alone is taken in: the whole package has Redis as a peer, which npm would install with it. */
const taken = "@effect/platform-node"
const isExternal = (id: string) => !/^[./]/.test(id) && !id.startsWith(`${taken}/`)

/**
 * An import of some modules of `effect`, in place of one of all of them. What its index has with a small letter are functions of
 * one module.
 */
const modules_of_effect: Plugin = {
  name: "modules-of-effect",
  transform: {
    filter: { id: /\.ts$/ },
    handler: (code) =>
      code.replace(
        /^import \{([^}]*)\} from "(effect(?:\/[a-z-]+)?)"$/gm,
        (_, names: string, from: string) =>
          names
            .split(",")
            .flatMap((each) => {
              const [name = "", as = name] = each.trim().split(" as ")
              if (name === "" || name.startsWith("type ")) return []
              return /^[A-Z]/.test(name)
                ? [`import * as ${as} from "${from}/${name}"`]
                : [`import { ${name} as ${as} } from "effect/Function"`]
            })
            .join(";")
      )
  }
}

/** Whether a module needs no other one of ours, but for its types and estimates of one function. */
const standsAlone = (path: string): boolean =>
  !/^(?:import|export) (?!type)[^;"]*? from "\.(?!.*\/(?:TextVector|TokenEstimate))/m.test(
    readFileSync(path, "utf8")
  )

/** A port, one of the stores' own, what compositions add to a surface, what HTTP answers say of errors, or how an environment is read. */
const port =
  /\/services\/\w+\.ts$|\/(?:Added\w+|HttpAnswers|Problem|ReadEnvironment)\.ts$|\/engine\/(?:ServerSession|SqlNotify|Upgrading)\.ts$/

/** The entry for pages: one file, with nothing that another entry has too. */
const clientCode = async (dir: string): Promise<void> => {
  const { client = "" } = entries
  const bundle = await rolldown({ cwd: root, input: { client }, platform: "browser" })
  await bundle.write({ dir, comments: { jsdoc: false } })
}

const code = async (dir: string): Promise<void> => {
  const license = readFileSync(join(root, "node_modules", taken, "LICENSE"), "utf8")
  const { client: _, ...others } = entries
  const bundle = await rolldown({
    cwd: root,
    input: { ...others, troupe: "scripts/troupe.ts" },
    platform: "node",
    external: isExternal,
    plugins: [modules_of_effect],
    treeshake: { moduleSideEffects: [{ external: true, sideEffects: false }] }
  })
  await bundle.write({
    dir,
    cleanDir: true,
    chunkFileNames: "chunks/[name].js",
    // Each of these would be a file of its own, and most have a line or two.
    codeSplitting: {
      groups: [
        { name: "ports", test: (id) => port.test(id) && standsAlone(id) },
        { name: "values", test: /\/src\/value\/(?!Ids\.)/ },
        // All that an import of `troupe/embed` loads.
        { name: "names", test: /\/(?:Ids|Principal|ErrorStatus|promises\/Answer)\.ts$/ },
        // Ports with what they need, which has most of its users in common.
        { name: "conversations", test: /\/ConversationStore\.ts$/ },
        { name: "runs", test: /\/RunReader\.ts$/ }
      ]
    },
    comments: { jsdoc: false },
    // Left to Node or to the bundler of an application.
    polyfillRequire: false,
    banner: ({ moduleIds }) =>
      moduleIds.some((id) => id.includes(`/node_modules/${taken}/`))
        ? `/*! With modules of ${taken}:\n\n${license}*/`
        : ""
  })
}

const types = async (dir: string): Promise<void> => {
  // By its path: which of the two compilers the name `tsc` finds depends on the order in which npm links them.
  const compiler = join(root, "node_modules/typescript/bin/tsc")
  const tsconfig = join(root, ".config/tsconfig.build.json")
  const args = [compiler, "--project", tsconfig, "--outDir", declarations]
  const { status } = spawnSync(process.execPath, args, { stdio: "inherit" })
  if (status !== 0) throw new Error("the types of the package do not check")
  const declared = (source: string) => join(declarations, source.replace(/\.ts$/, ".d.ts"))
  const bundle = await rolldown({
    cwd: root,
    input: Object.fromEntries(
      Object.entries(entries).map(([name, source]) => [name, declared(source)])
    ),
    external: isExternal,
    plugins: [dts({ dtsOnly: true, tsconfig: false, generator: { emit: () => ({}) } })]
  })
  await bundle.write({
    dir,
    entryFileNames: "[name].d.ts",
    chunkFileNames: "chunks/[name].d.ts",
    // One file with all that two entries have: nobody loads it but a compiler.
    codeSplitting: { groups: [{ name: "types", minShareCount: 2 }] }
  })
}

/** Builds into `dir`. Without types in seconds. */
export const build = async (dir: string, withTypes = true): Promise<void> => {
  await code(dir)
  await clientCode(dir)
  if (withTypes) await types(dir)
}

if (import.meta.main) await build(join(root, "dist"))
