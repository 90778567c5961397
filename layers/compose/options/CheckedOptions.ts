/**
 * Checks the options of a start before anything is opened: an option that does not fit its type fails with
 * `InvalidInput` and its field, and leaves no directory, no connection and no program behind.
 */
import { Effect, Layer, Redacted, Result, Schema } from "effect"
import { guards_max, isGuard } from "../../../src/agent/Guard.ts"
import { call_profiles } from "../../../src/call/CallTarget.ts"
import { InvalidInput, shapeReader } from "../../../src/schema/InvalidInput.ts"
import type { Budget } from "../../../src/cost/Budget.ts"
import { Budgets, duplicateBudget } from "../../../src/cost/Budget.ts"
import type { PriceTable } from "../../../src/cost/PriceTable.ts"
import { compilePriceTable } from "../../../src/cost/PriceTable.ts"
import { checkPolicyRoles } from "../../../src/permission/PolicyCheck.ts"
import { DeclaredRoles, declaredRoles } from "../../../src/principal/Rights.ts"
import { BindingTarget, bindings_max } from "../../../src/conversation/ChannelBinding.ts"
import { AgentName } from "../../../src/value/Ids.ts"
import { parseAddressRange } from "../../../src/network/Address.ts"
import type { Policy } from "../../../src/permission/Policy.ts"
import { decodeAgent } from "../../runtime/directory/LocalAgentDirectory.ts"
import { memory_bytes_min } from "../../runtime/loop/RunMemory.ts"
import { validatePolicy } from "../../runtime/tool/GovernedInvoker.ts"
import { checkHttp } from "./CheckedServerOptions.ts"
import type { Http } from "./ServerOptions.ts"
import { ObserversInput } from "./ObserversInput.ts"
import type { AnyFeature } from "./Feature.ts"
import type { Options } from "./ServiceOptions.ts"
import {
  family,
  func,
  isUrl,
  definedOptions,
  EventHandlersShape,
  is,
  isObject,
  isOnly,
  isPostgres,
  postgres_shape,
  layer,
  listOf,
  objectOf,
  optionalBetween,
  secret,
  Telemetry,
  text,
  texts,
  time,
  url
} from "./OptionShapes.ts"

// Not a union, which would report an undefined member, such as an unset variable, as an excess property.
const Store = is<NonNullable<Options["store"]>>(
  `"ephemeral", { directory: a text that is not empty } or ${postgres_shape}`,
  (value) => value === "ephemeral" || isOnly(value, "directory", /./s) || isPostgres(value)
)

const common = {
  namespace: text,
  tools: Schema.optionalKey(Schema.Record(Schema.String, objectOf("an object"))),
  only: Schema.optionalKey(texts),
  first_use: Schema.optionalKey(Schema.Literals(["trust", "refuse"])),
  accept: Schema.optionalKey(texts),
  hints: Schema.optionalKey(Schema.Literals(["claims", "ignore"])),
  timeout_ms: Schema.optionalKey(Schema.Number),
  total_ms: Schema.optionalKey(Schema.Number),
  connect_timeout_ms: Schema.optionalKey(Schema.Number),
  optional: Schema.optionalKey(Schema.Boolean),
  resources: Schema.optionalKey(Schema.Boolean),
  prompts: Schema.optionalKey(Schema.Boolean),
  message_bytes_max: Schema.optionalKey(Schema.Number),
  calls_max: Schema.optionalKey(Schema.Number),
  protocol: Schema.optionalKey(Schema.Literals(["auto", "legacy"]))
}

const Mcp = Schema.Struct({
  servers: Schema.Array(
    Schema.Union([
      Schema.Struct({
        ...common,
        transport: Schema.Literal("stdio"),
        program: text,
        args: Schema.optionalKey(Schema.Array(Schema.String)),
        cwd: Schema.optionalKey(text),
        env: Schema.optionalKey(Schema.Record(Schema.String, secret)),
        inherit: Schema.optionalKey(texts)
      }),
      Schema.Struct({
        ...common,
        transport: Schema.Literal("http"),
        url: text,
        token: Schema.optionalKey(Schema.Union([is("a Redacted", Redacted.isRedacted), func])),
        headers: Schema.optionalKey(Schema.Union([Schema.Record(Schema.String, secret), func])),
        oauth: Schema.optionalKey(
          Schema.Struct({
            issuer: text,
            client_id: text,
            client_secret: Schema.optionalKey(is("a Redacted", Redacted.isRedacted)),
            scope: Schema.optionalKey(text),
            refresh: Schema.optionalKey(Schema.Struct({ load: func, save: func }))
          })
        )
      })
    ])
  ).check(Schema.isMaxLength(64)),
  allow: Schema.Struct({ commands: Schema.optionalKey(texts), hosts: Schema.optionalKey(texts) })
})

