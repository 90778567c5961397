/**
 * One connection to one MCP server, which lasts as long as its scope: listing tools, calling them, and noticing its end.
 */
import { Deferred, Effect, Schema, Semaphore } from "effect"
import type { Scope } from "effect"
import type {
  Client,
  ClientOptions,
  jsonSchemaValidator,
  Progress,
  RequestOptions,
  Transport
} from "@modelcontextprotocol/client"
import { sanitiseError } from "../../src/error/Exception.ts"
import type { ToolError } from "../../src/error/ToolError.ts"
import type { McpCallResult } from "../../src/mcp/McpResult.ts"
import { redacted } from "../../src/error/KnownSecrets.ts"
import type { McpServer } from "../../src/mcp/McpServer.ts"
import { commandLine, connectTimeout } from "../../src/mcp/McpServer.ts"
import type { McpDefinition } from "../../src/mcp/McpTool.ts"
import { httpTransport } from "./HttpTransport.ts"
import { failureOf, serverBusy, serverDown } from "./McpFailure.ts"
import { McpServerUnavailable } from "./McpUnavailable.ts"
import type { Sdk } from "./Sdk.ts"
import { StdioTransport } from "./StdioTransport.ts"
import type { Place } from "./McpCredentials.ts"

export interface McpConnection {
  readonly protocol: string | undefined
  /** All tools that the server lists, unchanged. */
  readonly list: Effect.Effect<ReadonlyArray<unknown>, McpServerUnavailable>
  /** Calls a tool. An interruption is reported to the server. A call that waits for others when `over` ends is not sent. */
  readonly call: (
    definition: McpDefinition,
    args: Readonly<Record<string, unknown>>,
    bounds: CallBounds
  ) => Effect.Effect<McpCallResult, ToolError>
  readonly ask: (
    method: string,
    params: Readonly<Record<string, unknown>>,
    bounds: CallBounds
  ) => Effect.Effect<Readonly<Record<string, unknown>>, ToolError>
  /** Completed with the reason when the connection has ended. */
  readonly lost: Deferred.Deferred<string>
}

export interface CallBounds {
  /** The greatest time of the call after it was sent. */
  readonly timeout_ms: number
  /** Ends when a call that was not sent yet must not be sent any more. */
  readonly over: Effect.Effect<void>
  /** Called with each report of the server's. */
  readonly progress: (progress: Progress) => void
}

const message_bytes_default = 16_000_000
const calls_default = 16
const pages_max = 64
const tools_max = 1_000
/** How long a program may take to say which protocol it speaks, before it is asked as before 2026: older ones may not answer. */
const probe_ms = 3_000
/** A server that let a call time out has this long to answer a ping. */
const ping_ms = 30_000
const terminate_ms = 1_000

/** A page of listed tools. Each tool is decoded separately later, so that one malformed tool does not hide the others. */
const Page = Schema.toStandardSchemaV1(
  Schema.Struct({
    tools: Schema.Array(Schema.Unknown),
    nextCursor: Schema.optional(Schema.NullOr(Schema.String))
  })
)

/** What is asked for is read member by member later. */
const Answer = Schema.toStandardSchemaV1(Schema.Record(Schema.String, Schema.Unknown))

/** A validator that accepts everything, because the gate checks the results. */
const unchecked: jsonSchemaValidator = {
  getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined })
}

const transportOf = (sdk: Sdk, place: Place): Transport => {
  const { server } = place
  const most = server.message_bytes_max ?? message_bytes_default
  return server.transport === "stdio"
    ? new StdioTransport(sdk, server, most)
    : httpTransport(sdk, place, server.url, most)
}

/** The command that is started or the origin that is reached, for logs and operators. */
export const targetOf = (server: McpServer): string =>
  server.transport === "stdio" ? commandLine(server) : new URL(server.url).origin

const codeOf = (error: unknown): unknown =>
  typeof error === "object" && error !== null && "code" in error ? error.code : undefined

