/**
 * The main job: one process with the Operations Agent, its HTTP surface and a database in a directory. Needs no key and
 * no server; with a model in the environment it uses that one.
 */
import { join } from "node:path"
import { Cause, Clock, Effect, Layer, Option, Redacted, References } from "effect"
import type { Scope } from "effect"
import { Command } from "effect/cli"
import { SqlError } from "effect/sql"
import * as WebhookDelivery from "../layers/channel/WebhookDelivery.ts"
import { wire_names } from "../layers/http/boundary/HttpSettings.ts"
import * as ConsoleFeature from "../layers/compose/assembly/ConsoleFeature.ts"
import * as NodeMain from "../layers/compose/entries/NodeMain.ts"
import * as Spectral from "../layers/compose/entries/Spectral.ts"
import { Troupe } from "../layers/compose/entries/Troupe.ts"
import * as ModelFromEnv from "../layers/model/providers/ModelFromEnv.ts"
import * as ScriptedModelGateway from "../layers/model/tape/ScriptedModelGateway.ts"
import { exceptionOf, logFault } from "../layers/runtime/tool/FaultReport.ts"
import * as OutboxRelay from "../layers/runtime/relay/OutboxRelay.ts"
import { workspaceOperations } from "../src/spectral/agents/Operations.ts"
import { spectral_name, spectralAgents } from "../src/spectral/agents/SpectralAgents.ts"
import { Tenant } from "../src/value/Ids.ts"
import { Policy } from "../src/permission/Policy.ts"
import { Principal } from "../src/principal/Principal.ts"
import type { NewVersion } from "../src/spectral/worlds/NewVersion.ts"
import { ApprovalDesk } from "../services/ApprovalDesk.ts"
import type { ModelRequest } from "../services/ModelGateway.ts"
import { RecordImporter } from "../services/spectral/platform/RecordImporter.ts"
import { WorkspaceReader } from "../services/spectral/platform/WorkspaceReader.ts"
import { WorldPublisher } from "../services/spectral/worlds/WorldPublisher.ts"
import { WorldReader } from "../services/spectral/worlds/WorldReader.ts"
import { optionalText, runCommandLine, toggle } from "./command/CommandLine.ts"
import { Refused } from "./command/Refused.ts"
import * as Incident from "./incident/Incident.ts"
import { chatCommand, data_default } from "./chat/ChatCommand.ts"
import * as Receiver from "./incident/Receiver.ts"
import { script } from "./incident/IncidentScript.ts"
import { sampleRecords } from "./sample/SampleRecords.ts"
import { spectralScript } from "./sample/SpectralScript.ts"
import * as AppFile from "./start/AppFile.ts"
import { assistant, assistant_name, assistantScript } from "./start/Assistant.ts"
import * as Environment from "./start/Environment.ts"
import * as LogLines from "./start/LogLines.ts"
import * as ToolFile from "./start/ToolFile.ts"
import * as WholeFile from "./start/WholeFile.ts"
import { sampleWorlds } from "./sample/SampleWorlds.ts"

const tenant = Tenant.make("default")
const operator = new Principal({ id: "operator", tenant, roles: ["admin"] })

const say = (line = "") => Effect.sync(() => process.stdout.write(`${line}\n`))

const banner = Effect.fnUntraced(function* (
  url: string,
  data: string,
  { file, isNew, token }: Environment.Token,
  model: string,
  model_ignored: boolean,
  console_path: string
) {
  WholeFile.replace(join(data, "url"), `${url}\n`)
  yield* say()
  yield* say(`  Troupe is up.   ${url}   (API: ${url}/docs)`)
  yield* say(
    `  token           ${isNew ? `${token}   (shown this once; kept in ${file})` : `in ${file}`}`
  )
  yield* say(`  console         ${url}${console_path}   (signs in once, within an hour)`)
  yield* say(`  wires           ${url}/wires/mcp, ${url}/wires/v1 and more: layers/http/README.md`)
  yield* say(`  model           ${model}`)
  if (model_ignored) {
    yield* say(
      "                  TROUPE_MODEL is ignored without TROUPE_MODEL_PROVIDER or TROUPE_MODEL_BASE_URL"
    )
  }
  yield* say(`  data            ${data}`)
  yield* say(`  process         ${process.pid}`)
  yield* say()
})

