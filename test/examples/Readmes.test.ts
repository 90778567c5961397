/** What the READMEs say, as far as a program can tell: their code runs, and what they name is there. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, posix } from "node:path"
import { assert, describe, it } from "vitest"
import { steps_max } from "../../layers/mcp/CountedCode.ts"
import { circuit_default } from "../../layers/model/plan/ModelPlan.ts"
import { limits_default } from "../../layers/model/plan/ProviderLimiter.ts"
import { defaults as runtime } from "../../layers/runtime/actor/RuntimeConfig.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import { servers_max } from "../../src/mcp/McpServer.ts"
import { load } from "../HouseTree.ts"
import { blocksOf, comparisons, examples, guides, proseOf, readmes, root } from "./Readmes.ts"

interface Manifest {
  readonly version: string
  readonly exports: Readonly<Record<string, unknown>>
  readonly scripts: Readonly<Record<string, string>>
}
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest

const front = readmes[0]!
const pages = [...readmes, ...guides, ...comparisons]
const rooms = readmes.slice(1)

/** Targets of links that are files of the repository, from its root. */
const linksOf = ({ path, text }: (typeof readmes)[number]): ReadonlyArray<string> =>
  [...proseOf(text).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, to]) =>
    /^(https?:|#)/.test(to!) ? [] : [posix.join(dirname(path), to!.replace(/#.*$/, ""))]
  )

/** What GitHub calls a heading in links. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, "")
    .replaceAll(/\s/g, "-")

/** Code in a line that looks like a path of this repository. */
const pathsOf = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/(?:src|services|layers|scripts|test|\.config)\/[\w./-]*\w/g)].flatMap(
    // `troupe/layers` is an entry, and `Accept: a/src/b` is no path of ours.
    (match) => (/[\w/.-]/.test(text[match.index - 1] ?? " ") ? [] : [match[0]])
  )

const isEntry = (name: string): boolean => {
  const key = `.${name.slice("troupe".length)}`
  return (
    (manifest.exports[key] ?? null) !== null ||
    (/^\.\/services\/\w+$/.test(key) && existsSync(join(root, `${key}.ts`)))
  )
}

