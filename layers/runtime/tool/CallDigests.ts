/**
 * Digests that identify a call: what a decision is bound to, and the idempotency key of a dispatch.
 */
import { Effect } from "effect"
import { Digest } from "effect/crypto"
import type { Approval, Decision } from "../../../src/approval/Approval.ts"
import type { ShownApproval } from "../../../src/approval/ShownApproval.ts"
import { shownOf } from "../../../src/approval/ShownApproval.ts"
import type { Json } from "../../../src/value/Canonical.ts"
import { canonical } from "../../../src/value/Canonical.ts"
import type { CallId, RunId, Tenant } from "../../../src/value/Ids.ts"
import type { ToolSpec } from "../../../src/tool/ToolSpec.ts"
import { idempotencyOnWire } from "../../../src/tool/ToolSpec.ts"
import { remote_provider } from "../../../src/queue/ToolMessage.ts"
import type { IdempotencyScope } from "../../../src/tool/Idempotency.ts"
import type { AgentTool, CallHost } from "./CallHost.ts"

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

/** Binds a decision to this proposal, in this run, for this call. */
export const approvalDigest = (
  digest: Digest.Digest["Service"],
  proposal: Proposal,
  run: RunId,
  call: CallId
): Effect.Effect<string> => digestOf(digest, { ...proposal, run, call })

/** What a decision on a question is bound to: the arguments that the person saw, or those that replace them. */
export const boundDigest = (
  digest: Digest.Digest["Service"],
  question: Pick<Approval, "call" | "digest" | "policy_version" | "run_id" | "tenant" | "tool_key">,
  decision: Decision
): Effect.Effect<string> => {
  const { call, policy_version, run_id, tenant, tool_key: tool } = question
  return decision._tag === "Modify"
    ? approvalDigest(
        digest,
        { tenant, tool, arguments: decision.arguments, policy_version },
        run_id,
        call
      )
    : Effect.succeed(question.digest)
}

/** A digest of everything that a person is shown, so that a decision stands only for what was shown. */
export const shownDigest = (
  digest: Digest.Digest["Service"],
  shown: ShownApproval
): Effect.Effect<string> => digestOf(digest, shownOf(shown))

/** A digest of the proposal without run and call: a model that proposes the same again gets the same one. */
export const proposalDigest = (
  digest: Digest.Digest["Service"],
  proposal: Proposal
): Effect.Effect<string> => digestOf(digest, proposal)

/** A tool's spec as it is digested: by the names of the wire, so that a member which is absent changes no digest of a release. */
export const digestedSpec = ({ idempotency, ...spec }: ToolSpec) => ({
  ...spec,
  ...idempotencyOnWire(idempotency)
})

/** A digest of a tool's spec and of what the host filled in: a decision does not stand for what a later release makes of it. */
export const toolDigest = (
  digest: Digest.Digest["Service"],
  spec: ToolSpec,
  filled?: Readonly<Record<string, Json>>
): Effect.Effect<string> => {
  const named = digestedSpec(spec)
  return digestOf(digest, filled === undefined ? named : [named, filled])
}

/** What the dispatch of a call says of its way: that it goes to a queue, which runs a key once, and what it is bound to. */
export const dispatchRouteOf = ({
  provider,
  target
}: Pick<AgentTool, "provider" | "target">):
  | { readonly via?: "queue"; readonly target?: Json }
  | undefined =>
  provider === remote_provider ? { via: "queue" } : target === undefined ? undefined : { target }

/** The idempotency key of a dispatched call: from run and call ordinal only, never random, never from the model. */
export const callIdempotencyKey = (
  digest: Digest.Digest["Service"],
  run: RunId,
  call: CallId
): Effect.Effect<string> => digestOf(digest, { run, call })

/** The idempotency key of a side effect that happens once in this scope, whichever call does it. */
export const sideEffectIdempotencyKey = (
  digest: Digest.Digest["Service"],
  { accepted, run }: Pick<CallHost, "accepted" | "run">,
  scope: IdempotencyScope,
  effect: string
): Effect.Effect<string> => {
  const { conversation, tenant } = accepted
  switch (scope) {
    case "run":
      return digestOf(digest, { run, effect })
    case "conversation":
      return digestOf(digest, { tenant, conversation, effect })
    case "tenant":
      return digestOf(digest, { tenant, effect })
  }
}

/**
 * A digest of what a call asks for, so that a result is given back only to one that asks for the same: its arguments, the context
 * of its run, and the sender where that is a customer, who may not read what others were told.
 */
export const askedDigest = (
  digest: Digest.Digest["Service"],
  host: Pick<CallHost, "accepted" | "call">
): Effect.Effect<string> => {
  const { by, context, roles } = host.accepted
  return digestOf(digest, {
    arguments: host.call().arguments,
    ...(context === undefined ? undefined : { context }),
    ...(roles?.includes("customer") === true ? { by } : undefined)
  })
}