const walk = Effect.fnUntraced(function* (data: string, receiver: Receiver.Receiver) {
  yield* Effect.gen(function* () {
    if (!receiver.repaired()) {
      yield* say(
        "  An incident: three paid orders whose webhook is down. Their deliveries are refused until they are"
      )
      yield* say("  dead letters, and the log has an error for each, as it would for yours:")
    }
    const orders = yield* Incident.prepare(tenant, receiver)
    const open = orders - receiver.accepted().length
    const waiting = yield* ApprovalDesk.use((desk) => desk.pending(operator, 1))
    const chat = `${chatCommand(data)} --conversation walk`
    if (open === 0) {
      yield* say(
        `  All events of the incident were delivered. To begin anew, stop this process and remove ${data}.`
      )
      yield* say()
      yield* say(`  To talk, in another terminal:   ${chat}`)
    } else if (waiting.length > 0) {
      yield* say("  A question waits for a person: the agent does not go on before it is answered.")
      yield* say()
      yield* say(`  Next, in another terminal:   ${chat}`)
      yield* say("  shows it, and asks for the answer. Approved, the event is delivered once.")
    } else {
      yield* say(
        `  ${open} events are dead letters, and the receiver has been repaired. Nothing sends them again by itself.`
      )
      yield* say()
      yield* say(`  Next, in another terminal:   ${chat}`)
      yield* say(
        '  and ask it: "What is stuck?", then "Replay the first". While the approval waits, kill this process'
      )
      yield* say(
        `  (kill -9 ${process.pid} works), start it again, and approve: it is delivered once.`
      )
    }
    yield* say(
      "  Others to talk with:   --agent spectral, --agent world-advertising (layers/builtin/README.md)"
    )
    yield* say()
  }).pipe(Effect.catch((error) => Effect.logError("the incident could not be prepared", error)))
})

/** Publishes the worlds that are not there yet. */
const publish = Effect.fnUntraced(function* (worlds: ReadonlyArray<NewVersion>) {
  const reader = yield* WorldReader
  const publisher = yield* WorldPublisher
  const known = new Set((yield* reader.worlds(tenant)).map(({ world_id }) => world_id))
  for (const version of worlds) {
    if (!known.has(version.world.world_id)) yield* publisher.publish(tenant, version)
  }
})

/** Gives the tenant a workspace with records, unless it has one. All of them are there or none. */
const fill = Effect.gen(function* () {
  const workspaces = yield* WorkspaceReader
  const importer = yield* RecordImporter
  yield* Effect.catchTag(workspaces.workspace(tenant), "RecordNotFound", () =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => importer.record(tenant, sampleRecords(1, now)))
  )
})

/** The receiver of the incident is in this process. */
const webhooksTo = ({ url }: Receiver.Receiver) =>
  WebhookDelivery.handlers.pipe(
    Effect.provideService(WebhookDelivery.WebhookConfig, { url, allow_ranges: ["127.0.0.0/8"] })
  )

const relayConfig = Layer.effect(
  OutboxRelay.RelayConfig,
  Effect.map(OutboxRelay.RelayConfig, (config) => ({ ...config, ...Incident.relay }))
)

const scriptOf = (request: ModelRequest) =>
  request.agent === assistant_name
    ? assistantScript(request)
    : (spectralScript(request) ?? script(request))

/** With the worlds of this process too. */
const operationsHere = {
  ...workspaceOperations,
  tools: [...workspaceOperations.tools, "ask_world_agent"]
}

/** Here an operator sees a rule candidate before it is queued, though it changes no rule. */
const policy = Policy.make({ approval_required: ["propose_rule_candidate"] })

interface Flags {
  readonly platform: boolean
  /** The path of a file with tool configurations. */
  readonly tools: string | undefined
  /** The path of a module that exports options of `start`. */
  readonly app: string | undefined
}

/** The reference platform is no part of an image: it stands with the tests of a clone. */
const platformIn = (data: string) =>
  Effect.tryPromise({
    try: () => import("../test/calls/host/Walk.ts"),
    catch: () => new Refused({ message: "--platform needs the folder test of a clone" })
  }).pipe(Effect.flatMap((walk) => walk.start(data)))

