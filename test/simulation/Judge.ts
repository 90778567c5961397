/**
 * What must hold of every journal, every effect and every projection, whatever happened. Reads the store and nothing of
 * the runtime's, beside the fold that gives events their meaning.
 */
import { createHash } from "node:crypto"
import { tenantKey } from "../../layers/ephemeral/EphemeralStore.ts"
import { canonical } from "../../src/value/Canonical.ts"
import type { CallId, RunId } from "../../src/value/Ids.ts"
import { rootFrame } from "../../src/value/Ids.ts"
import { project } from "../../src/run/Projection.ts"
import type { JournalEntry, Repeats, RunEvent } from "../../src/run/RunEvent.ts"
import type { CallState, FoldState } from "../../src/run/RunState.ts"
import { isParkable, emptyState, statusOf } from "../../src/run/RunState.ts"
import { evolve } from "../../src/run/RunFold.ts"
import { asksWhenLost, governance } from "./Agents.ts"
import type { World } from "./World.ts"

type StoredRun = World["store"]["runs"] extends Map<RunId, infer R> ? R : never

const digestOf = (run: StoredRun, call: CallId, tool_key: string, args: unknown, policy: string) =>
  createHash("sha256")
    .update(
      canonical({
        tenant: run.tenant,
        tool: tool_key,
        arguments: args,
        policy_version: policy,
        run: run.run_id,
        call
      })
    )
    .digest("hex")

/** Why an event of a question about a limit may not follow; `""` if it may, undefined if it is another event. */
const limitQuestion = (
  run: StoredRun,
  { frames, question, used }: FoldState,
  event: RunEvent,
  stopping: boolean
): string | undefined => {
  if (event._tag === "ApprovalRequested" && event.limit !== undefined) {
    if (stopping || question !== undefined) return "a second question about a limit"
    if ((used.extended?.get(event.limit) ?? 0) > 0) return "a limit extended twice"
    const { arguments: args, call, policy_version, tool_key } = event
    const bound = digestOf(run, call, tool_key, args, policy_version)
    return bound === event.digest ? "" : "a question about a limit whose digest is another's"
  }
  if (question === undefined || !("approval" in event) || event.approval !== question.approval) {
    return undefined
  }
  if (event._tag === "ApprovalClosed") {
    // The supervisor's answer may have been on its way when it was put.
    const answered = frames.get(rootFrame)?.answer !== undefined
    return stopping || answered ? "" : "a limit's question closed"
  }
  if (event._tag !== "ApprovalDecided") return "something else of a limit's question"
  if (event.decision._tag !== "Approve" && event.decision._tag !== "Deny")
    return "a limit that was changed"
  return event.digest === question.digest ? "" : "a decision on another limit"
}

/** Why an event may not follow what came before it; undefined if it may. */
const illegal = (run: StoredRun, state: FoldState, entry: JournalEntry): string | undefined => {
  const { event } = entry
  if (state.ended !== undefined) return "something after the end"
  if (event._tag === "RunAccepted") return state.length === 0 ? undefined : "accepted twice"
  if (event._tag === "RunClaimed")
    return event.epoch === state.epoch + 1 ? undefined : "an epoch that is not the next one"
  const stopping = state.stopping !== undefined
  if (event._tag === "RunStopping") return stopping ? "stopped twice" : undefined
  if (event._tag === "RunEnded")
    return state.open.length > 0 ? "ended while a call had no result" : undefined
  if (event._tag === "ModelTurned") {
    const frame = state.frames.get(event.frame)
    if (frame === undefined || !state.openFrames.includes(frame)) return "a turn of no open frame"
    if (frame.waiting > 0 || frame.answer !== undefined) return "a turn that nobody waited for"
    if (event.step !== frame.step + 1) return "a second turn of one step"
    return stopping ? "a turn of a run that stops" : undefined
  }
  if (event._tag === "Compacted") {
    const frame = state.frames.get(event.frame)
    if (frame === undefined || !state.openFrames.includes(frame)) return "a cut of no open frame"
    if (stopping || frame.waiting > 0 || event.step !== frame.step + 1)
      return "a prompt cut before no turn"
    return undefined
  }
  if (event._tag === "MemoryRecalled") {
    return state.recalled !== undefined || state.steps > 0 || stopping
      ? "memory told after the first turn, or twice"
      : undefined
  }
  if (event._tag === "Guarded") {
    const frame = state.frames.get(event.frame)
    if (frame === undefined || !state.openFrames.includes(frame)) return "a text of no open frame"
    return stopping || frame.waiting > 0 || event.step !== frame.step + 1
      ? "a text judged before no turn"
      : undefined
  }
  if (event._tag === "RunBeside") {
    return state.beside !== undefined || state.steps > 0 || stopping
      ? "a run became a side run after its first turn, or twice"
      : undefined
  }
  if (event._tag === "LimitReached") return stopping ? "a limit of a run that stops" : undefined
  const limited = limitQuestion(run, state, event, stopping)
  if (limited !== undefined) return limited === "" ? undefined : limited
  const call = state.calls.get(event.call)
  if (call === undefined) return "a call that nobody proposed"
  return illegalOfCall(run, state, { at: entry.at, event }, call)
}

