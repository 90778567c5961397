/**
 * The tools of MCP servers as tools of this runtime. Each server is an operator's declaration, each command and host
 * allowed by name, each definition pinned by its hash:
 *
 * ```ts
 * const servers = ImportedMcpServers.layer({
 *   servers: [{ namespace: "files", transport: "stdio", program: process.execPath, args: [script, "/data"] }],
 *   allow: { commands: [commandLine(...)] }
 * })
 * ```
 */
import { Clock, Deferred, Effect, Latch, Layer, Result, Scope } from "effect"
import type { NewMcpPin } from "../../services/McpPins.ts"
import { McpPins } from "../../services/McpPins.ts"
import { McpServers } from "../../services/McpServers.ts"
import type { StoreError } from "../../services/StoreError.ts"
import { logText } from "../../src/value/InvisibleText.ts"
import * as Entries from "../../src/entry/ArgumentReaders.ts"
import type { GovernedTool } from "../../src/tool/GovernedTool.ts"
import { McpDefinitionNotOffered, McpToolNotFound } from "../../src/mcp/McpPin.ts"
import type { McpAcceptance, McpPin } from "../../src/mcp/McpPin.ts"
import type { McpAllow, McpOptions, McpServer } from "../../src/mcp/McpServer.ts"
import { McpServerRefused, serverRefusalOf, servers_max } from "../../src/mcp/McpServer.ts"
import { inMilliseconds } from "../../src/value/Times.ts"
import { misdeclared } from "../../src/tool/MisdeclaredTool.ts"
import type { MisdeclaredTool } from "../../src/tool/MisdeclaredTool.ts"
import { didYouMean } from "../../src/value/Nearest.ts"
import { contextNames, contextToolsOf } from "./ContextTools.ts"
import { credentialsOf } from "./McpCredentials.ts"
import { badSchema, toolOf } from "./ImportedTool.ts"
import { keepConnected, warnOfServer } from "./McpSession.ts"
import type { Offers } from "./Offers.ts"
import { collisions, offerStateOf, statusOf } from "./Offers.ts"
import type { McpClientMissing } from "./McpUnavailable.ts"
import { McpServerUnavailable } from "./McpUnavailable.ts"
import type { Sdk } from "./Sdk.ts"
import { load } from "./Sdk.ts"

/** Why a runtime with MCP servers does not start. */
export type StartError =
  | McpClientMissing
  | McpServerRefused
  | McpServerUnavailable
  | MisdeclaredTool
  | StoreError

const pinsOf = (all: ReadonlyArray<McpPin>): ReadonlyMap<string, McpPin> =>
  new Map(all.map((pin) => [pin.tool, pin]))

const acceptedByDeclaration = (offers: Offers, now: number): ReadonlyArray<NewMcpPin> => {
  const { accept, first_use, namespace } = offers.server
  const trusts =
    offers.pins.size === 0 && (first_use ?? (accept === undefined ? "trust" : "refuse")) === "trust"
  return [...(offers.listed ?? [])].flatMap(([tool, offer]) => {
    if (offer.problem !== undefined) return []
    const stands = offers.pins.get(tool)?.hash
    if (stands === offer.hash) return []
    const how: McpAcceptance | undefined = accept?.includes(offer.hash)
      ? "listed"
      : trusts
        ? "first_use"
        : undefined
    if (how === undefined) return []
    const { definition, hash } = offer
    const by = { accepted_by: "declaration", accepted_at: now, how }
    return [{ pin: { server: namespace, tool, hash, definition, ...by }, replaces: stands ?? null }]
  })
}

/** Opens an awaited tool whose definition is known and accepted. */
const open = (offers: Offers, tool: string): void => {
  const accepted = offers.pins.get(tool)
  if (accepted === undefined) return
  const bad = badSchema(accepted.definition)
  if (bad !== undefined) offers.refused = new Map([...offers.refused, [tool, bad]])
  offers.started = new Map([...offers.started, [tool, accepted]])
}

/** Stores the pins of a list, and opens the tools that waited for it. Pins that another process wrote first stay. */
const adopt = Effect.fnUntraced(function* (pins: McpPins["Service"], offers: Offers) {
  const { namespace } = offers.server
  const wanted = acceptedByDeclaration(offers, yield* Clock.currentTimeMillis)
  if (wanted.length > 0) {
    yield* Effect.catchTag(pins.accept(wanted), "McpPinConflict", () => Effect.void)
    offers.pins = pinsOf(yield* pins.of(namespace))
  }
  for (const tool of offers.awaited) {
    if (!offers.started.has(tool)) open(offers, tool)
    if (offers.listed?.has(tool) === false) {
      yield* warnOfServer(offers, `an MCP server has no tool "${tool}", which this service names`)
    }
  }
})

