/**
 * Makes a tool of the registry from a tool of an MCP server: its accepted definition becomes the spec, its schemas the codecs,
 * and a handler calls the server.
 */
import { Context, Effect, Exit, Latch, Result } from "effect"
import type { Json } from "../../src/Canonical.ts"
import { isObject } from "../../src/PlainObject.ts"
import { ToolUserError } from "../../src/error/ToolError.ts"
import type { Governance } from "../../src/tool/Governance.ts"
import { specOf } from "../../src/tool/Governance.ts"
import type { GovernedContext, GovernedTool } from "../../src/tool/GovernedTool.ts"
import { bindTool } from "../../src/tool/GovernedTool.ts"
import type { McpDefinition } from "../../src/tool/McpTool.ts"
import {
  claimedEffects,
  effectDescription,
  shownDescription,
  shownSchema
} from "../../src/tool/McpTool.ts"
import { redacted, withoutSecrets } from "../../src/error/KnownSecrets.ts"
import type { McpCallResult } from "../../src/tool/McpResult.ts"
import { contentText, mediaOf, resultValue } from "../../src/tool/McpResult.ts"
import { secretsOf } from "../../src/tool/McpServer.ts"
import type { MisdeclaredTool } from "../../src/tool/MisdeclaredTool.ts"
import { ValueRefused } from "../../src/tool/ValueRefused.ts"
import type { InputCodec, OutputCodec } from "../../src/tool/ToolCodec.ts"
import { compileForeignSchema } from "./ForeignSchema.ts"
import type { Validate } from "./ForeignSchema.ts"
import { serverDown } from "./McpFailure.ts"
import type { Offers } from "./Offers.ts"
import { nameOf, refusalOn } from "./Offers.ts"

type JsonObject = Readonly<Record<string, unknown>>
/** How long a call waits for a server that is restarting. */
const reconnect_wait_ms = 5_000

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

const codecs = (
  definition: McpDefinition | undefined,
  secrets: ReadonlyArray<string>
): { readonly input: InputCodec; readonly output: OutputCodec } => {
  const inputSchema: McpDefinition["inputSchema"] = definition?.inputSchema ?? { type: "object" }
  const given = checking(inputSchema)
  const outputSchema = definition?.outputSchema
  const gives = outputSchema === undefined ? isJson : checking(outputSchema)
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
const attachMedia = Effect.fnUntraced(function* (result: McpCallResult, { call }: GovernedContext) {
  const media = mediaOf(result)
  if (media.length === 0) return undefined
  const attached = new Set<unknown>()
  for (const { block, file } of media) {
    const stored = yield* Effect.exit(Effect.tryPromise(() => call.attach(file)))
    if (stored._tag === "Success") attached.add(block)
  }
  return attached
})

const handlerOf = (offers: Offers, tool: string, timeout_ms: number): GovernedTool["handler"] => {
  const { server } = offers
  const secrets = secretsOf(server)
  /** Shows a progress message as a preliminary result. The connection passes on at most 100 of them in a call. */
  const tell = (context: GovernedContext, services: Context.Context<never>) => (value: object) =>
    void Effect.runForkWith(services)(context.preliminary(withoutSecrets({ ...value }, secrets)))
  return Effect.fnUntraced(function* (args, context) {
    const refusal = refusalOn(offers, tool)
    if (refusal !== undefined) return yield* refusal
    if (offers.connection === undefined) {
      yield* Effect.timeoutOption(Latch.await(offers.connected), reconnect_wait_ms)
    }
    const { connection } = offers
    if (connection === undefined) return yield* serverDown(server.namespace)
    // After a reconnection the definition may have changed.
    const changed = refusalOn(offers, tool)
    if (changed !== undefined) return yield* changed
    const definition = offers.started.get(tool)?.definition
    if (definition === undefined) return yield* serverDown(server.namespace)
    const services = yield* Effect.context<never>()
    const result = yield* connection.call(
      definition,
      args as JsonObject,
      timeout_ms,
      tell(context, services),
      context.stopped
    )
    if (result.isError === true) {
      return yield* new ToolUserError({
        kind: "external",
        reason: "MCP_TOOL_ERROR",
        message: redacted(contentText(result), secrets).trim() || "it failed without a reason"
      })
    }
    return withoutSecrets(resultValue(result, yield* attachMedia(result, context)), secrets)
  })
}

const closed_description =
  "A tool of an MCP server that no operator has accepted yet. It cannot be called."

/**
 * The tool of an accepted definition; for a tool without one, a tool that cannot be called: a model never reads a
 * definition that was not accepted.
 */
export const toolOf = Effect.fnUntraced(function* (
  offers: Offers,
  tool: string
): Effect.fn.Return<GovernedTool, MisdeclaredTool> {
  const { server } = offers
  const { namespace } = server
  const definition = offers.started.get(tool)?.definition
  const { input, output } = codecs(definition, secretsOf(server))
  const { name: _, ...declared } =
    (server.tools !== undefined && Object.hasOwn(server.tools, tool)
      ? server.tools[tool]
      : undefined) ?? {}
  const claims = server.hints !== "ignore" && definition !== undefined
  const governance: Governance = {
    side_effects: claims ? claimedEffects(definition) : "external",
    // Results are texts, files among them. They are not escaped, because a model that writes a file back would write
    // the escapes.
    text_result: true,
    ...(server.timeout_ms === undefined ? undefined : { timeout_ms: server.timeout_ms }),
    effect_description:
      definition === undefined
        ? closed_description
        : redacted(effectDescription(namespace, definition), secretsOf(server)),
    ...declared,
    namespace
  }
  const spec = yield* specOf(
    {
      name: nameOf(server, tool),
      description:
        definition === undefined
          ? closed_description
          : redacted(shownDescription(definition), secretsOf(server)),
      input_schema: input.json_schema,
      output_schema: output.json_schema,
      reconcile: false
    },
    governance
  )
  const made = yield* bindTool<never>(spec, {
    input,
    output,
    handler: handlerOf(offers, tool, spec.timeout_ms),
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
