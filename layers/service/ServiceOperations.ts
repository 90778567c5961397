/** The effects of all operations. A surface takes them from here, and none of them by itself. */
import * as Agents from "./AgentEffects.ts"
import * as Approvals from "./ApprovalEffects.ts"
import * as Authorizations from "./AuthorizationEffects.ts"
import * as Bulks from "./BulkEffects.ts"
import { checks } from "./CheckEffects.ts"
import * as ClientCalls from "./ClientCallEffects.ts"
import * as Conversations from "./ConversationEffects.ts"
import * as Costs from "./CostEffects.ts"
import * as DeadLetters from "./DeadLetterEffects.ts"
import * as Events from "./EventEffects.ts"
import { download } from "./FileEffects.ts"
import * as Erasures from "./ErasureEffects.ts"
import { importHistory } from "./HistoryEffects.ts"
import * as KillSwitches from "./KillSwitchEffects.ts"
import * as Memories from "./MemoryEffects.ts"
import * as Notices from "./NoticeEffects.ts"
import * as Quarantine from "./QuarantineEffects.ts"
import * as Runs from "./RunEffects.ts"
import { deliveries, processes, settings } from "./StandingEffects.ts"
import * as Tokens from "./TokenEffects.ts"
import * as Tools from "./ToolEffects.ts"
import * as Webhooks from "./WebhookEffects.ts"

/** By the groups of the HTTP API. */
export const groups = {
  conversations: { ...Conversations, importHistory },
  files: { download },
  events: Events,
  runs: Runs,
  approvals: Approvals,
  authorizations: Authorizations,
  clientCalls: ClientCalls,
  costs: Costs,
  agents: Agents,
  deadLetters: DeadLetters,
  bulk: Bulks,
  killSwitch: KillSwitches,
  standing: { processes, checks, deliveries, settings },
  quarantine: Quarantine,
  notices: Notices,
  memories: Memories,
  tools: Tools,
  tokens: Tokens,
  webhooks: Webhooks,
  erasures: Erasures
}

type Groups = typeof groups
type Each = { readonly [G in keyof Groups]: Groups[G][keyof Groups[G]] }[keyof Groups]
type Operations = { readonly [S in Each as S["operation"]["name"]]: S }

/** By the names of their methods. */
export const operations = Object.fromEntries(
  Object.values(groups)
    .flatMap((group): ReadonlyArray<Each> => Object.values(group))
    .map((each) => [each.operation.name, each])
) as Operations