type CallEvent = Exclude<
  RunEvent,
  {
    readonly _tag:
      | "RunAccepted"
      | "RunClaimed"
      | "RunStopping"
      | "RunEnded"
      | "ModelTurned"
      | "Compacted"
      | "MemoryRecalled"
      | "Guarded"
      | "RunBeside"
      | "LimitReached"
  }
>

/** The same for an event of a call that was proposed. */
const illegalOfCall = (
  run: StoredRun,
  state: FoldState,
  { at, event }: { readonly at: number; readonly event: CallEvent },
  call: CallState
): string | undefined => {
  const stopping = state.stopping !== undefined
  const { phase } = call
  switch (event._tag) {
    case "FrameOpened":
      return phase._tag !== "Proposed" || stopping ? `a frame opened from ${phase._tag}` : undefined
    case "HandedOff":
      if (phase._tag !== "Proposed" || stopping) return `handed over from ${phase._tag}`
      if (call.frame !== rootFrame) return "a specialist handed the conversation over"
      return state.frames.get(rootFrame)?.agent === event.from
        ? undefined
        : "handed over by an agent that does not hold it"
    case "ApprovalRequested":
    case "ClientRequested": {
      if ((phase._tag !== "Proposed" && phase._tag !== "Decided") || stopping)
        return `a question from ${phase._tag}`
      const bound = digestOf(run, call.id, event.tool_key, event.arguments, event.policy_version)
      return bound === event.digest ? undefined : "a question whose digest is another's"
    }
    case "ApprovalDecided": {
      if (phase._tag !== "AwaitingApproval" || phase.request.approval !== event.approval)
        return `a decision on ${phase._tag}`
      const { arguments: asked, expires_at, policy_version, tool_key } = phase.request
      if (expires_at !== undefined && at >= expires_at) return "a decision after its time"
      const args = event.decision._tag === "Modify" ? event.decision.arguments : asked
      const bound = digestOf(run, call.id, tool_key, args, policy_version)
      return bound === event.digest ? undefined : "a decision on other arguments"
    }
    case "ApprovalClosed":
      return phase._tag === "AwaitingApproval" && phase.request.approval === event.approval
        ? undefined
        : `a question closed from ${phase._tag}`
    case "CallDispatched": {
      if (stopping) return "a dispatch of a run that stops"
      if (event.epoch !== state.epoch) return "a dispatch of another epoch"
      const again =
        phase._tag === "Dispatched" &&
        (phase.on_loss === "ask"
          ? event.over_at! > phase.over_at!
          : phase.epoch < state.epoch && phase.on_loss === "again")
      if (again) return phase.key === event.key ? undefined : "sent again with another key"
      if (phase._tag !== "Proposed" && phase._tag !== "Decided")
        return `a dispatch from ${phase._tag}`
      return asksFirst(call.proposed.name) && phase._tag !== "Decided"
        ? "a dispatch that nobody approved"
        : undefined
    }
    case "CallUnknown":
      return phase._tag === "Dispatched" ? undefined : `unknown from ${phase._tag}`
    case "CallReopened":
      return phase._tag === "Unknown" ? undefined : `reopened from ${phase._tag}`
    case "CallSettled":
      return phase._tag === "Settled" ? "a second result of one call" : undefined
  }
}

const asksFirst = (name: string): boolean => {
  const spec = governance[name]
  return spec !== undefined && (spec.permission ?? "ask") === "ask" && spec.side_effects !== "read"
}

/** Folds one run and judges each event on the way. */
const foldRun = (world: World, run: StoredRun): FoldState => {
  const state = emptyState()
  run.entries.forEach((entry, i) => {
    if (entry.seq !== i) world.violate(`a gap at seq ${i}`)
    const why = illegal(run, state, entry)
    if (entry.event._tag === "HandedOff") world.count("a handoff")
    if (why === undefined) evolve(state, entry.event)
    else world.violate(`${entry.event._tag} at seq ${i}: ${why}`)
  })
  return state
}

const eventsOf = (run: StoredRun): ReadonlyArray<RunEvent> => run.entries.map((e) => e.event)