/** What the flags add. */
const addedBy = Effect.fnUntraced(function* (
  { platform, tools: path }: Flags,
  file: ToolFile.FileTools | undefined,
  data: string
) {
  const host = platform ? yield* platformIn(data) : undefined
  return {
    agents: [...(host?.agents ?? []), ...(file === undefined ? [] : [assistant(file)])],
    tools: host?.tools ?? [],
    toolConfigs: file?.options,
    /** The part of a model, where none is configured. */
    script: (request: ModelRequest) => host?.script(request) ?? scriptOf(request),
    /** Lines for a person. `chat` is the command that reaches this service. */
    text: (chat: string) => [
      ...(host?.text(chat) ?? []),
      ...(file === undefined
        ? []
        : [
            `  Tools of ${path}: ${file.names.join(", ")}`,
            `  Talk with the agent that has them:   ${chat} --agent ${assistant_name}`,
            ""
          ])
    ]
  }
})

const model_names = {
  onNone: () => "none is configured, so a script plays its part; everything else is real",
  onSome: ({ model }: ModelFromEnv.ChosenModel) => model
}

const storeOf = (data: string, database: Option.Option<Redacted.Redacted>) =>
  Option.match(database, {
    onNone: () => ({ directory: join(data, "db") }),
    onSome: (url) => ({ postgres: Redacted.value(url) })
  })

/** The agents of a module, instead of those of this file. */
const mainOfApp = Effect.fnUntraced(function* (path: string) {
  const { data, database, host, model_ignored, port } = yield* Environment.readSettings
  const exported = yield* AppFile.read(path)
  const kept = yield* Environment.prepareDirectory(data)
  const chosen = yield* ModelFromEnv.choose()
  const { console_path, url } = yield* AppFile.serve(path, exported, {
    host,
    port,
    token: kept.token,
    principal: operator,
    model: Option.map(chosen, ({ layer }) => layer),
    store: storeOf(data, database)
  })
  yield* Environment.forgetSecrets
  const model = exported.model === undefined ? Option.match(chosen, model_names) : `that of ${path}`
  yield* banner(Environment.reachableUrl(url ?? ""), data, kept, model, model_ignored, console_path)
  yield* say(`  Agents of ${path}: ${exported.agents.map(({ name }) => name).join(", ")}`)
  const [first] = exported.agents
  yield* say(`  Talk with one, in another terminal:   ${chatCommand(data)} --agent ${first?.name}`)
  yield* say()
  return yield* Effect.never
})

const main = Effect.fnUntraced(function* (flags: Flags) {
  const { data, database, host, model_ignored, port } = yield* Environment.readSettings
  const file = flags.tools === undefined ? undefined : yield* ToolFile.read(flags.tools)
  const kept = yield* Environment.prepareDirectory(data)
  const chosen = yield* ModelFromEnv.choose()
  const receiver = yield* Receiver.start(join(data, "receiver"))
  const added = yield* addedBy(flags, file, data)
  const worlds = sampleWorlds()
  const published = worlds.map(({ world }) => world)
  const spectral = Spectral.feature({ worlds: published })
  const app = Troupe.layer({
    agents: [
      operationsHere,
      ...(yield* Effect.fromResult(Spectral.worldAgents(published))),
      ...(yield* Effect.fromResult(spectralAgents())),
      ...added.agents
    ],
    features: [spectral],
    tools: added.tools,
    ...(added.toolConfigs === undefined ? undefined : { toolConfigs: added.toolConfigs }),
    deliveries: [webhooksTo(receiver)],
    policy,
    model: Option.match(chosen, {
      onNone: () =>
        ScriptedModelGateway.layer(added.script, { piece_units: 24, piece_delay_ms: 15 }),
      onSome: (model) => model.layer
    }),
    store: storeOf(data, database),
    // One token, which is an operator's; customers' would be others.
    http: {
      host,
      port,
      tokens: [{ token: kept.token, principal: operator }],
      console: true,
      settings: { wires: wire_names }
    },
    // Where a question is decided. Of a port that is chosen at the start nobody knows it yet.
    ...(port > 0 && {
      approval_url: Environment.reachableUrl(`http://${host}:${port}/console/inbox/{id}`)
    }),
    customer_agents: [spectral_name]
  }).pipe(Layer.provide(relayConfig))
  const context = yield* Effect.mapError(Layer.build(app), (error) =>
    Option.isSome(database) && SqlError.isSqlError(error)
      ? Environment.explainDatabase(database.value, error)
      : error
  )
  yield* Environment.forgetSecrets
  yield* Effect.provideContext(Effect.andThen(publish(worlds), fill), context)
  yield* Effect.provideContext(
    Effect.andThen(
      Troupe.use(
        Effect.fnUntraced(function* ({ url = "" }) {
          yield* banner(
            Environment.reachableUrl(url),
            data,
            kept,
            Option.match(chosen, model_names),
            model_ignored,
            yield* ConsoleFeature.signInPath(tenant, Redacted.make(kept.token))
          )
        })
      ),
      walk(data, receiver)
    ),
    context
  )
  for (const line of added.text(chatCommand(data))) yield* say(line)
  return yield* Effect.never
})