/** Finds a declaration for an unknown tool. It is a mistake, and may have been meant to refuse a tool. */
const undeclared = (offers: Offers): MisdeclaredTool | undefined => {
  if (offers.listed === undefined) return undefined
  const own = contextNames(offers.server)
  const known = new Set([...offers.listed.keys(), ...offers.pins.keys(), ...own])
  const named = [...Object.keys(offers.server.tools ?? {}), ...(offers.server.only ?? [])]
  const stray = named.find((tool) => !known.has(tool))
  return stray === undefined
    ? undefined
    : misdeclared(
        stray,
        `servers.${offers.server.namespace}`,
        `the MCP server has no tool of this name.${didYouMean(stray, known)}`,
        "Correct the name, or leave it out"
      )
}

const warned_max = 20

/** Logs which tools are refused and why, because an agent that names one starts, but its calls fail. */
const warnOfRefused = Effect.fnUntraced(function* (offers: Offers, names: ReadonlyArray<string>) {
  const refused = names.flatMap((tool) => {
    const { message, state } = offerStateOf(offers, tool)
    return state === "refused" ? [`"${tool}" of an MCP server cannot be called: ${message}`] : []
  })
  for (const message of refused.slice(0, warned_max)) yield* warnOfServer(offers, message)
  const more = refused.length - warned_max
  if (more > 0) yield* warnOfServer(offers, `${more} more of its tools cannot be called`)
})

/** A server with its tools in the registry; `keys` are their keys, by the server's names. */
interface Imported {
  readonly offers: Offers
  readonly tools: ReadonlyArray<GovernedTool>
  readonly keys: Map<string, string>
  /** Has no start reached it yet? */
  readonly isUnseen: boolean
}

const connect = Effect.fnUntraced(function* (
  sdk: Sdk,
  pins: McpPins["Service"],
  server: McpServer,
  allow: McpAllow
): Effect.fn.Return<Offers, McpServerUnavailable | StoreError, Scope.Scope> {
  const offers: Offers = {
    server,
    allow,
    credentials: credentialsOf(server),
    connection: undefined,
    attempt: Deferred.makeUnsafe(),
    wanted: yield* Latch.make(false),
    trouble: "",
    failures: 0,
    listed: undefined,
    pins: pinsOf(yield* pins.of(server.namespace)),
    started: new Map(),
    awaited: new Set(),
    refused: new Map(),
    restarts: 0
  }
  const { attempt } = offers
  const adopted = Effect.mapError(
    adopt(pins, offers),
    ({ message }) => new McpServerUnavailable({ server: server.namespace, message })
  )
  yield* Effect.forkScoped(keepConnected(sdk, offers, adopted))
  const reached = yield* Effect.result(Deferred.await(attempt))
  if (Result.isFailure(reached) && server.optional === false) return yield* reached.failure
  return offers
})

const importServer = Effect.fnUntraced(function* (
  sdk: Sdk,
  pins: McpPins["Service"],
  server: McpServer,
  allow: McpAllow
): Effect.fn.Return<Imported, StartError, Scope.Scope> {
  const offers = yield* connect(sdk, pins, server, allow)
  const stray = undeclared(offers)
  if (stray !== undefined) return yield* stray
  const declared = [...(server.only ?? []), ...Object.keys(server.tools ?? {})]
  const isUnseen = offers.listed === undefined && offers.pins.size === 0
  const own = contextNames(server)
  for (const tool of isUnseen ? declared : []) if (!own.includes(tool)) offers.awaited.add(tool)
  offers.started = offers.pins
  const only = server.only === undefined ? undefined : new Set(server.only)
  const names = [
    ...new Set([...offers.pins.keys(), ...(offers.listed?.keys() ?? []), ...offers.awaited])
  ]
    .filter((tool) => only === undefined || only.has(tool))
    .sort()
  const collided = collisions(server, names)
  const tools: Array<GovernedTool> = []
  const keys = new Map<string, string>()
  const refused = new Map(collided)
  for (const tool of names) {
    const isUnreadable = offers.listed?.get(tool)?.problem !== undefined && !offers.pins.has(tool)
    if (collided.has(tool) || isUnreadable) continue
    const definition = offers.started.get(tool)?.definition
    // Compiling takes a while, and a server may list many tools, so other fibers run in between.
    yield* Effect.yieldNow
    const bad = definition === undefined ? undefined : badSchema(definition)
    if (bad !== undefined) refused.set(tool, bad)
    const made = yield* toolOf(offers, tool)
    tools.push(made)
    keys.set(tool, made.key)
  }
  offers.refused = new Map([...offers.refused, ...refused])
  yield* warnOfRefused(offers, names)
  tools.push(...(yield* contextToolsOf(offers, new Set(tools.map(({ spec }) => spec.name)))))
  return { offers, tools, keys, isUnseen }
})

/** `namespace.tool@version` */
const toolKey = /^([^.]+)\.(.+)@[^@]+$/

