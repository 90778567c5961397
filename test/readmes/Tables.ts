/**
 * Tables of the READMEs that are made from the source: options from the docstrings of interfaces, routes from the declared API,
 * and rights from their table. A README names a table between two comments: `<!-- table: routes -->` and `<!-- end -->`.
 */
import { readFileSync } from "node:fs"
import { dirname, join, posix } from "node:path"
import { Context } from "effect"
import { HttpApi, OpenApi } from "effect/http-api"
import ts from "typescript-5.9"
import { Authentication, Needs } from "../../src/operation/Boundary.ts"
import { TroupeApi } from "../../src/operation/TroupeApi.ts"
import type { AnyRight, Reach, RightName } from "../../src/principal/Rights.ts"
import { rights } from "../../src/principal/Rights.ts"
import { operations } from "../../layers/service/ServiceOperations.ts"
import { boundRows } from "../bench/Bounds.ts"
import { root } from "../examples/Readmes.ts"

export interface Member {
  readonly name: string
  readonly isOptional: boolean
  /** The docstring in one line, without its tags; empty = there is none. */
  readonly text: string
  /** The page that its `@see` names, from the root. */
  readonly page: string | undefined
}

/** The members that an interface declares itself, in their order. Throws if the file has no such interface. */
export const membersOf = (file: string, name: string): ReadonlyArray<Member> => {
  const text = readFileSync(join(root, file), "utf8")
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const found = source.statements.find(
    (each) => ts.isInterfaceDeclaration(each) && each.name.text === name
  )
  if (found === undefined) throw new Error(`${file} declares no interface ${name}`)
  return (found as ts.InterfaceDeclaration).members.map((member) => {
    const docs = ts.getJSDocCommentsAndTags(member)
    const see = docs.flatMap((doc) => (ts.isJSDoc(doc) ? (doc.tags ?? []) : []))[0]?.getText()
    return {
      name: member.name!.getText(),
      isOptional: member.questionToken !== undefined,
      text: docs
        .flatMap((doc) => (ts.isJSDoc(doc) ? (ts.getTextOfJSDocComment(doc.comment) ?? "") : []))
        .join(" ")
        .replaceAll(/\s+/g, " ")
        .trim(),
      page: see === undefined ? undefined : /@see (\S+)/.exec(see)?.[1]
    }
  })
}

/** `Absent = ` up to the end of its sentence. A full stop within a word or a number ends none. */
const absent = / ?Absent = (.*?)\.(?= |$)/

/** What is true without the member; undefined = its docstring does not say it. */
export const absentOf = ({ text }: Member): string | undefined => absent.exec(text)?.[1]

const row = (cells: ReadonlyArray<string>): string =>
  `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`

