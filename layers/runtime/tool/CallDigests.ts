/**
 * Digests that name a call: what a decision is bound to, and the key under which an effect happens once.
 */
import { Context, Effect } from "effect"
import { Digest } from "effect/crypto"
import type { ShownApproval } from "../../../src/approval/ShownApproval.ts"
import { shownOf } from "../../../src/approval/ShownApproval.ts"
import { canonical } from "../../../src/Canonical.ts"
import type { CallId, RunId, Tenant } from "../../../src/Ids.ts"
import type { Policy } from "../../../src/permission/Policy.ts"
import { no_policy } from "../../../src/permission/Policy.ts"
import type { ToolSpec } from "../../../src/tool/ToolSpec.ts"
import { remote_provider } from "../../../src/tool/ToolMessage.ts"

/** Part of every approval digest: a changed policy asks again. */
export const PolicyVersion = Context.Reference<string>("troupe/PolicyVersion", {
  defaultValue: () => "1"
})

/**
 * The version that a policy goes by: its own, or one that follows from what it says, so that changed words ask again
 * even where nobody thought of the number.
 */
export const policyVersionOf = Effect.fnUntraced(function* (
  digest: Digest.Digest["Service"],
  policy: Policy
) {
  const release = yield* PolicyVersion
  if (policy === no_policy) return release
  return `${release}:${policy.version ?? (yield* digestOf(digest, policy)).slice(0, 16)}`
})

const encoder = new TextEncoder()

/** SHA-256 of canonical JSON, in lower-case hex. Dies on a value that is not JSON. */
export const digestOf = (digest: Digest.Digest["Service"], value: unknown): Effect.Effect<string> =>
  Effect.suspend(() => digest.digestHex(Digest.sha256, encoder.encode(canonical(value))))

export interface Proposal {
  readonly tenant: Tenant
  readonly tool: string
  readonly arguments: unknown
  readonly policy_version: string
}

/** What a person decides on: this proposal, in this run, for this call. */
export const approvalDigest = (
  digest: Digest.Digest["Service"],
  proposal: Proposal,
  run: RunId,
  call: CallId
): Effect.Effect<string> => digestOf(digest, { ...proposal, run, call })

/** All that a person is shown, so that what is decided on is what was asked. */
export const shownDigest = (
  digest: Digest.Digest["Service"],
  shown: ShownApproval
): Effect.Effect<string> => digestOf(digest, shownOf(shown))

/** The same without run and call: the model proposing the same thing again has the same one. */
export const proposalDigest = (
  digest: Digest.Digest["Service"],
  proposal: Proposal
): Effect.Effect<string> => digestOf(digest, proposal)

/** What a tool says of itself, so that a decision on one is no decision on what a later release made of it. */
export const toolDigest = (
  digest: Digest.Digest["Service"],
  spec: ToolSpec
): Effect.Effect<string> => digestOf(digest, spec)

/** What a dispatch says of where its call goes: to a queue, which runs a key once, or nothing. */
export const dispatchRouteOf = ({
  provider
}: {
  readonly provider?: string
}): { readonly via?: "queue" } | undefined =>
  provider === remote_provider ? { via: "queue" } : undefined

/** The idempotency key of a dispatched call: from run and call ordinal only, never random, never from the model. */
export const callIdempotencyKey = (
  digest: Digest.Digest["Service"],
  run: RunId,
  call: CallId
): Effect.Effect<string> => digestOf(digest, { run, call })

/** The same of an effect that happens once in a run, whichever call does it: from the run and the effect's identity. */
export const sideEffectIdempotencyKey = (
  digest: Digest.Digest["Service"],
  run: RunId,
  effect: string
): Effect.Effect<string> => digestOf(digest, { run, effect })
