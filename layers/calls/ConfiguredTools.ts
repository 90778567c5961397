/**
 * Tools of a configuration, as tools of the runtime: operations of the platform that the runtime calls itself, and
 * references that the platform's gateway runs.
 *
 * ```ts
 * const tools = ConfiguredTools.tools({
 *   tools: [{ type: "platform", op: "commit_revision" }],
 *   callback: { endpoint: "https://app.example.org/api/tools/call", authorization: token }
 * })
 * ```
 */
import { hash } from "node:crypto"
import { Context, Effect, Result, Schema } from "effect"
import { canonical } from "../../src/value/Canonical.ts"
import { memberOf } from "../../src/call/BodyPath.ts"
import { repeatingOf } from "../../src/call/CallDescriptor.ts"
import type { CallProfile } from "../../src/call/CallTarget.ts"
import type { PlatformCatalogue, PlatformOp } from "../../src/call/PlatformOp.ts"
import { loadCatalogue } from "../../src/call/PlatformOp.ts"
import { platform_ops } from "../../src/call/PlatformOps.ts"
import type { ResolvedTool, ToolResolution } from "../../src/call/ResolvedTool.ts"
import { resolveTools } from "../../src/call/ResolvedTool.ts"
import type { HostContext } from "../../src/call/HostContext.ts"
import { decodeHostContext, withBothForms } from "../../src/call/HostContext.ts"
import type { ToolConfig, WorkflowRevision } from "../../src/call/ToolConfig.ts"
import {
  decodeToolConfigs,
  decodeWorkflowRevision,
  isRevisionId,
  referenceIdentity,
  ToolConfigRefused
} from "../../src/call/ToolConfig.ts"
import { defined } from "../../src/value/PlainObject.ts"
import { cutText } from "../../src/value/CutText.ts"
import type { ToolError } from "../../src/error/ToolError.ts"
import { isToolError, ToolTransientError } from "../../src/error/ToolError.ts"
import type { Governance } from "../../src/tool/Governance.ts"
import { specOf } from "../../src/tool/Governance.ts"
import type { GovernedTool } from "../../src/tool/GovernedTool.ts"
import { bindTool } from "../../src/tool/GovernedTool.ts"
import type { MisdeclaredTool } from "../../src/tool/MisdeclaredTool.ts"
import type { OutputCodec } from "../../src/tool/ToolCodec.ts"
import { jsonSchemaInput, outputCodec } from "../../src/tool/ToolCodec.ts"
import type { Resolver } from "./Exchange.ts"
import type { RevisionOf } from "./DirectCall.ts"
import type {
  AskRevision,
  HostContextOf,
  HostPath,
  Revisions,
  RevisionsOf
} from "./HostQuestions.ts"
import type { Callback } from "./PlatformClient.ts"
import { oncePerRun } from "./OncePerRun.ts"
import * as DirectCall from "./DirectCall.ts"
import * as GatewayCall from "./GatewayCall.ts"
import * as HostQuestions from "./HostQuestions.ts"
import * as PlatformClient from "./PlatformClient.ts"

export type { CallerOf } from "./OncePerRun.ts"
export type { Callback } from "./PlatformClient.ts"
export type { HostPath, Revisions, RevisionsOf, HostContextOf } from "./HostQuestions.ts"

