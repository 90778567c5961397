/**
 * Tries a permission policy on past calls: the policy's answer for each call that was made, next to what happened. No tool runs
 * and no person is asked.
 */
import { Result } from "effect"
import type { AgentName, CallId, RunId, Tenant } from "../value/Ids.ts"
import { rootFrame, stepKey } from "../value/Ids.ts"
import { senderOf } from "../run/Forked.ts"
import { agentOfRun } from "../run/RunState.ts"
import { stepOfCall } from "./Divergence.ts"
import type { Roles } from "../principal/Principal.ts"
import type { RunContext } from "../run/RunContext.ts"
import { policySubjectOf } from "../permission/JudgedTool.ts"
import type { Policy } from "../permission/Policy.ts"
import { effectivePermission } from "../permission/Policy.ts"
import type { Permission } from "../tool/SideEffects.ts"
import type { RecordedCall, Recording } from "./Recording.ts"

/** A past call, with the facts that a policy may read. */
export interface PastCall {
  readonly run: RunId
  readonly call: CallId
  readonly tenant: Tenant
  readonly agent: AgentName
  /** The name that the model used. */
  readonly tool: string
  readonly arguments: unknown
  /** The principal whose message began the run. */
  readonly principal: string
  /** The context that the run's message passed for its tools. Absent = none. */
  readonly context?: RunContext | undefined
  /** The sender's roles when it sent the run's message. Absent = not known. */
  readonly roles?: Roles | undefined
}

/** Gives a policy's answer for a call; undefined if the call's tool no longer exists. */
export type Judge = (call: PastCall) => Permission | undefined

/** A past call with both answers: `was` is what happened, `now` is the answer of the policy that is tried. */
export interface Judged extends PastCall {
  readonly was: Permission
  readonly now: Permission
}

/** What past calls of one tool by one agent came to, and what a policy says of them. */
export interface JudgedTool {
  readonly agent: AgentName
  /** The name that the model used. */
  readonly tool: string
  readonly was: Readonly<Record<Permission, number>>
  readonly now: Readonly<Record<Permission, number>>
}

export interface DryRun {
  readonly runs: number
  /** The number of calls that were tried: those that reached the gate and whose tool still exists. Delegations do not count. */
  readonly calls: number
  readonly now: Readonly<Record<Permission, number>>
  readonly was: Readonly<Record<Permission, number>>
  /** The number of calls to tools that no longer exist. */
  readonly unknown: number
  readonly changed: number
  /** The same by agent and tool, the most called first, at most 1,000. */
  readonly tools: ReadonlyArray<JudgedTool>
  /** The calls whose answer changes, oldest first, at most 1,000. */
  readonly list: ReadonlyArray<Judged>
  readonly left_off: number
  /** Runs in quarantine, which cannot be read: at most 1,000 of them, oldest first. */
  readonly quarantined: ReadonlyArray<RunId>
}

const list_max = 1_000

const reasonOf = ({ outcome }: RecordedCall): string | undefined =>
  outcome?._tag === "Failed" ? outcome.error.reason : undefined

/** The failure reasons of calls that ended before the gate reached the policy. */
const before: ReadonlySet<string | undefined> = new Set([
  "UNKNOWN_TOOL",
  "NOT_ALLOWED",
  "ROLE_DENIED",
  "MALFORMED_JSON",
  "INPUT_SCHEMA",
  "CAPABILITY_DENIED",
  "NOT_OFFERED",
  "RUN_CONTEXT",
  "RUN_CONTEXT_SECRETS",
  "CALLS_MAX",
  "HANDOFF_NESTED",
  "HANDOFF_TWICE",
  "HANDOFFS_MAX",
  "NOT_FOR_CUSTOMERS",
  "DUPLICATE_CALL"
])

const wasOf = (recording: Recording, call: RecordedCall): Permission => {
  // The policy's answer was ask for a call that was authorised in advance, too.
  if (call.authorized !== undefined) return "ask"
  if (recording.questions.some(({ request }) => request.call === call.id)) return "ask"
  return call.permission ?? (reasonOf(call) === "PERMISSION_DENIED" ? "deny" : "allow")
}

/** What a policy reads of a tool. */
type JudgedAs = Parameters<typeof policySubjectOf>[0]

/**
 * Judges calls of the tools that there are by a policy. What makes it throw is denied, as the gate would fail the call. `toolOf`:
 * the tool that an agent has under a name.
 */
