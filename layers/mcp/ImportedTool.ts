/**
 * Makes a tool of the registry from a tool of an MCP server: its accepted definition becomes the spec, its schemas the codecs,
 * and a handler calls the server.
 */
import { Context, Effect, Exit, Result } from "effect"
import type { Json } from "../../src/value/Canonical.ts"
import { isObject } from "../../src/value/PlainObject.ts"
import { ToolUserError } from "../../src/error/ToolError.ts"
import type { Governance } from "../../src/tool/Governance.ts"
import { specOf } from "../../src/tool/Governance.ts"
import type { GovernedContext, GovernedTool } from "../../src/tool/GovernedTool.ts"
import { bindTool } from "../../src/tool/GovernedTool.ts"
import type { McpDefinition } from "../../src/mcp/McpTool.ts"
import {
  claimedEffects,
  effectDescription,
  shownDescription,
  shownSchema
} from "../../src/mcp/McpTool.ts"
import { redacted, withoutSecrets } from "../../src/error/KnownSecrets.ts"
import type { McpCallResult } from "../../src/mcp/McpResult.ts"
import { describedPart, errorText, mediaOf, resultValue } from "../../src/mcp/McpResult.ts"
import { callTimes } from "../../src/mcp/McpServer.ts"
import type { CallTimes } from "../../src/mcp/McpServer.ts"
import type { MisdeclaredTool } from "../../src/tool/MisdeclaredTool.ts"
import { asMeant } from "../../src/schema/EffectDecoder.ts"
import { ValueRefused } from "../../src/schema/SchemaIssues.ts"
import type { InputCodec, OutputCodec } from "../../src/tool/ToolCodec.ts"
import { rounded } from "../../src/value/JsonText.ts"
import { compileForeignSchema } from "./ForeignSchema.ts"
import type { Validate } from "./ForeignSchema.ts"
import { serverDown } from "./McpFailure.ts"
import type { Offers } from "./Offers.ts"
import { withNumbers } from "./MessageText.ts"
import { nameOf, refusalOn } from "./Offers.ts"
import type { Request } from "./McpSession.ts"
import { send } from "./McpSession.ts"

type JsonObject = Readonly<Record<string, unknown>>
const progress_max = 100

const isJson = (value: unknown): Exit.Exit<unknown, ValueRefused> => Exit.succeed(value)

/** Which schema of a definition cannot be compiled, and why; undefined = both can. */
export const badSchema = (definition: McpDefinition): string | undefined => {
  for (const side of ["inputSchema", "outputSchema"] as const) {
    const schema = definition[side]
    const made = schema === undefined ? undefined : compileForeignSchema(schema)
    if (made !== undefined && Result.isFailure(made)) {
      return `its ${side} cannot be compiled: ${made.failure}`
    }
  }
  return undefined
}

/** A tool whose schema cannot be compiled is refused before its arguments are decoded, and again by its handler. */
const checking = (schema: JsonObject): Validate =>
  Result.getOrElse(compileForeignSchema(schema), () => isJson)

/** The schema that a model is shown, without any of our secrets that the server may have quoted. */
const shownWithout = (schema: Parameters<typeof shownSchema>[0], secrets: ReadonlyArray<string>) =>
  withoutSecrets(shownSchema(schema) as Json, secrets) as ReturnType<typeof shownSchema>

interface Codecs {
  readonly input: InputCodec
  readonly output: OutputCodec
}

const codecs = (definition: McpDefinition | undefined, secrets: ReadonlyArray<string>): Codecs => {
  const inputSchema: McpDefinition["inputSchema"] = definition?.inputSchema ?? { type: "object" }
  const given = asMeant(checking(inputSchema))
  const outputSchema = definition?.outputSchema
  const fits = outputSchema === undefined ? isJson : checking(outputSchema)
  const gives: Validate = (value) => Exit.map(fits(rounded(describedPart(value))), () => value)
  return {
    input: {
      json_schema: shownWithout(inputSchema, secrets),
      decode: (args) =>
        isObject(args)
          ? given(args)
          : Exit.fail(new ValueRefused({ message: "the arguments are no object" }))
    },
    output: { json_schema: shownWithout(outputSchema ?? {}, secrets), encode: gives, check: gives }
  }
}

/** Attaches the images and audio of a result, and returns the blocks for which this succeeded. The others are only described. */
export const attachMedia = Effect.fnUntraced(function* (
  result: McpCallResult,
  { call }: Pick<GovernedContext, "call">
) {
  const media = mediaOf(result)
  if (media.length === 0) return undefined
  const attached = new Set<unknown>()
  for (const { block, file } of media) {
    const stored = yield* Effect.exit(Effect.tryPromise(() => call.attach(file)))
    if (stored._tag === "Success") attached.add(block)
  }
  return attached
})