export interface Options {
  /** Configurations by `type`, and callbacks that a host has resolved. */
  readonly tools: ReadonlyArray<ToolConfig>
  /** Absent = there is no callback, and the start fails if a tool needs one. */
  readonly callback?: Callback
  /**
   * `base`: GET and POST below /api/. `extended`: PUT and DELETE too, below the callback's own mount. `full`: PATCH too.
   * Absent = `base`.
   */
  readonly profile?: CallProfile
  /** Operations in addition to those of `platform_ops`. One with the same name replaces the platform's. */
  readonly operations?: ReadonlyArray<PlatformOp>
  /** The workflow and the variant that this runtime runs as: they are written into the fixed bodies of its calls. */
  readonly identity?: HostContext
  /**
   * Values that may change between two turns, such as the latest revision. Each call that needs them asks once, before a person
   * is asked about the call; the answer is journaled and is what is sent. The runtime adds the run's trace and, as the session,
   * its conversation. `{ path }` = an endpoint of the platform answers. Absent = only the runtime's own values are filled in.
   */
  readonly context?: HostContextOf | HostPath
  /**
   * Which revision a reference stands for, such as `workflow.environment.production.summarize`. It is asked for when the runtime
   * starts, without a caller, for the schema of its inputs, and then once by each run that calls it. The answer comes from a
   * function, from an endpoint of the platform (`{ path }`), or from a record of revisions by reference.
   */
  readonly references?: RevisionsOf | HostPath | Revisions
  /** The timeout of one request, and of one answer of a function of this program, in ms, 1 to 600,000. Absent = 30,000. */
  readonly timeout_ms?: number
  /** The resolver of host names. Absent = the system's. */
  readonly resolve?: Resolver
  /** The only certificate authority to trust, in PEM. Absent = those that Node trusts. */
  readonly ca?: string
}

/** The default timeout of one direct or gateway call. */
export const timeout_ms_default = 30_000
/** The tool's own timeout is longer than the client's by this much, so that the client's comes first, with a precise error. */
const margin_ms = 1_000
const target_units_max = 4_000
const description_units_max = 1_000

const sha256 = (text: string): string => hash("sha256", text, "hex")

const cut = (text: string): string => cutText(text, description_units_max)

/** The gateway's URL, with a digest in the place of its query, in which the operator may have written a credential. */
const gatewayOf = (endpoint: string) => {
  const { origin, pathname, search } = new URL(endpoint)
  return search === ""
    ? { endpoint }
    : { endpoint: origin + pathname, query: { sha256: sha256(search) } }
}

/** The target to which a call is bound, as one canonical text. */
const boundTo = ({ target }: ResolvedTool, endpoint: string): string => {
  if (target._tag === "Gateway") return canonical({ ...gatewayOf(endpoint), ref: target.ref })
  const { call, handler } = target
  if (handler !== undefined) {
    const { body, context } = call
    return canonical({ ...gatewayOf(endpoint), ref: handler, body, context })
  }
  return target.reference === undefined
    ? canonical({ origin: new URL(endpoint).origin, ...call })
    : canonical({ origin: new URL(endpoint).origin, reference: target.reference })
}

/** A description for approvers: where a call goes, and what is filled in for the model. */
const effectOf = ({ description, target }: ResolvedTool, endpoint: string): string => {
  const { origin } = new URL(endpoint)
  if (target._tag === "Gateway") return cut(`Runs ${target.ref} by the gateway of ${origin}.`)
  const { body, content, context = {}, headers = {}, method, path } = target.call
  if (target.reference !== undefined) {
    return cut(`Runs ${target.reference} by ${method} ${path} of ${origin}. ${description}`)
  }
  const set = [
    ...(body === undefined ? [] : [`always with ${canonical(body)}`]),
    ...Object.entries(context).map(([at, token]) => `with ${at} from ${token}`)
  ]
  const type = content === undefined || content === null ? "" : ` as ${content.type}`
  const constant = Object.entries(headers).filter(([, value]) => typeof value === "string")
  const sent =
    constant.length === 0 ? "" : ` with the headers ${canonical(Object.fromEntries(constant))}`
  return cut(
    (target.handler === undefined
      ? `Sends ${method} ${path}${type} to ${origin}${sent}`
      : `Runs ${target.handler} by the gateway of ${origin}`) +
      (set.length === 0
        ? ". "
        : `, ${set.join(", ")}, whatever the arguments have in these places. `) +
      description
  )
}