const functionOrObject = (what: string) =>
  is<object>(
    what,
    (value) => typeof value === "function" || (isObject(value) && !Array.isArray(value))
  )

/** The content of the lists and objects is checked where the tools are resolved, with errors that name the tool. */
const ToolConfigs = Schema.Struct({
  tools: Schema.Array(objectOf("an object with a type")).check(Schema.isMaxLength(1_000)),
  callback: Schema.optionalKey(
    Schema.Struct({
      endpoint: url,
      authorization: Schema.optionalKey(Schema.Union([secret, func]))
    })
  ),
  profile: Schema.optionalKey(Schema.Literals(call_profiles)),
  operations: listOf(objectOf("an operation of the platform")),
  identity: Schema.optionalKey(objectOf("what the host knows of runs")),
  context: Schema.optionalKey(functionOrObject("a function, or { path } of the platform")),
  references: Schema.optionalKey(
    functionOrObject("a function, { path } of the platform, or revisions by their references")
  ),
  secrets: Schema.optionalKey(Schema.Record(Schema.String, secret)),
  timeout_ms: Schema.optionalKey(Schema.Number),
  resolve: Schema.optionalKey(func),
  ca: Schema.optionalKey(text)
})

/** A plugin, or a family. What is an object and neither is refused as a plugin. */
const Shared = Schema.Union([
  Schema.Struct({ manifest: objectOf("an object"), tools: family }),
  family
])

const isGraph = (value: unknown): boolean =>
  typeof value === "string" || (isObject(value) && "spec" in value && "waves" in value)

const EventOptions = Schema.Struct({
  agent: AgentName,
  bindings: Schema.optionalKey(Schema.Array(BindingTarget).check(Schema.isMaxLength(bindings_max))),
  handlers: Schema.optionalKey(EventHandlersShape),
  // Up to a year.
  retention_ms: time(60_000, 31_536_000_000)
})

const isRange = (value: unknown): boolean =>
  typeof value === "string" && Result.isSuccess(parseAddressRange(value))

const WebhookOptions = Schema.Struct({
  allow_ranges: Schema.optionalKey(
    Schema.Array(is<string>("an address range such as 10.0.0.0/8", isRange)).check(
      Schema.isMaxLength(64)
    )
  ),
  http: Schema.optionalKey(Schema.Boolean),
  retention_ms: time(60_000, 31_536_000_000)
})

const Files = Schema.Struct({
  // A whole file is held in memory, also in base64.
  file_bytes_max: optionalBetween(1, 100_000_000),
  tenant_bytes_max: optionalBetween(1, Number.MAX_SAFE_INTEGER),
  customer_bytes_max: optionalBetween(1, Number.MAX_SAFE_INTEGER),
  customers_bytes_max: optionalBetween(1, Number.MAX_SAFE_INTEGER),
  // There may be a while between an upload and its message.
  unsent_ms: time(60_000, 31_536_000_000)
})

/** At least a day, because what has just ended may be asked for again; at most a hundred years. */
const kept_ms = time(86_400_000, 3_153_600_000_000)

const Retention = Schema.Struct({
  runs_ms: kept_ms,
  records_ms: kept_ms,
  archive: Schema.optionalKey(text)
})

const isModel = (value: unknown): boolean =>
  typeof value === "string"
    ? /^[^/\s]+\/\S+$/.test(value)
    : isObject(value) &&
      "specificationVersion" in value &&
      value.specificationVersion === "v4" &&
      "doStream" in value &&
      "doGenerate" in value

const models_max = 64

const what_models_are = `a text provider/model, a model object of an AI SDK package (specification v4), a list of 1 to ${models_max} of these, or a Layer`

const Model = is<Options["model"]>(
  what_models_are,
  (value) =>
    Layer.isLayer(value) ||
    isModel(value) ||
    (Array.isArray(value) &&
      value.length >= 1 &&
      value.length <= models_max &&
      value.every(isModel))
)

/** Its members are checked with those of the others. */
const FeatureShape = objectOf<AnyFeature>("a feature, as `feature` of `troupe/feature` makes it")

