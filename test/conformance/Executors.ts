/**
 * The built-in tools as SemStreams calls them, on ephemeral stores or on stores that fail: what the drivers of their
 * vectors ask.
 */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as CoordinationTools from "../../layers/agents/CoordinationTools.ts"
import * as ObservationTools from "../../layers/agents/ObservationTools.ts"
import { execute } from "../../layers/agents/SemStreamsExecutor.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { StoreError } from "../../services/TaskStore.ts"
import type { TriplePublisher } from "../../services/TriplePublisher.ts"
import { Tenant } from "../../src/Ids.ts"
import type { CallMessage } from "../../src/semstreams/CallMessage.ts"
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

/** Calls a tool, perhaps under another name, as the case says. */
export const called = Effect.fnUntraced(function* (
  name: string,
  input: Fields,
  more: Partial<CallMessage> = {}
) {
  const platform = platformOf(input)
  const built = [...(yield* CoordinationTools.tools(platform)), ...(yield* ObservationTools.tools)]
  const tool = built.find(({ spec }) => spec.name === name)
  assert.isDefined(tool)
  const executed = yield* execute(
    tool,
    {
      id: "call-1",
      name: typeof input.tool === "string" ? input.tool : name,
      arguments: (isRecord(input.arguments) ? input.arguments : {}) as never,
      ...(typeof input.loop_id === "string" ? { loop_id: input.loop_id } : undefined),
      ...more
    },
    { ...platform, tenant }
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