const governanceOf = (tool: ResolvedTool, bound: string, endpoint: string, timeout_ms: number) => {
  const { id, namespace, needs_approval, permission, read_only, target } = tool
  return {
    namespace,
    // A tool with another target counts as another tool, so no decision or lost dispatch of the old one applies to it.
    version: `1-${sha256(bound).slice(0, 16)}`,
    side_effects: read_only ? "read" : "external",
    ...repeatingOf(tool),
    timeout_ms: (tool.timeout_ms ?? timeout_ms) + margin_ms,
    effect_description: effectOf(tool, endpoint),
    ...(id.length <= 64 ? { tags: [id] } : undefined),
    ...(target._tag === "Gateway" ? { text_result: true } : undefined),
    ...defined({ permission, needs_approval })
  } satisfies Governance
}

interface Built {
  /** The codec of every result: any JSON. */
  readonly output: OutputCodec
  readonly endpoint: string
  readonly timeout_ms: number
  readonly calls: DirectCall.Services
}

const governed = Effect.fnUntraced(function* (
  tool: ResolvedTool,
  { calls, endpoint, output, timeout_ms }: Built
): Effect.fn.Return<GovernedTool, MisdeclaredTool> {
  const { description, input_schema, name, provider, target } = tool
  const declared = yield* jsonSchemaInput(name, input_schema, true)
  const input = target._tag === "Gateway" ? GatewayCall.textOrObject(declared) : declared
  const bound = boundTo(tool, endpoint)
  const spec = yield* specOf(
    {
      name,
      description,
      input_schema: input.json_schema,
      output_schema: output.json_schema,
      reconcile: false
    },
    governanceOf(tool, bound, endpoint, timeout_ms)
  )
  const handler =
    target._tag === "Gateway"
      ? GatewayCall.handlerOf(calls.client, endpoint, target.ref)
      : yield* DirectCall.handlerOf(calls, endpoint, { ...tool, input, target })
  const made = yield* bindTool<never>(spec, { input, output, handler, services: Context.empty() })
  const fillIn = target._tag === "Direct" ? DirectCall.fillInOf(calls, target) : undefined
  return {
    ...made,
    provider,
    ...(fillIn === undefined ? undefined : { fillIn }),
    ...(target._tag === "Direct" && target.reference !== undefined
      ? { filledOncePerRun: true }
      : undefined),
    target: bound.length <= target_units_max ? bound : { sha256: sha256(bound) }
  }
})

const wrong = (field: string, problem: string): ToolConfigRefused =>
  new ToolConfigRefused({
    reason: "InvalidToolConfig",
    tool: field,
    message: `${field}: ${problem}`
  })

const namesOther = (configs: ReadonlyArray<ToolConfig>, own: PlatformCatalogue): boolean =>
  configs.some((each) => "op" in each && !own.has(each.op))

/** The operations of the options; if a tool names another one, also those of the platform, which they override. */
const catalogueOf = (operations: ReadonlyArray<PlatformOp>, configs: ReadonlyArray<ToolConfig>) => {
  const own = loadCatalogue(operations)
  if (Result.isFailure(own) || !namesOther(configs, own.success)) return own
  return Result.map(loadCatalogue(platform_ops), (all) => new Map([...all, ...own.success]))
}

/** The revisions of all references among the tools, by reference; each is asked for once. */
const revisionsOf = Effect.fnUntraced(function* (
  ask: AskRevision | undefined,
  configs: ReadonlyArray<ToolConfig>
) {
  const found = new Map<string, WorkflowRevision>()
  if (ask === undefined) return found
  for (const config of configs) {
    if ("kind" in config || config.type !== "reference") continue
    const identity = referenceIdentity(config)
    if (found.has(identity)) continue
    const given = yield* Effect.mapError(ask(identity), (error) =>
      wrong(
        identity,
        `its revision could not be asked for${isToolError(error) ? `: ${error.message}` : ""}`
      )
    )
    if (given === undefined) continue
    const revision = Result.mapError(decodeWorkflowRevision(given), (problem) =>
      wrong(identity, `what "references" says of it cannot be used: ${problem}`)
    )
    found.set(identity, yield* Effect.fromResult(revision))
  }
  return found
})

