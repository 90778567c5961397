/**
 * The built-in tools called as SemStreams calls them: a message to a tool component, whose worker runs them behind the
 * gate, on ephemeral stores or on stores that fail.
 */
import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as CoordinationTools from "../../layers/semstreams/CoordinationTools.ts"
import * as ObservationTools from "../../layers/semstreams/ObservationTools.ts"
import * as SemStreams from "../../layers/compose/entries/SemStreams.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import * as EphemeralToolQueue from "../../layers/ephemeral/EphemeralToolQueue.ts"
import { SemStreamsTools } from "../../layers/semstreams/SemStreamsTools.ts"
import { StoreError } from "../../services/StoreError.ts"
import type { TriplePublisher } from "../../services/semstreams/TriplePublisher.ts"
import { configOf, tenant } from "./Component.ts"
import { isRecord } from "./Vectors.ts"

export type Fields = Readonly<Record<string, unknown>>

export { tenant }

/** A store that cannot be reached. */
export const unreachable = Effect.fail(
  new StoreError({ message: "postgres://u:secret@db is away" })
)

export const stores = Layer.provideMerge(SemStreams.layer, EphemeralStores.layer)

export const platformOf = (input: Fields) => ({
  org: typeof input.org === "string" ? input.org : "acme",
  platform: typeof input.platform === "string" ? input.platform : "test"
})

/** Sends a call under the subject of the tool `name`; where the case gives a `tool`, the message names that one. */
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
  // No result quotes a store's error, which may hold a password.
  assert.notInclude(JSON.stringify(executed), "secret")
  return executed
})

/** Checks what a case of any driver may expect of an executed call. */
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

/** A publisher whose every call fails. */
export const noPublisher: TriplePublisher["Service"] = {
  addAll: () => unreachable,
  about: () => unreachable
}