/** Calls the tool on a connection on which it may be called. After a reconnection the definition may have changed. */
const callOn =
  (offers: Offers, tool: string, args: JsonObject): Request<McpCallResult> =>
  (connection, bounds) => {
    const refusal = refusalOn(offers, tool)
    const definition = offers.started.get(tool)?.definition
    return refusal !== undefined || definition === undefined
      ? Effect.fail(refusal ?? serverDown(offers.server.namespace))
      : connection.call(definition, args, bounds)
  }

const handlerOf = (offers: Offers, tool: string, times: CallTimes): GovernedTool["handler"] => {
  /** Shows a progress message as a preliminary result. */
  const tell = (context: GovernedContext, services: Context.Context<never>) => {
    let left = progress_max
    return (value: object) => {
      if (left-- <= 0) return
      Effect.runForkWith(services)(
        context.preliminary(withoutSecrets({ ...value }, offers.credentials.secrets()))
      )
    }
  }
  return Effect.fnUntraced(function* (args, context) {
    const services = yield* Effect.context<never>()
    const sent = send(offers, times, callOn(offers, tool, args as JsonObject), {
      progress: tell(context, services),
      ...(context.stopped === undefined ? undefined : { stopped: context.stopped })
    })
    const result = withNumbers(yield* sent)
    const secrets = offers.credentials.secrets()
    if (result.isError === true) {
      return yield* new ToolUserError({
        kind: "external",
        reason: "MCP_TOOL_ERROR",
        message: redacted(errorText(result), secrets) || "it failed without a reason"
      })
    }
    return withoutSecrets(resultValue(result, yield* attachMedia(result, context)), secrets)
  })
}

const closedDescription = ({ awaited, server: { namespace } }: Offers, tool: string): string =>
  awaited.has(tool)
    ? `A tool of the MCP server "${namespace}", which was not connected when this service started. What it does and takes is not known yet.`
    : "A tool of an MCP server that no operator has accepted yet. It cannot be called."

/** The codecs of a definition that is known when a tool is called, under the schemas of its start. */
const lateCodecs = (offers: Offers, tool: string, { input, output }: Codecs): Codecs => {
  let known: Codecs | undefined
  const now = (): Codecs => {
    const definition = offers.started.get(tool)?.definition
    known ??=
      definition === undefined ? undefined : codecs(definition, offers.credentials.secrets())
    return known ?? { input, output }
  }
  return {
    input: { ...input, decode: (args) => now().input.decode(args) },
    output: {
      ...output,
      encode: (value) => now().output.encode(value),
      check: (value) => now().output.check(value)
    }
  }
}

/** Without an accepted definition, the tool cannot be called: a model never reads a definition that was not accepted. */
export const toolOf = Effect.fnUntraced(function* (
  offers: Offers,
  tool: string
): Effect.fn.Return<GovernedTool, MisdeclaredTool> {
  const { server } = offers
  const { namespace } = server
  const definition = offers.started.get(tool)?.definition
  const made_from = codecs(definition, offers.credentials.secrets())
  const { input, output } =
    definition === undefined ? lateCodecs(offers, tool, made_from) : made_from
  const { name: _, ...declared } =
    (server.tools !== undefined && Object.hasOwn(server.tools, tool)
      ? server.tools[tool]
      : undefined) ?? {}
  const times = callTimes(server, declared.timeout_ms)
  const claims = server.hints !== "ignore" && definition !== undefined
  const governance: Governance = {
    side_effects: claims ? claimedEffects(definition) : "external",
    // Results are texts, files among them. They are not escaped, because a model that writes a file back would write
    // the escapes.
    text_result: true,
    effect_description:
      definition === undefined
        ? closedDescription(offers, tool)
        : redacted(effectDescription(namespace, definition), offers.credentials.secrets()),
    ...declared,
    timeout_ms: times.total_ms,
    namespace
  }
  const spec = yield* specOf(
    {
      name: nameOf(server, tool),
      description:
        definition === undefined
          ? closedDescription(offers, tool)
          : redacted(shownDescription(definition), offers.credentials.secrets()),
      input_schema: input.json_schema,
      output_schema: output.json_schema,
      reconcile: false
    },
    governance
  )
  const made = yield* bindTool<never>(spec, {
    input,
    output,
    handler: handlerOf(offers, tool, times),
    services: Context.empty()
  })
  const refusal = () => refusalOn(offers, tool)
  return {
    ...made,
    provider: `mcp:${namespace}`,
    available: () => offers.connection !== undefined && refusal() === undefined,
    refusal
  }
})