export const judgeBy =
  (policy: Policy, toolOf: (agent: AgentName, name: string) => JudgedAs | undefined): Judge =>
  ({ arguments: args, tool: name, ...run }) => {
    const tool = toolOf(run.agent, name)
    if (tool === undefined) return undefined
    const by = { ...run, roles: run.roles ?? [] }
    return Result.getOrElse(
      Result.try(() => effectivePermission(policy, policySubjectOf(tool), args, false, by)),
      () => "deny" as const
    )
  }

type Counts = Record<Permission, number>

const noCalls = (): Counts => ({ allow: 0, ask: 0, deny: 0 })

const sumOf = ({ allow, ask, deny }: Readonly<Counts>): number => allow + ask + deny

/** Tries one policy over as many runs as are added. */
export class PolicyDryRun {
  readonly #judge: Judge
  readonly #now = noCalls()
  readonly #was = noCalls()
  readonly #tools = new Map<
    string,
    { readonly agent: AgentName; readonly tool: string; readonly was: Counts; readonly now: Counts }
  >()
  readonly #list: Array<Judged> = []
  readonly #quarantined: Array<RunId> = []
  #runs = 0
  #unknown = 0
  #changed = 0

  constructor(judge: Judge) {
    this.#judge = judge
  }

  /** Notes a run that cannot be read, so that the dry run can go on with the others. */
  leaveOut(run: RunId): void {
    if (this.#quarantined.length < list_max) this.#quarantined.push(run)
  }

  /** Tries the policy on the calls of one run. */
  add(run: RunId, recording: Recording): void {
    this.#runs++
    const delegated = new Set<string>()
    const supervisor = agentOfRun(recording.accepted)
    const agents = new Map<string, AgentName>([["0", supervisor]])
    /** The agent of each step. Between two turns, a frame may have been handed to another agent. */
    const callers = new Map<string, AgentName>()
    for (const { event } of recording.entries) {
      if (event._tag === "ModelTurned") {
        const { frame, step } = event
        callers.set(stepKey(frame, step), agents.get(frame) ?? supervisor)
      } else if (event._tag === "FrameOpened") {
        delegated.add(event.call)
        agents.set(event.frame, event.agent)
      } else if (event._tag === "HandedOff") {
        delegated.add(event.call)
        agents.set(rootFrame, event.to)
      }
    }
    for (const call of recording.calls) {
      if (delegated.has(call.id) || before.has(reasonOf(call))) continue
      this.#try(
        {
          run,
          call: call.id,
          tenant: recording.accepted.tenant,
          agent: callers.get(stepOfCall(call.id) ?? "") ?? supervisor,
          tool: call.name,
          arguments: call.arguments,
          principal: senderOf(recording.accepted),
          context: recording.accepted.context,
          roles: recording.accepted.roles
        },
        wasOf(recording, call)
      )
    }
  }

  #try(call: PastCall, was: Permission): void {
    const now = this.#judge(call)
    if (now === undefined) {
      this.#unknown++
      return
    }
    this.#now[now]++
    this.#was[was]++
    const { agent, tool } = call
    const key = `${agent} ${tool}`
    const counts = this.#tools.get(key) ?? { agent, tool, was: noCalls(), now: noCalls() }
    this.#tools.set(key, counts)
    counts.now[now]++
    counts.was[was]++
    if (now === was) return
    this.#changed++
    if (this.#list.length < list_max) this.#list.push({ ...call, was, now })
  }

  get result(): DryRun {
    return {
      runs: this.#runs,
      calls: sumOf(this.#now),
      now: { ...this.#now },
      was: { ...this.#was },
      unknown: this.#unknown,
      changed: this.#changed,
      tools: [...this.#tools.values()]
        .sort((a, b) => sumOf(b.now) - sumOf(a.now))
        .slice(0, list_max)
        .map(({ agent, now, tool, was }) => ({ agent, tool, was: { ...was }, now: { ...now } })),
      list: [...this.#list],
      left_off: this.#changed - this.#list.length,
      quarantined: [...this.#quarantined]
    }
  }
}

/** A sentence such as "214 of 3,902 calls in 57 runs would have asked; 3 would have been denied." */
export const dryRunText = ({ calls, now, runs }: DryRun): string =>
  `${now.ask.toLocaleString("en-US")} of ${calls.toLocaleString("en-US")} calls in ${runs.toLocaleString("en-US")} runs would have asked; ${now.deny.toLocaleString("en-US")} would have been denied.`
