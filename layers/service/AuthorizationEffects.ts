/**
 * Actions that a workspace authorises in advance. The desk checks who may grant and revoke; a customer reaches only the agents for
 * customers and their specialists.
 */
import { Effect } from "effect"
import { AgentDirectory, CustomerAgents, knownTo } from "../../services/AgentDirectory.ts"
import { AuthorizationDesk } from "../../services/AuthorizationDesk.ts"
import * as AuthorizationOperations from "../../src/operation/AuthorizationOperations.ts"
import { limit_default } from "../../src/operation/Page.ts"
import type { WorkspaceAgentAuthorization } from "../../src/permission/Authorization.ts"
import type { Principal } from "../../src/principal/Principal.ts"
import { boundedPage } from "../../src/value/Pages.ts"
import { pageOf, serve } from "./Served.ts"

/** The agents that the principal may know of. */
const known = Effect.fnUntraced(function* (by: Principal) {
  return knownTo(yield* AgentDirectory, by, yield* CustomerAgents)
})

export const list = serve(
  AuthorizationOperations.list,
  Effect.fnUntraced(function* ({ after, all = false, limit = limit_default }, by) {
    const agents = yield* known(by)
    const desk = yield* AuthorizationDesk
    const page = yield* boundedPage(
      limit,
      (last: WorkspaceAgentAuthorization | undefined, limit) => {
        const behind = last?.id ?? after
        const part = { limit, all, ...(behind === undefined ? undefined : { after: behind }) }
        return desk.list(part, by, agents)
      }
    )
    return pageOf(page, "id")
  })
)

export const grant = serve(
  AuthorizationOperations.grant,
  Effect.fnUntraced(function* (request, by) {
    const agents = yield* known(by)
    return yield* AuthorizationDesk.use((desk) => desk.grant(request, by, agents))
  })
)

export const revoke = serve(
  AuthorizationOperations.revoke,
  Effect.fnUntraced(function* ({ id }, by) {
    const agents = yield* known(by)
    return yield* AuthorizationDesk.use((desk) => desk.revoke(id, by, agents))
  })
)
