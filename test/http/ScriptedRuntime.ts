/**
 * A runtime whose runs do what the test says, over the real ephemeral stores: the HTTP room is tried against events that
 * come when the test wants them. Journal, tasks and projections are the real ones.
 */
import { Context, Deferred, Effect, Layer, PubSub, Stream } from "effect"
import { SecureRandom } from "effect/crypto"
import { AgentDirectory } from "../../services/AgentDirectory.ts"
import type { FeedItem } from "../../services/AgentRuntime.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { AgentNotFound } from "../../src/agent/AgentSpec.ts"
import { message_bytes_max } from "../../src/conversation/Conversation.ts"
import { MessageTooLarge } from "../../src/delivery/AgentTask.ts"
import type { ApprovalId, RunId, Tenant } from "../../src/Ids.ts"
import { CallId, ConversationId, MessageId, RunId as RunIds } from "../../src/Ids.ts"
import { cancelRun, settleCall } from "../../src/run/RunCommand.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import { fold, statusOf } from "../../src/run/RunState.ts"

export class Script extends Context.Service<
  Script,
  {
    /** Appends what the run is to have done, as its owner. */
    append(run: RunId, events: ReadonlyArray<RunEvent>): Effect.Effect<void>
    /** A piece of a turn in progress, or what a call shows. */
    delta(item: Exclude<FeedItem, { _tag: "Event" }>): Effect.Effect<void>
    /** Done when a watcher has left. */
    readonly left: Deferred.Deferred<void>
  }
>()("test/http/Script") {}

const make = Effect.gen(function* () {
  const tasks = yield* TaskStore
  const journal = yield* RunJournal
  const conversations = yield* ConversationStore
  const directory = yield* AgentDirectory
  const random = yield* SecureRandom.SecureRandom
  const bell = yield* PubSub.unbounded<FeedItem | "changed">()
  const left = yield* Deferred.make<void>()
  const ring = PubSub.publish(bell, "changed" as const)
  yield* journal.amended(() => PubSub.publishUnsafe(bell, "changed"))

  const events = Effect.fnUntraced(function* (run: RunId) {
    return (yield* journal.read(run, 0, 10_000)).map((entry) => entry.event)
  })

  const runtime = AgentRuntime.of({
    send: Effect.fnUntraced(function* (message, by) {
      const { agent, channel_origin = "api", idempotency_key, text } = message
      const available = directory.all.map(({ spec }) => spec.name)
      if (directory.get(agent) === undefined) return yield* new AgentNotFound({ agent, available })
      if (Buffer.byteLength(text) > message_bytes_max) {
        return yield* new MessageTooLarge({ bytes_max: message_bytes_max })
      }
      const id = RunIds.make(yield* random.uuidV4())
      const conversation = message.conversation ?? ConversationId.make(id)
      const trace_id = "0123456789abcdef0123456789abcdef"
      const accepted = yield* tasks.accept({
        id,
        tenant: by.tenant,
        address: { agent, key: conversation },
        conversation,
        message: text,
        by: by.id,
        trace_id,
        channel_origin,
        initiated_by: "customer",
        ...(idempotency_key === undefined ? undefined : { idempotency_key }),
        waiting_max: 1_000,
        reject_when_busy: false,
        message_id: MessageId.make(yield* random.uuidV4())
      })
      if (!accepted.created) return accepted
      yield* Effect.orDie(
        journal.create(id, accepted.task.ordinal, {
          _tag: "RunAccepted",
          tenant: by.tenant,
          address: { agent, key: conversation },
          conversation,
          message: text,
          by: by.id,
          trace_id,
          limits: RunLimits.make({}),
          pins: { definition: "d", tools: "t" }
        })
      )
      yield* Effect.orDie(journal.claim(id, "test"))
      yield* ring
      return accepted
    }),
    watch: (conversation, after) =>
      Stream.unwrap(
        Effect.gen(function* () {
          const subscription = yield* PubSub.subscribe(bell)
          let cursor = after
          const more = Effect.gen(function* () {
            const found: Array<FeedItem> = []
            const listed = yield* tasks.ofConversation(conversation, cursor.ordinal - 1, 500)
            for (const { id, ordinal } of listed) {
              const from = ordinal === cursor.ordinal ? cursor.seq + 1 : 0
              for (const entry of yield* journal.read(id, from, 10_000)) {
                found.push({ _tag: "Event", run: id, ordinal, entry })
                cursor = { ordinal, seq: entry.seq }
              }
            }
            return found
          })
          const rest = Stream.fromSubscription(subscription).pipe(
            Stream.mapArrayEffect((rung) =>
              Effect.map(more, (found) => {
                const deltas = rung.filter((item) => item !== "changed")
                return [...found, ...deltas] as unknown as readonly [FeedItem, ...Array<FeedItem>]
              })
            )
          )
          return Stream.fromIterableEffect(more).pipe(Stream.concat(rest))
        })
      ).pipe(Stream.ensuring(Deferred.succeed(left, undefined))),
    interrupt: (run, by, reason) =>
      journal.amend(run, (state) => cancelRun(state, run, by.id, reason)),
    settle: (run, call, settlement, by) =>
      journal.amend(run, (state, now) => settleCall(state, run, call, settlement, by.id, now)),
    actors: () =>
      Effect.gen(function* () {
        const found = []
        for (const tenant of ["acme", "other"] as ReadonlyArray<string>) {
          for (const { address } of yield* conversations.list(tenant as Tenant, 100)) {
            found.push({ address, state: "idle" as const, run: undefined, restarts: 0 })
          }
        }
        return found
      }).pipe(Effect.orDie)
  })

  const script = Script.of({
    left,
    delta: (item) => Effect.asVoid(PubSub.publish(bell, item)),
    append: Effect.fnUntraced(function* (run, added) {
      const before = yield* events(run)
      yield* journal.append({
        run,
        fence: { epoch: fold(before).epoch, length: before.length },
        events: added,
        status: statusOf(fold([...before, ...added]))
      })
      yield* ring
    }, Effect.orDie)
  })
  return Context.mergeAll(Context.make(AgentRuntime, runtime), Context.make(Script, script))
})

