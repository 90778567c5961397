/**
 * Changes what stands of a question in channels when nobody can decide it any more, however it ended: by a decision in any
 * channel, by its expiry or with its run. A channel names each message that shows one question; an end that comes first finds no
 * name yet, and is told by whoever keeps the name.
 */
import { Effect } from "effect"
import { SecureRandom } from "effect/crypto"
import { ApprovalRecords } from "../../services/ApprovalRecords.ts"
import type { QuestionPost } from "../../services/Notices.ts"
import { Notices } from "../../services/Notices.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { Approval } from "../../src/approval/Approval.ts"
import { customerNotice } from "../../src/conversation/CustomerView.ts"
import type { ChannelName } from "../../src/conversation/ChannelBinding.ts"
import type { NoticeContent } from "../../src/delivery/Notice.ts"
import { settledText } from "../../src/delivery/QuestionText.ts"
import { DeclaredRoles, isLimitedToOwn, principalIn } from "../../src/principal/Rights.ts"
import type { ConversationId, MessageId, RunId, Tenant } from "../../src/value/Ids.ts"

export const topicOf = (channel: ChannelName): string => `channel.${channel}`

export const newMessageId = SecureRandom.SecureRandom.use((random) =>
  Effect.map(random.uuidV7(), (id) => id as MessageId)
)

/** The customers among the recipients: who began the conversation, and the sender of the message that the run handles. */
export const customersOf = Effect.fnUntraced(function* (
  { conversation, run_id }: { readonly conversation: ConversationId; readonly run_id: RunId },
  tenant: Tenant
) {
  const tasks = yield* TaskStore
  const declared = yield* DeclaredRoles
  const first = yield* tasks.ofConversation(tenant, conversation, 0, 1)
  const asking = yield* tasks.read(tenant, run_id)
  const customers = new Set<string>()
  for (const task of asking === undefined ? first : [...first, asking]) {
    const { by: id, roles } = task
    if (roles === undefined) continue
    if (isLimitedToOwn(principalIn(declared, { id, tenant, roles }), "follow")) customers.add(id)
  }
  return customers
})

export const aboutQuestion = ({ id }: Pick<Approval, "id">): string => `question/${id}`

type Place = Pick<NoticeContent, "conversation" | "agent">

/** Tells of one settled question wherever it stands. Each post is told of once, however often this is called. */
export const settleQuestion = Effect.fnUntraced(function* (
  { agent, conversation }: Place,
  approval: Approval
) {
  const notices = yield* Notices
  const { id, run_id, tenant } = approval
  const task = yield* TaskStore.use((tasks) => tasks.read(tenant, run_id))
  const content: NoticeContent = {
    kind: "settled",
    conversation,
    agent,
    text: settledText(approval, task?.reason),
    run_id,
    approval: id
  }
  const customers = yield* customersOf({ conversation, run_id }, tenant)
  yield* notices.replace(tenant, aboutQuestion(approval), content)
  for (;;) {
    const message_id = yield* newMessageId
    const isTold = yield* notices.settle(tenant, id, ({ address, channel, post, recipient }) => ({
      id: message_id,
      tenant,
      key: `channel/${channel}/${conversation}/${address}`,
      topic: topicOf(channel),
      payload: {
        address,
        recipient,
        contents: [customers.has(recipient) ? customerNotice(content) : content],
        post
      }
    }))
    if (!isTold) return
  }
})

/** Keeps where an open question stands, and tells of its end if that came meanwhile. */
export const keepPost = Effect.fnUntraced(function* (content: Place, post: QuestionPost) {
  const notices = yield* Notices
  yield* notices.posted(post)
  const now = yield* ApprovalRecords.use((approvals) => approvals.get(post.approval))
  if (now !== undefined && now.status !== "pending") yield* settleQuestion(content, now)
})

export type SettlingNeeds = ApprovalRecords | Notices | SecureRandom.SecureRandom | TaskStore