/** Status, approvals and answers are what the events say. */
const judgeProjections = (world: World, run: StoredRun, state: FoldState) => {
  const { store } = world
  if (run.status !== statusOf(state)) {
    world.violate(`a run shown as ${run.status} is ${statusOf(state)}`)
  }
  if (run.parkable !== isParkable(state)) {
    world.violate(
      run.parkable ? "a run is marked parkable and has work to do" : "a parkable run is not marked"
    )
  }
  const { answer, answered, requested, task } = project(run.run_id, eventsOf(run), 0)
  const stored = store.tasks.get(run.run_id)?.task
  if (stored !== undefined && stored.status !== (task?.status ?? "pending")) {
    world.violate(`a task shown as ${stored.status} is ${task?.status ?? "pending"}`)
  }
  const answers = new Map(answered.map((each) => [each.id as string, each.status as string]))
  if (answered.length !== answers.size) world.violate("an approval that was answered twice")
  for (const { id } of requested) {
    const record = store.approvals.get(id)?.record
    const status = answers.get(id) ?? "pending"
    if (record?.status !== status)
      world.violate(`an approval shown as ${record?.status} is ${status}`)
    if (store.pending.has(id) !== (status === "pending")) {
      world.violate("the list of pending approvals is another than the records")
    }
    if (status === "pending" && state.ended !== undefined) {
      world.violate("a question is open after its run ended")
    }
  }
  const said = store.conversations
    .get(tenantKey(run.tenant, run.conversation))
    ?.messages.filter((each) => each.run_id === run.run_id && each.role === "assistant")
  if ((said?.length ?? 0) !== (answer === undefined ? 0 : 1)) {
    world.violate(`${said?.length} answers of one run in its conversation`)
  }
}

/** What was done outside is what the journal allows. */
const judgeActs = (world: World, run: StoredRun, state: FoldState) => {
  const acts = world.acts.filter((act) => act.run === run.run_id)
  const events = eventsOf(run)
  for (const call of state.calls.values()) {
    const spec = governance[call.proposed.name]
    if (spec === undefined) continue
    const own = acts.filter((act) => act.call === call.id)
    const of = (tag: RunEvent["_tag"]) =>
      events.filter((event) => event._tag === tag && "call" in event && event.call === call.id)
    const dispatches = of("CallDispatched")
    const value = call.phase._tag === "Settled" && call.phase.outcome._tag === "Value"
    const byPerson = of("CallSettled").some((event) => "by" in event && event.by !== undefined)
    if (spec.idempotent !== true && own.length > dispatches.length) {
      world.violate(
        `${call.proposed.name} acted ${own.length} times on ${dispatches.length} dispatches`
      )
    }
    if (
      asksWhenLost(call.proposed.name) &&
      of("CallUnknown").length > 0 &&
      !world.unasked.has(`${run.run_id} ${call.id}`)
    ) {
      world.violate(`${call.proposed.name} is unknown, and could have been asked`)
    }
    const reopened = of("CallReopened").length
    if (spec.idempotent !== true && own.length > 1 + reopened) {
      world.violate(`${call.proposed.name} acted ${own.length} times`)
    }
    if (own.length > 0 && dispatches.length === 0) world.violate("an effect without a dispatch")
    if (spec.idempotent === true && new Set(own.map((act) => act.key)).size > 1) {
      world.violate("an idempotent call used more than one key")
    }
    for (const act of own) {
      const keyed = dispatches.some((event) => "key" in event && event.key === act.key)
      if (!keyed) world.violate("an effect under a key that was not journaled")
      if (asksFirst(call.proposed.name)) judgeApproved(world, run, call.id, act.n, events)
    }
    const repeats = call.phase._tag === "Settled" ? call.phase.repeats : undefined
    if (repeats !== undefined) judgeRepeated(world, repeats)
    if (
      spec.side_effects !== "read" &&
      value &&
      !byPerson &&
      own.length === 0 &&
      repeats === undefined
    ) {
      world.violate(`${call.proposed.name} has a value and did nothing`)
    }
    if (spec.transactional === true && own.length !== (value && !byPerson ? 1 : 0)) {
      world.violate("a transactional effect and its event came apart")
    }
  }
  for (const act of acts) if (!state.calls.has(act.call)) world.violate("an effect of no call")
}

/** A result that is given back is that of a call which did something, or of which a person said so. */
const judgeRepeated = (world: World, { call, run }: Repeats) => {
  world.count("a result that was given back under a key")
  const known = world.store.runs.get(run)
  const acted = world.acts.some((act) => act.run === run && act.call === call)
  const isSettled = known?.entries.some(
    ({ event }) => event._tag === "CallSettled" && event.call === call && event.by !== undefined
  )
  if (!acted && isSettled !== true) world.violate("a result was given back that nobody made")
}