const noRevision = (): ToolError =>
  new ToolTransientError({
    kind: "external",
    reason: "NO_REVISION",
    message: "the workflow has no revision that can be run now, and nothing was sent"
  })

/** Makes a function that gives the revision of a reference. It asks once for each run and reference. */
const revisionsByRun = (ask: AskRevision | undefined, timeout_ms: number): RevisionOf => {
  const known = new Map<string, ReturnType<typeof oncePerRun<string, ToolError>>>()
  const asking = (identity: string) =>
    oncePerRun(
      timeout_ms,
      async (caller) => {
        const found = ask === undefined ? undefined : await Effect.runPromise(ask(identity, caller))
        const revision = memberOf(found, "revision")
        if (!isRevisionId(revision)) throw noRevision()
        return revision
      },
      noRevision
    )
  return (identity, caller) => {
    let ask = known.get(identity)
    if (ask === undefined) known.set(identity, (ask = asking(identity)))
    return ask(caller)
  }
}

const questionsOf = Effect.fnUntraced(function* (
  { context, references, timeout_ms = timeout_ms_default }: Options,
  platform: HostQuestions.Platform | undefined
) {
  const asker = <A>(field: string, made: Result.Result<A, string>) =>
    Effect.fromResult(Result.mapError(made, (problem) => wrong(field, problem)))
  return {
    context:
      context === undefined
        ? undefined
        : yield* asker("context", HostQuestions.contextAsker(context, platform, timeout_ms)),
    references:
      references === undefined
        ? undefined
        : yield* asker("references", HostQuestions.revisionAsker(references, platform, timeout_ms))
  }
})

const checkedContext = (identity: HostContext | undefined) =>
  identity === undefined
    ? Result.succeed({})
    : Result.mapError(decodeHostContext(identity), (problem) => wrong("identity", problem))

/** Makes the tools of a configuration, for a registry. Fails with the first tool or option that cannot work. */
export const tools = (
  options: Options
): Effect.Effect<ReadonlyArray<GovernedTool>, MisdeclaredTool | ToolConfigRefused> =>
  Effect.gen(function* () {
    const { ca, callback, profile = "base", resolve, timeout_ms = timeout_ms_default } = options
    if (!Number.isSafeInteger(timeout_ms) || timeout_ms < 1 || timeout_ms > 600_000) {
      return yield* wrong("timeout_ms", "it is no whole number from 1 to 600000")
    }
    const fault = callback === undefined ? undefined : PlatformClient.callbackFault(callback, ca)
    if (fault !== undefined) return yield* wrong(...fault)
    const identity = withBothForms(yield* Effect.fromResult(checkedContext(options.identity)))
    const configs = yield* Effect.fromResult(decodeToolConfigs(options.tools))
    const client =
      callback === undefined
        ? undefined
        : PlatformClient.make({ callback, timeout_ms, resolve, ca })
    const platform =
      callback === undefined || client === undefined
        ? undefined
        : { client, endpoint: callback.endpoint, profile, identity }
    const { context, references } = yield* questionsOf(options, platform)
    const resolution: ToolResolution = {
      catalogue: yield* Effect.fromResult(catalogueOf(options.operations ?? [], configs)),
      endpoint: callback?.endpoint,
      profile,
      identity,
      hasContext: context !== undefined,
      revisions: yield* revisionsOf(references, configs)
    }
    const resolved = yield* Effect.fromResult(resolveTools(configs, resolution))
    // Without a callback, there are no tools here: each one was refused.
    if (platform === undefined) return []
    const revisionOf = revisionsByRun(references, timeout_ms)
    const calls = { ...platform, context, revisionOf }
    const output = yield* outputCodec("result", Schema.Json)
    const built: Built = { calls, endpoint: platform.endpoint, output, timeout_ms }
    return yield* Effect.forEach(resolved, (tool) => governed(tool, built))
  })