/** The closed tool of this name, of the only server that may have it; undefined = there is none. */
const awaitedTool = Effect.fnUntraced(function* (unseen: ReadonlyArray<Imported>, name: string) {
  const [, namespace, plain = name] = toolKey.exec(name) ?? []
  const [imported, ...others] = unseen.filter(
    ({ offers: { server } }) =>
      (namespace ?? server.namespace) === server.namespace &&
      (server.only === undefined || server.only.includes(plain))
  )
  if (imported === undefined || others.length > 0) return undefined
  const { keys, offers } = imported
  const made = yield* toolOf(offers, plain)
  if (made.key !== name && made.spec.name !== name) return undefined
  offers.awaited.add(plain)
  open(offers, plain)
  keys.set(plain, made.key)
  return made
})

interface Plain extends Pick<McpOptions, "allow"> {
  readonly servers: ReadonlyArray<McpServer>
}

const checked = Effect.fnUntraced(function* ({ allow, servers }: Plain) {
  const seen = new Set<string>()
  for (const server of servers) {
    const refused =
      serverRefusalOf(server, allow) ??
      (seen.has(server.namespace)
        ? new McpServerRefused({
            server: server.namespace,
            field: "namespace",
            message: "two servers have this namespace"
          })
        : undefined)
    if (refused !== undefined) return yield* refused
    seen.add(server.namespace)
  }
  const beyond = servers[servers_max]
  if (beyond !== undefined) {
    return yield* new McpServerRefused({
      server: beyond.namespace,
      field: "servers",
      message: `there may be at most ${servers_max}`
    })
  }
})

const make = Effect.fnUntraced(function* (given: McpOptions) {
  const options = inMilliseconds(given, 3) as Plain
  yield* checked(options)
  const pins = yield* McpPins
  const sdk = yield* load
  // They end at the same time: each may take seconds.
  const scope = yield* Effect.acquireRelease(Scope.make("parallel"), Scope.close)
  const imported = yield* Effect.forEach(
    options.servers,
    (server) => importServer(sdk, pins, server, options.allow),
    { concurrency: servers_max }
  ).pipe(Scope.provide(scope))
  const byName = new Map(imported.map(({ offers }) => [offers.server.namespace, offers]))
  const sorted = [...imported].sort((a, b) =>
    a.offers.server.namespace < b.offers.server.namespace ? -1 : 1
  )
  return McpServers.of({
    tools: imported.flatMap(({ tools }) => tools),
    awaited: Effect.fnUntraced(function* (names) {
      const unseen = imported.filter(({ isUnseen }) => isUnseen)
      const made = yield* Effect.forEach(names, (name) => awaitedTool(unseen, name))
      return made.filter((tool) => tool !== undefined)
    }),
    status: Effect.sync(() => sorted.map(({ keys, offers }) => statusOf(offers, keys))),
    accept: Effect.fn("McpServers.accept")(function* (given, which, text, who) {
      const server = yield* Entries.word(given, "server")
      const tool = yield* Entries.name(which, "tool")
      const hash = yield* Entries.word(text, "hash")
      const by = yield* Entries.entitled(who, "acceptMcpTool")
      const offers = byName.get(server)
      const offer = offers?.listed?.get(tool)
      if (offers === undefined || offer === undefined) {
        return yield* new McpToolNotFound({ server, tool })
      }
      if (offer.problem !== undefined || offer.hash !== hash) {
        const offered = offer.problem === undefined ? offer.hash : null
        return yield* new McpDefinitionNotOffered({ server, tool, hash, offered })
      }
      const stands = offers.pins.get(tool)
      if (stands?.hash === hash) return stands
      const accepted: McpPin = {
        server,
        tool,
        hash,
        definition: offer.definition,
        accepted_by: by.id,
        accepted_at: yield* Clock.currentTimeMillis,
        how: "operator"
      }
      yield* Effect.tapErrorTag(
        pins.accept([{ pin: accepted, replaces: stands?.hash ?? null }]),
        "McpPinConflict",
        // The definition that another process accepted stays; the operator sees it in the next status.
        () => Effect.map(pins.of(server), (all) => void (offers.pins = pinsOf(all)))
      )
      offers.pins = new Map([...offers.pins, [tool, accepted]])
      yield* Effect.logInfo(
        `accepted a definition of "${logText(tool)}" of the MCP server "${server}"`
      ).pipe(Effect.annotateLogs({ by: by.id, old_hash: stands?.hash ?? "none", new_hash: hash }))
      return accepted
    }),
    history: (server, limit) => pins.history(server, limit)
  })
})

/** The imported tools, for a registry. */
export const tools: Effect.Effect<ReadonlyArray<GovernedTool>, never, McpServers> = McpServers.use(
  (servers) => Effect.succeed(servers.tools)
)

/** Starts the servers when the layer is built. When the layer closes, they and all processes that they forked have ended. */
export const layer = (options: McpOptions): Layer.Layer<McpServers, StartError, McpPins> =>
  Layer.effect(McpServers, make(options))