const judgeApproved = (
  world: World,
  run: StoredRun,
  call: CallId,
  n: number,
  events: ReadonlyArray<RunEvent>
) => {
  const asked = new Map<string, Extract<RunEvent, { _tag: "ApprovalRequested" }>>()
  let approved = false
  for (const event of events) {
    if (event._tag === "ApprovalRequested") asked.set(event.approval, event)
    if (event._tag !== "ApprovalDecided" || event.call !== call) continue
    const { policy_version, tool_key } = asked.get(event.approval)!
    const lets = event.decision._tag === "Approve" || event.decision._tag === "Modify"
    if (lets && event.digest === digestOf(run, call, tool_key, { n }, policy_version))
      approved = true
  }
  if (!approved) world.violate("an effect that nobody approved with these arguments")
}

/** After a crash and at the end. */
export const judge = (world: World): ReadonlyMap<RunId, FoldState> => {
  const states = new Map<RunId, FoldState>()
  for (const run of world.store.runs.values()) {
    const before = world.snapshots.get(run.run_id) ?? []
    if (before.some((entry, i) => run.entries[i] !== entry)) {
      world.violate("the journal before a crash is no prefix of the one after")
    }
    const state = foldRun(world, run)
    states.set(run.run_id, state)
    judgeProjections(world, run, state)
    judgeActs(world, run, state)
  }
  judgeOrder(world)
  for (const [key, times] of world.told) {
    if (times > 1) world.violate(`call ${key} was told of ${times} times`)
  }
  return states
}

const changes = new Set<RunEvent["_tag"]>([
  "ApprovalRequested",
  "ClientRequested",
  "CallDispatched",
  "CallUnknown",
  "HandedOff"
])

/** Runs of an address one after the other, beside them only those that change nothing; messages of a key in their order. */
const judgeOrder = (world: World) => {
  const { store } = world
  const late = new Set<unknown>()
  for (const { letter } of store.dead.values()) {
    const { payload } = letter
    if (typeof payload === "object" && payload !== null && "task_id" in payload)
      late.add(payload.task_id)
  }
  for (const { tasks } of store.conversations.values()) {
    let over = true
    for (const { task } of tasks) {
      // A dispatch that was given up has released its address.
      if (late.has(task.id)) continue
      const events = store.runs.get(task.id)?.entries.map((entry) => entry.event) ?? []
      const claimed = events.some((event) => event._tag === "ModelTurned")
      const isBeside = events.some((event) => event._tag === "RunBeside")
      if (isBeside) world.count("a run that answered beside another")
      else if (claimed && !over) world.violate("a run began before the one before it had ended")
      if (isBeside && events.some(({ _tag }) => changes.has(_tag)))
        world.violate("a side run changed something or asked somebody")
      over &&= events.at(-1)?._tag === "RunEnded"
    }
  }
  const last = new Map<string, number>()
  const seen = new Set<string>()
  for (const { id, key, place } of world.deliveries) {
    // One that was given up has released its key: what it does later is out of order, and says so.
    if (seen.has(id) || store.dead.has(id as never)) continue
    seen.add(id)
    if (place < (last.get(key) ?? 0)) world.violate("messages of one key out of order")
    last.set(key, place)
  }
}

/** When faults have stopped and people have answered: everything is over, and nothing acknowledged is lost. */
export const judgeEnd = (world: World, states: ReadonlyMap<RunId, FoldState>) => {
  const { store } = world
  for (const [key, id] of world.accepted) {
    const task = store.tasks.get(id)?.task
    if (task === undefined) world.violate(`message ${key} was accepted and is lost`)
    else if (task.status !== "complete" && task.status !== "failed")
      world.violate(`task ${key} is ${task.status} for ever`)
  }
  if (new Set(world.accepted.values()).size !== world.accepted.size) {
    world.violate("two messages became one task")
  }
  if (store.tasks.size !== world.accepted.size) world.violate("one message became two tasks")
  for (const run of world.cancelled) {
    if (states.get(run)?.stopping === undefined)
      world.violate("a cancel was acknowledged and is lost")
  }
  for (const [id, decision] of world.decided) {
    const record = store.approvals.get(id as never)?.record
    if (canonical(record?.decision ?? null) !== canonical(decision)) {
      world.violate("a decision was acknowledged and is another")
    }
  }
  for (const state of states.values()) {
    for (const call of state.calls.values()) {
      if (call.phase._tag !== "Settled") world.violate("a call without a result after the end")
    }
  }
  if (store.messages.size > 0) world.violate(`${store.messages.size} messages were never delivered`)
}