const openFailure = ({ credentials, server }: Place, error: unknown, complaint: string): string => {
  const secrets = credentials.secrets()
  if (server.transport === "stdio" && codeOf(error) === "ENOENT") {
    return `its program or directory was not found: give an absolute path, or let it inherit PATH`
  }
  const message = sanitiseError(
    redacted(error instanceof Error ? error.message : "it failed", secrets)
  )
  const last = complaint.trim().split("\n").at(-1) ?? ""
  return last === ""
    ? message
    : `${message}; its last words: ${sanitiseError(redacted(last, secrets))}`
}

const unavailable = (server: McpServer, message: string) =>
  new McpServerUnavailable({ server: server.namespace, message })

const listOf = Effect.fnUntraced(function* (
  place: Place,
  client: Client
): Effect.fn.Return<ReadonlyArray<unknown>, McpServerUnavailable> {
  const { server } = place
  if (client.getServerCapabilities()?.tools === undefined) return []
  const tools: Array<unknown> = []
  let cursor: string | undefined
  let before: string | undefined
  for (let page = 0; page < pages_max; page++) {
    const params = cursor === undefined ? {} : { cursor }
    const answer = yield* Effect.tryPromise({
      try: (signal) =>
        client.request({ method: "tools/list", params }, Page, {
          signal,
          timeout: connectTimeout(server)
        }),
      catch: (error) => unavailable(server, `tools/list failed: ${openFailure(place, error, "")}`)
    })
    const isRepeated = answer.nextCursor === cursor
    // Some servers name a cursor that leads to the same page again, such as an empty text.
    if (isRepeated && JSON.stringify(answer.tools) === before) return tools
    tools.push(...answer.tools)
    if (tools.length > tools_max) {
      return yield* unavailable(server, `it lists more than ${tools_max} tools`)
    }
    if (typeof answer.nextCursor !== "string" || isRepeated) return tools
    cursor = answer.nextCursor
    before = JSON.stringify(answer.tools)
  }
  return yield* unavailable(server, `its list of tools has more than ${pages_max} pages`)
})

export interface ConnectionEvents {
  /** Called when the server announces that its list of tools has changed. */
  readonly changed: () => void
  /** Called when the connection has ended and nothing may be sent on it any more, before any call on it fails. */
  readonly ended: () => void
}

interface Session {
  readonly sdk: Sdk
  readonly place: Place
  readonly client: Client
  /** Ends the connection; only the first reason counts. */
  readonly end: (reason: string) => void
  readonly isLost: () => boolean
}

type Negotiation = NonNullable<ClientOptions["versionNegotiation"]>

const legacy: Negotiation = { mode: "legacy" }

const probed = (timeoutMs: number): Negotiation => ({ mode: "auto", probe: { timeoutMs } })

/** How a server is first asked for its protocol. What it may take for that ends the attempt only where it is over HTTP. */
const firstNegotiation = (server: McpServer): Negotiation => {
  if (server.protocol === "legacy") return legacy
  const timeout_ms = connectTimeout(server)
  return probed(server.transport === "stdio" ? Math.min(probe_ms, timeout_ms) : timeout_ms)
}

/** Undefined = not at all. Some end at a question that they do not know; a slow one refuses it after the short time of the first. */
const secondNegotiation = (
  sdk: Sdk,
  server: McpServer,
  error: unknown
): Negotiation | undefined => {
  if (server.transport !== "stdio" || server.protocol === "legacy") return undefined
  if (sdk.ProtocolError.isInstance(error)) return probed(connectTimeout(server))
  const isLost =
    sdk.SdkError.isInstance(error) && error.code === sdk.SdkErrorCode.EraNegotiationFailed
  return isLost ? legacy : undefined
}