const fields = {
  agents: Schema.Array(objectOf("what `AgentSpec.make` or `agent` makes")).annotateKey({
    messageMissingKey: "it is missing: a list of what `AgentSpec.make` or `agent` makes"
  }),
  graphs: listOf(is("a text in YAML or JSON, or a loaded graph", isGraph)),
  tools: listOf(family),
  shared: listOf(Shared),
  features: Schema.optionalKey(Schema.Array(FeatureShape).check(Schema.isMaxLength(64))),
  deliveries: listOf(is("an Effect of handlers", Effect.isEffect)),
  mcp: Schema.optionalKey(Mcp),
  toolConfigs: Schema.optionalKey(ToolConfigs),
  model: Model.annotateKey({ messageMissingKey: `it is missing: ${what_models_are}` }),
  tokenizer: Schema.optionalKey(layer),
  policy: Schema.optionalKey(objectOf<Policy>("a policy: what `policyOf` makes")),
  guards: Schema.optionalKey(
    Schema.Array(is("a guard, as `Guard.make` makes it", isGuard)).check(
      Schema.isMaxLength(guards_max)
    )
  ),
  prices: Schema.optionalKey(objectOf<PriceTable>("a price table")),
  budgets: Schema.optionalKey(Budgets),
  store: Schema.optionalKey(Store),
  ports: Schema.optionalKey(layer),
  retention: Schema.optionalKey(Retention),
  customer_agents: Schema.optionalKey(Schema.Array(AgentName).check(Schema.isMaxLength(1_000))),
  approval_url: Schema.optionalKey(
    is<string>(
      "a URL that begins with http:// or https:// and has {id} in it",
      (value) => isUrl(value) && value.includes("{id}")
    )
  ),
  telemetry: Schema.optionalKey(Telemetry),
  observe: Schema.optionalKey(ObserversInput),
  channels: listOf(is("an Effect of a channel", Effect.isEffect)),
  ingress: Schema.optionalKey(layer),
  events: Schema.optionalKey(EventOptions),
  files: Schema.optionalKey(Files),
  webhooks: Schema.optionalKey(WebhookOptions),
  http: Schema.optionalKey(objectOf<Http>("an object with tokens")),
  roles: Schema.optionalKey(objectOf("an object with roles and the rights of each")),
  drain_ms: time(0, 3_600_000),
  in_flight_bytes_max: optionalBetween(memory_bytes_min, 2 ** 40)
} satisfies Record<keyof Options, unknown>

const read = shapeReader(Schema.Struct(fields), { owner: "start" })

/** Checks the option `toolConfigs` alone. Fails with the first member that is wrong. */
export const checkToolConfigs = (options: object) =>
  Effect.asVoid(shapeReader(ToolConfigs)(definedOptions(options), ""))

/**
 * Checks the options of a start. Fails with the first option that is wrong. Agents, policy and prices are checked elsewhere, with
 * errors of their own.
 */
export const checkOptions = Effect.fnUntraced(function* (options: object) {
  const shape = yield* read(definedOptions(options), "")
  const {
    agents,
    approval_url,
    customer_agents = [],
    events,
    http,
    policy,
    prices,
    retention,
    store
  } = shape
  const roles = yield* declaredRoles(definedOptions(shape.roles ?? {}), "roles")
  if (retention !== undefined && (store === undefined || store === "ephemeral")) {
    return yield* new InvalidInput({
      field: "retention",
      reason:
        "it needs a store with a directory or a server: an ephemeral one ends with its process"
    })
  }
  const { features = [] } = shape
  if (features.length > 0) {
    const { checkFeatures } = yield* Effect.promise(() => import("./CheckedFeatures.ts"))
    yield* checkFeatures(features, roles)
  }
  const { budgets = [] } = shape
  const declared: Array<readonly [field: string, budget: Budget]> = budgets.map((budget, index) => [
    `budgets[${index}]`,
    budget
  ])
  for (const [index, spec] of agents.entries()) {
    const decoded = yield* decodeAgent(spec, index)
    for (const [nth, budget] of (decoded.spec.budgets ?? []).entries()) {
      declared.push([`agents[${index}].budgets[${nth}]`, budget])
    }
  }
  const duplicate = duplicateBudget(declared)
  if (duplicate !== undefined) return yield* duplicate
  if (policy !== undefined) yield* checkPolicyRoles(yield* validatePolicy(policy), roles)
  if (prices !== undefined) yield* Effect.fromResult(compilePriceTable(prices))
  const checked = http === undefined ? undefined : checkHttp(http, customer_agents)
  return {
    approval_url,
    customer_agents,
    events,
    roles,
    http: checked && (yield* Effect.provideService(checked, DeclaredRoles, roles))
  }
})
