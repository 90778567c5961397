/**
 * The built-in tools called as SemStreams calls them: a message to a tool component, whose worker runs them behind the
 * gate, on ephemeral stores or on stores that fail.
 */
import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as CoordinationTools from "../../layers/agents/CoordinationTools.ts"
import * as ObservationTools from "../../layers/agents/ObservationTools.ts"
import * as SemStreams from "../../layers/compose/SemStreams.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import * as EphemeralToolQueue from "../../layers/ephemeral/EphemeralToolQueue.ts"
import { SemStreamsTools } from "../../layers/semstreams/SemStreamsTools.ts"
import { StoreError } from "../../services/StoreError.ts"
import type { TriplePublisher } from "../../services/TriplePublisher.ts"
import { Tenant } from "../../src/Ids.ts"
import { isRecord } from "./Vectors.ts"

export type Fields = Readonly<Record<string, unknown>>

export const tenant = Tenant.make("acme")

/** A store that is away. */
export const away = Effect.fail(new StoreError({ message: "postgres://u:secret@db is away" }))

export const stores = EphemeralStores.layer

export const platformOf = (input: Fields) => ({
  org: typeof input.org === "string" ? input.org : "acme",
  platform: typeof input.platform === "string" ? input.platform : "test"
})

/** SemStreams' defaults, with these fields in their place. */
export const configOf = (given: Fields = {}) => SemStreams.decodeComponentConfig(given)

/** Sends a call under a tool's subject; its message may name another tool, as the case says. */
export const called = Effect.fnUntraced(function* (
  name: string,
  input: Fields,
  more: Partial<SemStreams.CallMessage> = {}
) {
  const platform = platformOf(input)
  const component = SemStreams.tools({
    ...platform,
    config: yield* configOf(),
    tools: [CoordinationTools.tools(platform), ObservationTools.tools]
  })
  const message: SemStreams.CallMessage = {
    id: "call-1",
    name: typeof input.tool === "string" ? input.tool : name,
    arguments: (isRecord(input.arguments) ? input.arguments : {}) as never,
    ...(typeof input.loop_id === "string" ? { loop_id: input.loop_id } : undefined),
    ...more
  }
  const executed = yield* SemStreamsTools.use((tools) => tools.execute(name, message, tenant)).pipe(
    Effect.provide(Layer.provide(component, Layer.fresh(EphemeralToolQueue.layer)))
  )
  // Whatever went wrong, the store's own words stay inside.
  assert.notInclude(JSON.stringify(executed), "secret")
  return executed
})

/** What every case may expect of an executed call. */
export const meets = (
  { defect, result }: Effect.Success<ReturnType<typeof called>>,
  expect: Fields
): void => {
  if ("errorKind" in expect) {
    assert.strictEqual(result.error_kind, expect.errorKind)
    assert.isAbove(result.error?.length ?? 0, 0)
    assert.isUndefined(result.content)
  } else {
    assert.isUndefined(result.error, result.error)
    assert.isUndefined(result.error_kind)
  }
  if ("defect" in expect) assert.strictEqual(defect, expect.defect)
  if ("stopLoop" in expect) assert.strictEqual(result.stop_loop ?? false, expect.stopLoop)
  for (const text of (expect.messageMentions as ReadonlyArray<string> | undefined) ?? []) {
    assert.include(result.error, text)
  }
  if (isRecord(expect.metadata))
    assert.deepInclude({ ...result.metadata } as Fields, expect.metadata)
  if (Array.isArray(expect.metadataKeys)) {
    assert.sameMembers(Object.keys(result.metadata ?? {}), expect.metadataKeys)
  }
}

/** A publisher that fails. */
export const noPublisher: TriplePublisher["Service"] = { addAll: () => away, about: () => away }
