/**
 * A span for each model turn, by OpenTelemetry's conventions for generative AI: what was asked, who answered, how many
 * tokens it took. Attempts and fallbacks below are events of that span, and one turn is one span.
 */
import { Effect, Exit, Layer, Tracer } from "effect"
import { ModelGateway } from "../../services/ModelGateway.ts"
import type { ModelError, ModelRequest } from "../../services/ModelGateway.ts"
import type { Turn } from "../../src/run/RunDecider.ts"

const asked = (request: ModelRequest): Record<string, unknown> => ({
  "gen_ai.operation.name": "chat",
  "gen_ai.agent.name": request.agent,
  ...(request.model === undefined ? undefined : { "gen_ai.request.model": request.model }),
  ...(request.settings?.temperature === undefined
    ? undefined
    : { "gen_ai.request.temperature": request.settings.temperature }),
  ...(request.settings?.max_output_tokens === undefined
    ? undefined
    : { "gen_ai.request.max_tokens": request.settings.max_output_tokens }),
  "troupe.run_id": request.run,
  "troupe.frame": request.frame,
  "troupe.step": request.step,
  ...(request.trace_id === undefined ? undefined : { "troupe.trace_id": request.trace_id })
})

/** Spans have counts and names, never the text of prompts or answers. */
const answered = (span: Tracer.Span, turn: Turn): void => {
  const { usage } = turn
  if (turn.model !== undefined) span.attribute("gen_ai.response.model", turn.model)
  span.attribute("gen_ai.response.finish_reasons", [turn.finish])
  span.attribute("troupe.calls", turn.calls.length)
  if (usage === undefined) return
  span.attribute("gen_ai.usage.input_tokens", usage.input_tokens)
  span.attribute("gen_ai.usage.output_tokens", usage.output_tokens)
  if (usage.cached_tokens !== undefined) {
    span.attribute("gen_ai.usage.cache_read.input_tokens", usage.cached_tokens)
  }
  if (usage.reasoning_tokens !== undefined) {
    span.attribute("gen_ai.usage.reasoning.output_tokens", usage.reasoning_tokens)
  }
}

const traced =
  (gateway: ModelGateway["Service"]): ModelGateway["Service"]["turn"] =>
  (request, sink) =>
    Effect.useSpan(
      request.model === undefined ? "chat" : `chat ${request.model}`,
      { kind: "client", attributes: asked(request) },
      (span) =>
        Effect.suspend(() => gateway.turn(request, sink)).pipe(
          Effect.withParentSpan(span),
          Effect.onExit((exit: Exit.Exit<Turn, ModelError>) =>
            Effect.sync(() => {
              if (Exit.isSuccess(exit)) return answered(span, exit.value)
              const error = exit.cause.reasons.find((reason) => reason._tag === "Fail")?.error
              span.attribute("error.type", error?.reason ?? error?.kind ?? "interrupted")
            })
          )
        )
    )

const make = Effect.map(ModelGateway, (gateway) =>
  Effect.withFiber((fiber) =>
    Effect.succeed(
      // Without a tracer the gateway is returned unchanged, so that a turn costs nothing more.
      fiber.cache.tracer === undefined
        ? gateway
        : ModelGateway.of({ ...gateway, turn: traced(gateway) })
    )
  )
)

/** Over the gateway beneath. Looks for a tracer once, when it is built: provide one beneath the runtime. */
export const layer: Layer.Layer<ModelGateway, never, ModelGateway> = Layer.effect(
  ModelGateway,
  Effect.flatten(make)
)