export const layer: Layer.Layer<
  AgentRuntime | Script,
  never,
  TaskStore | RunJournal | ConversationStore | AgentDirectory | SecureRandom.SecureRandom
> = Layer.effectContext(Effect.orDie(make))

export const call = CallId.make("0/1.0")

/** A turn that asks to replay a dead letter. */
export const proposed = {
  _tag: "ModelTurned",
  frame: "0",
  step: 1,
  text: "I would replay it.",
  calls: [
    {
      model_id: "m1",
      name: "replay_dlq_event",
      arguments: { event_id: "e", reason: "r" },
      provider: { google: { thoughtSignature: "a signature of the model" } }
    }
  ],
  finish: "tool_calls",
  reasoning: [
    {
      text: "a thought of the model",
      provider: { anthropic: { signature: "a signature of the model" } }
    }
  ],
  parts: [{ of: "text", units: 18, provider: { google: { s: "a signature of the model" } } }],
  origin: "a provider:a model"
} as unknown as RunEvent

export const asked = (approval: ApprovalId, expires_at?: number): RunEvent =>
  ({
    _tag: "ApprovalRequested",
    call,
    approval,
    digest: "digest",
    proposal: "proposal",
    payload: {
      tool_name: "replay_dlq_event",
      agent_name: "operations",
      args_summary: "event_id: e",
      effect_description: "Sends a dead letter again.",
      correlation_id: approval
    },
    tool_key: "operations.replay_dlq_event@1",
    arguments: { event_id: "e", reason: "r" },
    policy_version: "1",
    approvers: [],
    ...(expires_at === undefined ? undefined : { expires_at })
  }) as RunEvent

export const ended: RunEvent = {
  _tag: "RunEnded",
  status: "complete",
  reason: "",
  text: "Done."
}

export const answered = {
  _tag: "ModelTurned",
  frame: "0",
  step: 1,
  text: "Done.",
  calls: [],
  finish: "stop"
} as unknown as RunEvent
