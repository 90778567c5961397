/**
 * A span for each model turn, by OpenTelemetry's conventions for generative AI: what was asked, who answered, how many
 * tokens it took. Attempts and fallbacks below are events of that span, and one turn is one span.
 */
import { Effect, Exit, Layer, Tracer } from "effect"
import type { ModelError, ModelRequest } from "../../services/ModelGateway.ts"
import { ModelGateway } from "../../services/ModelGateway.ts"
import { defined } from "../../src/value/PlainObject.ts"
import type { Turn } from "../../src/run/RunDecider.ts"

const asked = ({ agent, frame, model, run, settings, step, trace_id }: ModelRequest) =>
  defined({
    "gen_ai.operation.name": "chat",
    "gen_ai.agent.name": agent,
    "gen_ai.request.model": model,
    "gen_ai.request.temperature": settings?.temperature,
    "gen_ai.request.max_tokens": settings?.max_output_tokens,
    "troupe.run_id": run,
    "troupe.frame": frame,
    "troupe.step": step,
    "troupe.trace_id": trace_id
  })

/** Spans have counts and names, never the text of prompts or answers. */
const answered = (span: Tracer.Span, turn: Turn): void => {
  const { calls, finish, model, usage } = turn
  const attributes = defined({
    "gen_ai.response.model": model,
    "gen_ai.response.finish_reasons": [finish],
    "troupe.calls": calls.length,
    "gen_ai.usage.input_tokens": usage?.input_tokens,
    "gen_ai.usage.output_tokens": usage?.output_tokens,
    "gen_ai.usage.cache_read.input_tokens": usage?.cached_tokens,
    "gen_ai.usage.reasoning.output_tokens": usage?.reasoning_tokens
  })
  for (const [name, value] of Object.entries(attributes)) span.attribute(name, value)
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