describe("the READMEs", () => {
  it("are found: one at the top and one for each room that a user meets", () => {
    assert.strictEqual(front.path, "README.md")
    assert.isAtLeast(rooms.length, 13)
  })

  it("print code of examples that run, and link the file", () => {
    for (const page of pages) {
      const linked = linksOf(page)
      for (const language of ["ts", "yaml"]) {
        for (const block of blocksOf(page.text, language)) {
          const holding = examples.filter(({ code }) => code.includes(block))
          const isLinked = holding.some(({ name }) => linked.includes(`test/examples/${name}.ts`))
          assert.isTrue(isLinked, `${page.path} prints what no linked example has:\n${block}`)
        }
      }
    }
  })

  it("name files and folders that exist", () => {
    for (const readme of pages) {
      for (const path of [...linksOf(readme), ...pathsOf(readme.text)]) {
        assert.isTrue(existsSync(join(root, path)), `${readme.path} names ${path}`)
      }
    }
  })

  it("link headings that exist", () => {
    for (const { path, text } of pages) {
      for (const [, to, anchor] of proseOf(text).matchAll(/\]\(([^)\s#]*)#([^)\s]+)\)/g)) {
        if (to!.startsWith("http")) continue
        const target = to === "" ? path : posix.join(dirname(path), to!)
        const headings = proseOf(readFileSync(join(root, target), "utf8")).matchAll(/^#+ (.*)$/gm)
        const anchors = [...headings].map(([, heading]) => anchorOf(heading!))
        assert.include(anchors, anchor, `${path} links ${to}`)
      }
    }
  })

  it("name npm scripts and entries of the package that exist", () => {
    for (const { path, text } of pages) {
      for (const [, script] of text.matchAll(/npm\s+run\s+([\w:-]+)/g)) {
        assert.property(manifest.scripts, script!, path)
      }
      for (const [name] of text.matchAll(/(?<![\w./@:-])troupe\/[a-z]+(?:\/[A-Z]\w+)?(?!\w*\/)/g)) {
        assert.isTrue(isEntry(name), `${path} names ${name}`)
      }
    }
  })

  it("are linked from the one at the top, all of them", () => {
    assert.includeMembers(
      linksOf(front).map((path) => (path.endsWith(".md") ? path : `${path}/README.md`)),
      rooms.map(({ path }) => path)
    )
  })

  it("have no line longer than 130 characters outside of tables and code", () => {
    for (const { path, text } of pages) {
      for (const line of proseOf(text).split("\n")) {
        if (!line.startsWith("|")) assert.isAtMost(line.length, 130, `${path}: ${line}`)
      }
    }
  })
})

describe("the shelf of recipes", () => {
  const shelf = rooms.find(({ path }) => path === "test/examples/README.md")!
  const lines = shelf.text.split("\n")

  it("has every example once, with a line of what it shows, on at most 90 lines", () => {
    const recipes = lines.filter((line) => line.startsWith("- "))
    for (const line of recipes)
      assert.match(line, /^- (?:\[\w+\.ts\]\(\w+\.ts\)(?:, )?)+: \S.*[.]$/)
    const named = recipes.flatMap((text) => linksOf({ path: shelf.path, text }))
    const others = comparisons.flatMap(linksOf)
    assert.deepEqual(
      named.toSorted(),
      examples
        .map(({ name }) => `test/examples/${name}.ts`)
        // Those of people who come from elsewhere are on pages of their own.
        .filter((path) => !path.includes("/from") || !others.includes(path))
        .toSorted()
    )
    assert.isAtMost(lines.length, 91)
  })

  it("leads to the pages for people who come from elsewhere", () => {
    const pages = comparisons.map(({ path }) => path)
    assert.isAtLeast(pages.length, 4)
    assert.includeMembers([...linksOf(shelf)], pages)
  })
})

describe("a page for people who come from elsewhere", () => {
  const sources = [...load("src", "services", "layers").values()].join("\n")
  const words = new Set(sources.match(/\w+/g))

  for (const { path, text } of comparisons) {
    const rows = [...text.matchAll(/^\| (.*) \| (.*) \|$/gm)].slice(1)

    it(`${path} says which version it was read at, and what neither side has`, () => {
      assert.match(text, /^Read at `[@\w/-]+` \d+\.\d+\.\d+\b.*\(\d{4}-\d\d-\d\d\)\.$/m)
      assert.isAtLeast(rows.length, 10)
      assert.isAtMost(rows.length, 20)
      for (const heading of ["In code", "What Troupe has no equal for", "What is different"]) {
        assert.include(text, `\n## ${heading}\n`)
      }
      assert.lengthOf(blocksOf(text, "ts"), 1)
    })

    it(`${path} translates into words of this code`, () => {
      for (const [, , ours] of rows) {
        for (const [, code] of ours!.matchAll(/`([^`]+)`/g)) {
          for (const [word] of code!.matchAll(/\w+/g))
            assert.isTrue(words.has(word), `${word}: ${code}`)
        }
      }
    })
  }
})

/** One line, however it is broken. */
const flat = (text: string) => text.replaceAll(/\s+/g, " ")
const number = (value: number) => value.toLocaleString("en-US")

describe("a README's bounds", () => {
  const agent = AgentSpec.make({ name: AgentName.make("a"), instructions: "" })
  const limits = RunLimits.make({})
  const said: Readonly<Record<string, ReadonlyArray<string>>> = {
    "layers/mcp/README.md": [`after ${number(steps_max)} steps`, `At most ${servers_max} servers`],
    "layers/model/README.md": [
      `in a bounded queue | ${limits_default.concurrent_max} |`,
      `left alone for ${circuit_default.open_ms / 1_000} s`
    ],
    "layers/runtime/README.md": [
      `\`park_ms\` (${runtime.park_ms / 1_000} s)`,
      `A sweep every ${runtime.sweep_ms / 1_000} s`,
      `lease of ${runtime.lease_ms / 1_000} s`,
      `every ${{ 10: "ten" }[runtime.audit_ms / 60_000]} minutes, a process audits`
    ],
    "src/conversation/README.md": [
      `\`history_tokens_max\` (${number(agent.history_tokens_max)})`,
      `\`context_tokens_max\` (${number(agent.context_tokens_max)})`
    ],
    "src/cost/README.md": [
      `over all frames | ${limits.steps_max} |`,
      `over all frames | ${number(limits.calls_max)} |`,
      `with the same arguments | ${limits.repeats_max} |`,
      `model's mistakes | ${limits.mistakes_max} |`
    ]
  }

  it("are those of the code", () => {
    for (const [path, texts] of Object.entries(said)) {
      const readme = flat(rooms.find((room) => room.path === path)!.text)
      for (const text of texts) assert.include(readme, text, path)
    }
  })
})

describe("the README at the top", () => {
  it("is short", () => {
    assert.isAtMost(front.text.length, 11_000)
  })

  it("leads to every room that answers a port, a question or an agent within one link", () => {
    const links = new Set(linksOf(front))
    const pages = [front, ...rooms.filter(({ path }) => links.has(path))]
    const named = new Set(pages.flatMap((page) => [...linksOf(page), ...pathsOf(page.text)]))
    for (const path of [
      "layers/runtime/tool/ToolInvoker.ts",
      "services/RunJournal.ts",
      "layers/sql/journal",
      "layers/runtime/approval/LocalApprovalDesk.ts",
      "layers/model/providers/Providers.ts",
      "layers/channel/EmailChannel.ts",
      "layers/http/server/HttpService.ts",
      "src/run/RunEvent.ts",
      "src/spectral/agents",
      "layers/sql/engine/migrations",
      "test/contracts"
    ]) {
      assert.isTrue(named.has(path), path)
    }
  })

  it("explains at most 40 words, each once", () => {
    const glossary = front.text.slice(front.text.indexOf("## Glossary"))
    const words = [...glossary.matchAll(/\*\*([^*]+)\*\*/g)].map(([, word]) => word!)
    assert.isAtLeast(words.length, 30)
    assert.isAtMost(words.length, 40)
    assert.strictEqual(new Set(words).size, words.length)
  })
})

describe("the README of embedding", () => {
  it("lists every entry of the package", () => {
    const { text } = rooms.find(({ path }) => path === "layers/compose/README.md")!
    for (const [key, target] of Object.entries(manifest.exports)) {
      if (target === null || key === "./package.json") continue
      assert.include(text, `\`troupe${key.slice(1)}\``)
    }
  })
})

describe("the README of the ports", () => {
  it("lists every port", () => {
    const files = readdirSync(join(root, "services"), { recursive: true, encoding: "utf8" }).filter(
      (file) =>
        file.endsWith(".ts") &&
        /Context\.(Service|Reference)</.test(readFileSync(join(root, "services", file), "utf8"))
    )
    const { text } = rooms.find(({ path }) => path === "services/README.md")!
    const listed = [...text.matchAll(/^\| (`[^|]+`) \|/gm)].flatMap(([, cell]) =>
      [...cell!.matchAll(/`([\w/]+)`/g)].map(([, name]) => `${name}.ts`)
    )
    assert.deepEqual(listed.toSorted(), files.toSorted())
  })
})

describe("the changelog", () => {
  const changelog = readFileSync(join(root, "CHANGELOG.md"), "utf8")
  const versions = changelog
    .split(/^## /m)
    .slice(1)
    .map((text) => ({ name: /^[^\s:]+/.exec(text)![0], text }))

  it("has the version of the package, and each version once", () => {
    const names = versions.map(({ name }) => name)
    assert.include(names, manifest.version)
    for (const name of names) assert.match(name, /^\d+\.\d+\.\d+(?:-[\w.]+)?$/)
    assert.strictEqual(new Set(names).size, names.length)
  })

  it("has the kinds of changes that Keep a Changelog knows, each once in a version after the first", () => {
    for (const { text } of versions.slice(0, -1)) {
      const kinds = [...text.matchAll(/^### (.*)$/gm)].map(([, kind]) => kind!)
      assert.includeMembers(
        ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"],
        kinds
      )
      assert.strictEqual(new Set(kinds).size, kinds.length)
    }
  })

  it("has an item for each fact, in lines of at most 130 characters", () => {
    for (const line of changelog.split("\n")) assert.isAtMost(line.length, 130, line)
    for (const { text } of versions) {
      const lines = text.slice(text.indexOf("### ")).split("\n")
      for (const line of lines) assert.match(line, /^(?:$|### |- |  \S)/)
    }
  })

  it("says what the first version does on one page", () => {
    assert.isAtMost(versions.at(-1)!.text.split("\n").length, 100)
  })
})