const makeClient = (
  sdk: Sdk,
  negotiation: Negotiation,
  changed: () => void,
  end: (reason: string) => void
): Client => {
  const client = new sdk.Client(
    { name: "troupe", version: "1" },
    {
      capabilities: {},
      // The client's own validator would check results a second time, with patterns whose time has no bound.
      jsonSchemaValidator: unchecked,
      versionNegotiation: negotiation,
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: changed } }
    }
  )
  return Object.assign(client, {
    onclose: () => end("the connection was closed"),
    onerror: (error: Error) => {
      // The official transport reconnects by itself, and reports when it gives up.
      if (/maximum reconnection attempts/i.test(error.message)) end("the stream was lost")
    }
  })
}

const close = (sdk: Sdk, client: Client, transport: Transport): Effect.Effect<void> =>
  Effect.promise(async () => {
    if (transport instanceof sdk.StreamableHTTPClientTransport) {
      const ended = transport.terminateSession().catch(() => {})
      await Promise.race([
        ended,
        new Promise((resolve) => setTimeout(resolve, terminate_ms).unref())
      ])
    }
    await client.close().catch(() => {})
    await transport.close().catch(() => {})
  })

const isStatus = (sdk: Sdk, error: unknown, ...statuses: ReadonlyArray<number>): boolean =>
  sdk.SdkHttpError.isInstance(error) && statuses.includes(error.status)

/** One ping at a time after a broken request: who does not answer is connected anew. Only the older protocol has pings. */
const makeLivenessCheck = ({ client, end, place, sdk }: Session): Effect.Effect<void> => {
  const ping = Effect.tryPromise({
    try: (signal) => client.ping({ signal, timeout: ping_ms }),
    catch: (error) => ({ error })
  }).pipe(
    // A refusal is an answer too.
    Effect.tapError(({ error }) =>
      Effect.sync(() => {
        const { credentials, server } = place
        const failure = failureOf(sdk, server.namespace, error, credentials.secrets())
        // Some servers use status 400 for a lost session where the protocol says 404.
        if (isStatus(sdk, error, 400, 404)) end("it no longer knows the session")
        else if (failure._tag === "ToolTransientError") end("it did not answer a ping")
      })
    ),
    Effect.ignore
  )
  let isPinging = false
  return Effect.suspend(() => {
    if (isPinging || client.getProtocolEra() !== "legacy") return Effect.void
    isPinging = true
    return Effect.ensuring(
      ping,
      Effect.sync(() => {
        isPinging = false
      })
    )
  })
}

/** Runs a call when one of the permits is free. Fails with `busy` where none is before `over`: then the call is not sent. */
const whenPermitted = <A>(
  permits: Semaphore.Semaphore,
  over: Effect.Effect<void>,
  busy: ToolError,
  call: Effect.Effect<A, ToolError>
): Effect.Effect<A, ToolError> => {
  let is: "waiting" | "sent" | "late" = "waiting"
  const sent = Effect.suspend(() => {
    if (is === "late") return Effect.fail(busy)
    is = "sent"
    return call
  })
  const late = Effect.suspend(() => {
    if (is === "sent") return Effect.never
    is = "late"
    return Effect.fail(busy)
  })
  return Effect.raceFirst(Semaphore.withPermits(permits, 1)(sent), Effect.andThen(over, late))
}