const table = (heads: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  [row(heads), `|${"---|".repeat(heads.length)}`, ...rows.map(row)].join("\n")

/** The options that these interfaces declare. Throws where a docstring does not say what an option is, or is without it. */
const options =
  (...interfaces: ReadonlyArray<readonly [file: string, name: string]>) =>
  (readme: string): string => {
    const members = interfaces.flatMap(([file, name]) => membersOf(file, name))
    const names = new Set<string>()
    const rows = members.flatMap((member) => {
      const { isOptional, name, page, text } = member
      if (names.has(name)) return []
      names.add(name)
      if (text === "" || (isOptional && absentOf(member) === undefined)) {
        throw new Error(`the docstring of ${name} does not say what it is, or is without it`)
      }
      const link = page && ` [${dirname(page)}](${posix.relative(dirname(readme), page)})`
      const meaning = text.replace(absent, "") + (link ?? "")
      return [[`\`${name}\``, meaning, absentOf(member) ?? "it is needed"]]
    })
    return table(["option", "meaning", "absent"], rows)
  }

const ranks = ["viewer", "approver", "operator", "customer", "publisher"] as const
const reaches: Readonly<Record<Reach, string>> = { all: "yes", own: "its own", named: "if named" }

/** The methods that no operation declares, by their right. */
export const byHand: Readonly<Partial<Record<RightName, ReadonlyArray<string>>>> = {
  send: ["send", "ask", "stream"],
  follow: ["watch", "result"],
  inspect: ["pending"]
}

interface Endpoint {
  readonly route: string
  readonly path: string
  readonly summary: string
  /** Undefined = it needs no token. */
  readonly right: AnyRight | undefined
}

/** All endpoints of the API, in their order. */
const endpoints = (): ReadonlyArray<Endpoint> => {
  const found: Array<Endpoint> = []
  HttpApi.reflect(TroupeApi, {
    onGroup: () => undefined,
    onEndpoint: ({ endpoint }) => {
      const path = endpoint.path.replaceAll(/:(\w+)/g, "{$1}")
      const isOpen = ![...endpoint.middlewares].some(({ key }) => key === Authentication.key)
      found.push({
        route: `${endpoint.method} ${path}`,
        path,
        summary: Context.getUnsafe(endpoint.annotations, OpenApi.Summary),
        right: isOpen ? undefined : Context.get(endpoint.annotations, Needs)
      })
    }
  })
  return found
}

const rightsTable = (): string => {
  const code = (all: ReadonlyArray<string>) => all.map((each) => `\`${each}\``).join(", ")
  const rows = (Object.keys(rights) as ReadonlyArray<RightName>).map((right) => {
    const methods = Object.values(operations).flatMap(({ operation }) =>
      operation.right === right ? [operation.name] : []
    )
    const routes = endpoints().flatMap((each) => (each.right === right ? [each.route] : []))
    return [
      code([right]),
      code([...(byHand[right] ?? []), ...methods]),
      // It is no route of the API, but of the server.
      code(right === "inspect" ? [...routes, "GET /metrics"] : routes),
      ...ranks.map((rank) => {
        const reach = rights[right][rank]
        return reach === undefined ? "" : reaches[reach]
      })
    ]
  })
  return table(["right", "in code", "over HTTP", ...ranks], rows)
}

/** The roles of a right, with their reach where it is not everything. */
const rolesText = (given: AnyRight): string => {
  const right = typeof given === "string" ? rights[given] : given
  const roles = ranks.flatMap((rank) => {
    const reach = right[rank]
    if (reach === undefined) return []
    return reach === "all" ? [rank] : [`${rank} (${reaches[reach]})`]
  })
  return roles.length === 0 ? "admin" : roles.join(", ")
}

const routes = (): string => {
  const sorted = endpoints().toSorted((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0))
  return table(
    ["route", "what it does", "for"],
    sorted.map(({ right, route, summary }) => [
      `\`${route}\``,
      summary,
      right === undefined ? "everybody" : rolesText(right)
    ])
  )
}

const compose = "layers/compose/options"

const tables: Readonly<Record<string, (readme: string) => string>> = {
  start: options([`${compose}/ServiceOptions.ts`, "Options"]),
  http: options(
    [`${compose}/ServerOptions.ts`, "Http"],
    ["layers/http/server/NodeServer.ts", "Listen"]
  ),
  console: options([`${compose}/ServerOptions.ts`, "ConsoleOptions"]),
  openid: options(["layers/console/OpenIdOptions.ts", "OpenIdOptions"]),
  "principal-rule": options(["layers/console/OpenIdOptions.ts", "PrincipalRule"]),
  "http-settings": options(["layers/http/boundary/HttpSettings.ts", "HttpSettings"]),
  worker: options([`${compose}/WorkerOptions.ts`, "WorkerOptions"]),
  queue: options(["layers/runtime/queue/ToolQueueConfig.ts", "ToolQueueConfig"]),
  bounds: () => table(["work", "measured", "promise", "ambition", "kept"], boundRows()),
  postgres: options(["layers/sql/engine/Postgres.ts", "PostgresSettings"]),
  retention: options(["layers/sql/retention/Retention.ts", "RetentionOptions"]),
  rights: rightsTable,
  routes
}

/** The text of a README with each of its tables as the source has it now. Throws where it names no table. */
export const filled = (readme: string, text: string): string =>
  text.replaceAll(
    /(<!-- table: (\S+) -->\n)[\s\S]*?(?=<!-- end -->)/g,
    (_, head: string, name: string) => {
      const made = tables[name]
      if (made === undefined) throw new Error(`${readme}: there is no table ${name}`)
      return `${head}\n${made(readme)}\n\n`
    }
  )

export const tableNames: ReadonlyArray<string> = Object.keys(tables)
