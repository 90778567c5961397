/** Erasures of somebody who has the name of a role, a state, a member or a tool: no record of others breaks, and no task is lost. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { createHash, randomUUID } from "node:crypto"
import { AccessTokens } from "../../services/AccessTokens.ts"
import { AuthorizationRecords } from "../../services/AuthorizationRecords.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import { Outbox } from "../../services/Outbox.ts"
import type { Stores } from "../../services/Stores.ts"
import { SubjectErasure } from "../../services/SubjectErasure.ts"
import { dispatched_topic, TaskStore } from "../../services/TaskStore.ts"
import type { Tenant } from "../../src/value/Ids.ts"
import { AgentName, AuthorizationId, ConversationId, TokenId } from "../../src/value/Ids.ts"
import type { AccessToken } from "../../src/permission/AccessToken.ts"
import { common_roles } from "../../src/principal/Principal.ts"
import { isErased } from "../../src/replay/Erased.ts"
import { either } from "../Long.ts"
import * as Samples from "./Samples.ts"

const text = "zzz"
const digestOf = (of: string) => createHash("sha256").update(of).digest("hex")

const token = (tenant: Tenant, more: Partial<AccessToken>): AccessToken => ({
  id: TokenId.make(randomUUID()),
  name: text,
  tenant,
  principal: "xyz",
  roles: [...common_roles],
  created_by: text,
  created_at: 1_000,
  expires_at: 2_000,
  ...more
})

/** A run of somebody else that is over, with roles, a context, a file and an answer that is cut. */
const lived = Effect.fnUntraced(function* (tenant: Tenant) {
  const begun = yield* Samples.begin({
    tenant,
    by: text,
    roles: [...common_roles],
    message: text,
    context: { order: text },
    parts: [
      { type: "file", digest: digestOf(text), media_type: "text/plain", size: 3, name: text }
    ],
    span_id: "b7ad6b7169203331"
  })
  yield* Samples.end(begun)
  return begun.task
})

/** A role, names of members, kinds of parts and states of tasks: one erasure for each takes long. */
const words = "operator name text complete roles agent message parts status"
  .split(" ")
  .slice(0, either(4, 9))

const standing = Effect.gen(function* () {
  const tenant = Samples.tenant()
  const task = yield* lived(tenant)
  const tokens = yield* AccessTokens
  yield* tokens.add(token(tenant, {}), digestOf(randomUUID()))
  const given = {
    id: AuthorizationId.make(randomUUID()),
    tenant,
    agent: Samples.operations,
    action: "refund",
    tool_key: "shop.refund@1",
    tool_digest: digestOf("refund"),
    granted_by: text,
    granted_at: 1_000,
    expires_at: 2_000,
    uses: 0
  }
  yield* AuthorizationRecords.use((records) => records.add(given))
  const page = { tenant, limit: 10 }
  const kept = Effect.all({
    task: TaskStore.use((store) => store.get(task.id)),
    messages: ConversationStore.use((store) => store.messages(tenant, task.conversation, -1, 100)),
    conversation: ConversationStore.use((store) => store.get(tenant, task.conversation)),
    tokens: tokens.list(page),
    authorizations: AuthorizationRecords.use((records) => records.list(page))
  })
  const before = yield* kept
  const { erase } = yield* SubjectErasure
  for (const subject of words) {
    yield* erase({ tenant, subject, by: "root" })
    assert.deepStrictEqual(yield* kept, before, subject)
  }
  // What a host said of the run is its own: nobody knows what a member of it says.
  yield* erase({ tenant, subject: "order", by: "root" })
  const { task: told } = yield* kept
  assert.isTrue(isErased(told?.context))
  assert.lengthOf(before.tokens, 1)
  // Whom a token stands for is somebody else where the name is a part of it only.
  yield* tokens.add(token(tenant, { principal: `bot ${text}` }), digestOf(randomUUID()))
  const { erased } = yield* erase({ tenant, subject: text, by: "root" })
  assert.deepInclude(erased, { access_tokens: 2, authorizations: 1 })
  const after = yield* tokens.list(page)
  assert.deepEqual(
    after.map(({ principal, roles }) => [principal, roles.length]),
    [
      [`bot ${text}`, common_roles.length],
      ["xyz", common_roles.length]
    ]
  )
  for (const { created_by, name } of after) assert.isTrue(isErased(created_by) && isErased(name))
})

const dispatched = Effect.gen(function* () {
  const tenant = Samples.tenant()
  const agent = AgentName.make(Samples.unique("clerk"))
  const key = ConversationId.make(Samples.unique("c"))
  const begun = Samples.newTask({ tenant, address: { agent, key } })
  yield* TaskStore.use((tasks) => tasks.accept(begun))
  const { erase } = yield* SubjectErasure
  for (const subject of ["task", "task_id", agent]) yield* erase({ tenant, subject, by: "root" })
  const outbox = yield* Outbox
  const claimed = yield* outbox.claim({
    owner: Samples.unique("relay"),
    topics: [dispatched_topic],
    agents: [agent],
    limit: 10,
    lease_ms: 60_000
  })
  assert.deepEqual(
    claimed.map(({ payload }) => payload),
    [{ task_id: begun.id }]
  )
})

export const erasedWordsTests = (it: Vitest.MethodsNonLive<Stores>): void => {
  it.effect(
    "somebody with the name of a role, a state or a member breaks no record of others",
    () => standing
  )
  it.effect(
    "somebody with the name of an agent leaves the tasks of others to be begun",
    () => dispatched
  )
}