const makeRequests = (
  session: Session,
  permits: Semaphore.Semaphore,
  liveness: Effect.Effect<void>,
  checkLiveness: () => void
): Pick<McpConnection, "ask" | "call"> => {
  const { client, end, place, sdk } = session
  const { credentials, server } = place
  const failed = (error: unknown) => failureOf(sdk, server.namespace, error, credentials.secrets())
  /** The failure of a request, after which the connection is ended or checked where it may be of no more use. */
  const settled = Effect.fnUntraced(function* (error: unknown) {
    const failure = failed(error)
    if (server.transport !== "http") return failure
    if (failure.reason === "MCP_SERVER_DOWN") end(failure.message)
    // The request was refused, so it may be sent again where the session was what it lacked.
    if (isStatus(sdk, error, 400)) {
      yield* liveness
      if (session.isLost()) return serverDown(server.namespace)
    }
    // One broken request does not mean that the others in flight are lost, as they are when the session ends.
    if (failure.reason === "MCP_CONNECTION_LOST" || failure.reason === "MCP_MALFORMED")
      checkLiveness()
    return failure
  })
  const request = <A>(
    { over, progress, timeout_ms }: CallBounds,
    ask: (options: RequestOptions) => Promise<A>
  ): Effect.Effect<A, ToolError> => {
    const sent = Effect.tryPromise({
      try: (signal) =>
        // The caller's deadline comes first, and interrupts; this one only bounds what the client keeps.
        ask({ signal, timeout: timeout_ms + 5_000, onprogress: progress }),
      catch: (error) => ({ error })
    }).pipe(
      Effect.catch(({ error }) => Effect.flatMap(settled(error), Effect.fail)),
      Effect.onInterrupt(() => Effect.sync(checkLiveness))
    )
    return whenPermitted(permits, over, serverBusy(server.namespace), sent)
  }
  return {
    call: (definition, args, bounds) => {
      const { outputSchema: _, ...withoutOutput } = definition
      return request(bounds, (options) =>
        client.callTool(
          { name: definition.name, arguments: { ...args } },
          { ...options, toolDefinition: withoutOutput as never }
        )
      )
    },
    ask: (method, params, bounds) =>
      request(bounds, (options) => client.request({ method, params }, Answer, options))
  }
}

interface OpenFailure {
  readonly error: unknown
  readonly complaint: string
}

const openWith = Effect.fnUntraced(function* (
  sdk: Sdk,
  place: Place,
  { changed, ended }: ConnectionEvents,
  negotiation: Negotiation
): Effect.fn.Return<McpConnection, OpenFailure, Scope.Scope> {
  const lost = yield* Deferred.make<string>()
  const end = (reason: string): void => {
    if (Deferred.doneUnsafe(lost, Effect.succeed(reason))) ended()
  }
  const transport = transportOf(sdk, place)
  const { server } = place
  const failure = (error: unknown): OpenFailure => ({
    error,
    complaint: transport instanceof StdioTransport ? transport.complaint : ""
  })
  const client = makeClient(sdk, negotiation, changed, end)
  yield* Effect.addFinalizer(() => close(sdk, client, transport))
  yield* Effect.tryPromise({
    try: (signal) => client.connect(transport, { signal, timeout: connectTimeout(server) }),
    catch: failure
  })
  if (yield* Deferred.isDone(lost)) {
    return yield* Effect.fail(failure(new Error("it has ended")))
  }
  const isLost = () => Deferred.isDoneUnsafe(lost)
  const session: Session = { sdk, place, client, end, isLost }
  const liveness = makeLivenessCheck(session)
  const services = yield* Effect.context()
  const permits = yield* Semaphore.make(server.calls_max ?? calls_default)
  const checkLiveness = () => void Effect.runForkWith(services)(liveness)
  return {
    protocol: client.getNegotiatedProtocolVersion(),
    list: listOf(place, client),
    ...makeRequests(session, permits, liveness, checkLiveness),
    lost
  }
})

/** When the scope closes, the connection is closed, and a local program and all processes that it forked have ended. */
export const openConnection = (
  sdk: Sdk,
  place: Place,
  events: ConnectionEvents
): Effect.Effect<McpConnection, McpServerUnavailable, Scope.Scope> => {
  const open = (negotiation: Negotiation) => openWith(sdk, place, events, negotiation)
  const { server } = place
  return open(firstNegotiation(server)).pipe(
    Effect.catch((failure) => {
      const again = secondNegotiation(sdk, server, failure.error)
      return again === undefined ? Effect.fail(failure) : open(again)
    }),
    Effect.mapError(({ complaint, error }) =>
      unavailable(server, openFailure(place, error, complaint))
    )
  )
}