/** The reason of a failed start as a sentence; of a defect with its stack. */
const explained = (cause: Cause.Cause<unknown>) => {
  const error = Cause.findErrorOption(cause)
  if (Option.isNone(error)) return Cause.pretty(cause)
  const text = error.value instanceof Error ? error.value.message : String(error.value)
  return text.endsWith("another process listens there")
    ? `${text}: stop it, or set TROUPE_PORT`
    : text
}

const description = `Runs an operations agent with its HTTP API, until it is stopped. Its settings are variables of the environment:

  TROUPE_DATA              the directory of its data (${data_default})
  TROUPE_PORT              the port of its HTTP API (${Environment.port_default}); 0 takes a free one
  TROUPE_HOST              the interface that it listens on (127.0.0.1); 0.0.0.0 for all
  TROUPE_DATABASE_URL      a PostgreSQL server, instead of a database in the directory
  TROUPE_LOG_LEVEL         debug, info, warn or error: the lowest level of the log on stderr (info)
  TROUPE_LOG_FORMAT        logfmt or json (logfmt)
  TROUPE_MODEL             a model's name; without one a script plays the model's part
  TROUPE_MODEL_PROVIDER    openai, anthropic, google, ... (layers/model/README.md)
  TROUPE_MODEL_BASE_URL    the address of an endpoint that is compatible with OpenAI's
  TROUPE_MODEL_API_KEY     the model's key
  TROUPE_TOOLS_AUTHORIZATION  the header Authorization of calls of --tools
  OTEL_...                 where traces, metrics and logs go (layers/telemetry/README.md)`

/** What the flags ask for. */
const chosenMain = (flags: Flags) => {
  if (flags.app === undefined) return main(flags)
  if (!flags.platform && flags.tools === undefined) return mainOfApp(flags.app)
  const message = "--app serves the agents of its module alone: leave out --platform and --tools"
  return Effect.fail(new Refused({ message }))
}

/**
 * Logs each promise that a module's code rejects and nobody awaits as an error, until the scope closes. Node would end the process,
 * and after its next start the same call of the same run would end it again, with the runs of everybody. An exception that nobody
 * catches still ends the process.
 */
const logStrayRejections: Effect.Effect<void, never, Scope.Scope> = Effect.gen(function* () {
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const log = (reason: unknown): void => {
    fork(logFault("a promise was rejected that nobody awaits", exceptionOf(Cause.die(reason)), {}))
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => process.on("unhandledRejection", log)),
    () => Effect.sync(() => process.off("unhandledRejection", log))
  )
})

/** With the log that the environment asks for. */
const withLog = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Environment.readLogSettings, ({ format, level }) =>
    effect.pipe(
      Effect.provide(LogLines.layer(format)),
      Effect.provideService(References.MinimumLogLevel, level)
    )
  )

const program = (flags: Flags): Effect.Effect<void> =>
  Effect.scoped(
    Effect.andThen(
      logStrayRejections,
      Effect.suspend((): Effect.Effect<never, unknown, Scope.Scope> => chosenMain(flags))
    )
  ).pipe(
    withLog,
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.interrupt
        : Effect.sync(() => {
            process.stderr.write(`\n  Troupe did not start: ${explained(cause)}\n`)
            process.exitCode = 1
          })
    )
  )

const flags = {
  platform: toggle(
    "platform",
    "a reference host platform on loopback too, and an agent whose tools call it (layers/calls/README.md)"
  ),
  tools: optionalText(
    "tools",
    "FILE",
    "JSON with tool configurations, for an agent of the name assistant (layers/calls/README.md)"
  ),
  app: optionalText(
    "app",
    "FILE",
    "a module with agents and tools of yours, instead of the operations agent (layers/compose/README.md)"
  )
}

const start = Command.make("start", flags, program).pipe(Command.withDescription(description))

NodeMain.run(runCommandLine(start), { disableErrorReporting: true })
