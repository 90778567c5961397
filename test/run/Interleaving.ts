/**
 * Plays random interleavings of what can reach a run: inputs that fit and inputs that do not, commands from outside,
 * new owners. A seed gives the same play every time.
 */
import { Result } from "effect"
import type { Decision } from "../../src/approval/Approval.ts"
import type { TurnCost } from "../../src/cost/TurnCost.ts"
import type { CallId, FrameId } from "../../src/value/Ids.ts"
import {
  AgentName,
  ApprovalId,
  callId,
  frameOpenedBy,
  rootFrame,
  RunId
} from "../../src/value/Ids.ts"
import type { Amendment } from "../../src/run/RunCommand.ts"
import { cancelRun, decideApproval, expireApproval, settleCall } from "../../src/run/RunCommand.ts"
import { conclude } from "../../src/run/RunConclusion.ts"
import { limitPlace } from "../../src/run/RunBreach.ts"
import type { RunInput, Turn } from "../../src/run/RunDecider.ts"
import { decide } from "../../src/run/RunDecider.ts"
import type { Outcome, RunEvent } from "../../src/run/RunEvent.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import type { RunState } from "../../src/run/RunState.ts"
import { evolve, fold } from "../../src/run/RunFold.ts"
import { wantedWork } from "../../src/run/RunWork.ts"
import * as Samples from "../contracts/Samples.ts"

/** Numbers in [0, 1): mulberry32, https://gist.github.com/tommyettinger/46a874533244883189143505d203312c. */
export const seeded = (seed: number): (() => number) => {
  let a = seed >>> 0
  return () => {
    a = (a + 0x6d2b79f5) >>> 0
    let t = a
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

export interface Play {
  readonly random: () => number
  readonly events: Array<RunEvent>
  readonly state: RunState
  /** The last approval's number. */
  approvals: number
}

export const run = RunId.make("6f9619ff-8b86-4011-b42d-00c04fc964ff")

export const begin = (limits: RunLimits, random: () => number = () => 0): Play => {
  const accepted = Samples.runAccepted(Samples.newTask(), limits)
  const play: Play = { random, events: [accepted], state: fold([accepted]), approvals: 0 }
  apply(play, [{ _tag: "RunClaimed", epoch: 1, owner: "owner-1" }])
  return play
}

/** More than any play has: a conclusion that follows again and again fails here instead of filling the memory. */
const events_most = 20_000

export const apply = (play: Play, events: ReadonlyArray<RunEvent>): void => {
  for (const event of events) {
    if (play.events.length >= events_most) throw new Error(`${event._tag} follows for ever`)
    play.events.push(event)
    evolve(play.state, event)
  }
}

export const settleDown = (play: Play): void => {
  for (let event = conclude(play.state); event !== undefined; event = conclude(play.state)) {
    apply(play, [event])
  }
}

/** What the run's owner does with an input. */
export const give = (play: Play, input: RunInput): void => {
  apply(play, decide(play.state, input))
  settleDown(play)
}

/** What a journal does with a command: it runs on a state of its own. */
export const command = <A, E>(play: Play, of: (state: RunState) => Amendment<A, E>): boolean => {
  const { answer, events } = of(fold(play.events))
  apply(play, events)
  return Result.isSuccess(answer)
}

export const claim = (play: Play): void => {
  const epoch = play.state.epoch + 1
  if (play.state.ended === undefined) apply(play, [{ _tag: "RunClaimed", epoch, owner: "o" }])
}

const below = (play: Play, n: number): number => Math.floor(play.random() * n)
const chance = (play: Play, p: number): boolean => play.random() < p
const pick = <A>(play: Play, list: ReadonlyArray<A>): A => list[below(play, list.length)]!

const randomLimits = (random: () => number): RunLimits => {
  const upTo = (n: number) => Math.floor(random() * (n + 1))
  return RunLimits.make({
    steps_max: 1 + upTo(9),
    calls_max: 1 + upTo(30),
    writes_max: upTo(4),
    questions_max: upTo(5),
    tokens_max: random() < 0.65 ? 0 : 1 + upTo(100),
    ...(random() < 0.7 ? undefined : { cost_max: `0.${1 + upTo(8)}` }),
    wall_ms_max: random() < 0.7 ? 0 : 1,
    repeats_max: upTo(4),
    mistakes_max: upTo(2),
    depth_max: upTo(3),
    extensions_max: upTo(2),
    delegations_per_turn_max: upTo(2),
    on_breach: random() < 0.35 ? "stop" : random() < 0.5 ? "answer" : "ask"
  })
}

export const turn = (calls: number, text = calls === 0 ? "done" : "let me look"): Turn => {
  const { finish, calls: proposed } = Samples.modelTurned(1, calls)
  return { text, calls: proposed, finish, usage: { input_tokens: 8, output_tokens: 2 } }
}

const ends = ["length", "content_filter", "refusal", "other"] as const

/** A turn as a model may give it: with a price, without one, empty, cut, or with two equal calls. */
const anyTurn = (play: Play): Turn => {
  const given = turn(chance(play, 0.25) ? 0 : 1 + below(play, 3))
  const said = chance(play, 0.1) ? { ...given, text: "", calls: [] } : given
  const [first] = said.calls
  const twice = first !== undefined && chance(play, 0.1) ? [...said.calls, first] : said.calls
  const finish = chance(play, 0.1) ? pick(play, ends) : said.finish
  const cost: TurnCost | undefined = chance(play, 0.4)
    ? undefined
    : chance(play, 0.2)
      ? { _tag: "Unpriced", agent: Samples.operations, prices: "v1", reason: "no_price" }
      : { _tag: "Priced", agent: Samples.operations, prices: "v1", currency: "USD", amount: "0.3" }
  return { ...said, calls: twice, finish, ...(cost === undefined ? undefined : { cost }) }
}

const anyCall = (play: Play): CallId => {
  const open = play.state.open.map((call) => call.id)
  if (open.length > 0 && chance(play, 0.8)) return pick(play, open)
  return pick(play, [...play.state.calls.keys(), callId(rootFrame, 99, 0)])
}

const finishTurn = (play: Play): void => {
  const wanted = wantedWork(play.state).filter((each) => each._tag === "CallModel")
  const late = wanted.length === 0 || chance(play, 0.15)
  const frames = [...play.state.frames.values()]
  const frame = pick(play, frames)
  const place: { readonly frame: FrameId; readonly step: number } = late
    ? { frame: frame.id, step: frame.step + below(play, 3) }
    : pick(play, wanted)
  const { step } = place
  if (chance(play, 0.04)) {
    const reason = "model_unavailable"
    const transient = chance(play, 0.5)
    give(play, { _tag: "TurnFailed", frame: place.frame, step, reason, message: "no", transient })
  } else {
    give(play, {
      _tag: "TurnFinished",
      turned: { _tag: "ModelTurned", frame: place.frame, step, ...anyTurn(play) }
    })
  }
}

/** What the run's owner does when a limit with `ask` is reached. */
const askLimit = (play: Play): void => {
  const wanted = wantedWork(play.state).find((each) => each._tag === "RequestLimitApproval")
  const limit = wanted?.limit ?? pick(play, ["steps_max", "cost_max"] as const)
  const { _tag, ...request } = Samples.approvalRequested(limitPlace(play.state, limit), {
    approval: nextApproval(play),
    limit
  })
  give(play, { _tag: "RequestsLimitApproval", request })
}

const outcomeOf = (play: Play): Outcome =>
  chance(play, 0.7)
    ? { _tag: "Value", json: '{"ok":true}' }
    : {
        _tag: "Failed",
        error: chance(play, 0.35)
          ? { class: "ToolTransientError", kind: "timeout", message: "it took too long" }
          : {
              class: "ToolUserError",
              kind: "invalid_args",
              reason: "INPUT_SCHEMA",
              message: "it is no number"
            }
      }

export const nextApproval = (play: Play): ApprovalId =>
  ApprovalId.make(`00000000-0000-4000-8000-${(++play.approvals).toString(16).padStart(12, "0")}`)

/** The input at the end of a call; for half of the lost ones it is what their tool reports. */
const finished = (play: Play, call: CallId): RunInput => ({
  _tag: "Finished",
  settled: { _tag: "CallSettled", call, outcome: outcomeOf(play) },
  ...(chance(play, 0.5) ? { reconciled: true } : undefined)
})

const moveCall = (play: Play): void => {
  const call = anyCall(play)
  switch (below(play, 6)) {
    case 0:
      return give(play, {
        _tag: "Delegates",
        call,
        agent: AgentName.make("analyst"),
        input: "look into it"
      })
    case 1: {
      const { _tag, ...request } = Samples.approvalRequested(call, {
        approval: nextApproval(play),
        proposal: `proposal-${below(play, 5)}`,
        ...(chance(play, 0.4) ? { expires_at: below(play, 1_000) } : undefined)
      })
      return give(play, { _tag: "RequestsApproval", request })
    }
    case 2:
      return give(play, {
        _tag: "Dispatches",
        call,
        key: `key-${call}`,
        ...pick<
          Pick<Extract<RunInput, { _tag: "Dispatches" }>, "on_loss" | "over_at" | "reconciled">
        >(play, [
          { on_loss: "again" },
          { on_loss: "unknown" },
          { on_loss: "ask", over_at: below(play, 1_000) },
          { on_loss: "ask", over_at: below(play, 1_000), reconciled: true }
        ])
      })
    case 3:
      return give(play, { _tag: "Lost", call })
    default:
      return give(play, finished(play, call))
  }
}

const decisionOf = (play: Play): Decision =>
  pick<Decision>(play, [
    { _tag: "Approve" },
    { _tag: "Deny", reason: "no" },
    { _tag: "RequestRevision", note: "smaller" },
    { _tag: "Modify", arguments: { event_id: "e-2" } }
  ])

const askPeople = (play: Play): void => {
  const asked = [...(play.state.requested ?? [])]
  const waiting = asked.filter(
    (request) =>
      request === play.state.question ||
      play.state.calls.get(request.call)?.phase._tag === "AwaitingApproval"
  )
  if (asked.length === 0) return
  const request = waiting.length > 0 && chance(play, 0.8) ? pick(play, waiting) : pick(play, asked)
  const { approval, call, digest } = request
  const now = below(play, 1_000)
  if (chance(play, 0.15)) {
    command(play, (state) => expireApproval(state, call, approval, now))
    return
  }
  const by = Samples.principal([chance(play, 0.9) ? "approver" : "viewer"])
  const decision = decisionOf(play)
  command(play, (state) => decideApproval(state, { call, approval, decision, by, digest }, now))
}

const settleUnknown = (play: Play): void => {
  const unknown = play.state.open.flatMap(({ id, phase }) => (phase._tag === "Unknown" ? [id] : []))
  const call = unknown.length > 0 && chance(play, 0.8) ? pick(play, unknown) : anyCall(play)
  const settlement = pick(play, [
    { _tag: "Succeeded", json: "1" },
    { _tag: "Failed", message: "it did not happen" },
    { _tag: "RunAgain" }
  ] as const)
  const now = below(play, 1_000)
  command(play, (state) => settleCall(state, run, call, settlement, "operator", now))
}

/** One thing that happens to the run. */
const act = (play: Play): void => {
  const dice = play.random()
  if (wantedWork(play.state).some((each) => each._tag === "RequestLimitApproval") && dice < 0.5) {
    return askLimit(play)
  }
  if (dice < 0.02) return give(play, { _tag: "TimeIsUp" })
  if (dice < 0.04) return askLimit(play)
  if (dice < 0.3) return finishTurn(play)
  if (dice < 0.68) return moveCall(play)
  if (dice < 0.84) askPeople(play)
  else if (dice < 0.92) settleUnknown(play)
  else if (dice < 0.975) claim(play)
  else if (dice < 0.985) command(play, (state) => cancelRun(state, run, "ada", "enough"))
  else if (dice < 0.99) {
    const stopping = { status: "failed", by: "runtime", reason: "definition_changed" } as const
    return give(play, { _tag: "Stops", stopping })
  }
  // The owner folds what others appended sooner or later.
  if (chance(play, 0.6)) give(play, { _tag: "Recovered" })
}

/** `after` is called after each step. */
export const interleave = (seed: number, after: (play: Play) => void): Play => {
  const random = seeded(seed)
  const play = begin(randomLimits(random), random)
  const actions = 5 + below(play, 60)
  for (let i = 0; i < actions; i++) {
    act(play)
    after(play)
  }
  return play
}

/** Does all pending work once and lets people answer; true while there was something to do. */
const round = (play: Play): boolean => {
  const before = play.events.length
  give(play, { _tag: "Recovered" })
  for (const each of wantedWork(play.state)) {
    if (each._tag === "CallModel") {
      if (!each.start) continue
      give(play, {
        _tag: "TurnFinished",
        turned: { _tag: "ModelTurned", frame: each.frame, step: each.step, ...turn(0) }
      })
    } else if (each._tag === "RequestLimitApproval") askLimit(play)
    else if (play.state.calls.get(each.call)!.phase._tag !== "AwaitingApproval") {
      give(play, finished(play, each.call))
    }
  }
  const { question } = play.state
  if (question !== undefined) {
    const { approval, call, digest } = question
    const decision: Decision = chance(play, 0.5)
      ? { _tag: "Approve" }
      : { _tag: "Deny", reason: "that will do" }
    command(play, (state) =>
      decideApproval(
        state,
        { call, approval, decision, digest, by: Samples.principal(["admin"]) },
        0
      )
    )
  }
  for (const { id, phase } of play.state.open) {
    if (phase._tag === "AwaitingApproval") {
      const { approval, digest } = phase.request
      const verdict = { call: id, approval, decision: decisionOf(play), digest }
      command(play, (state) =>
        decideApproval(state, { ...verdict, by: Samples.principal(["admin"]) }, 0)
      )
    } else if (phase._tag === "Unknown") {
      const settlement = { _tag: "Failed", message: "it did not happen" } as const
      command(play, (state) => settleCall(state, run, id, settlement, "operator", 0))
    }
  }
  settleDown(play)
  return play.events.length > before
}

/** Until nothing is left to do. */
export const drain = (play: Play): void => {
  while (play.state.ended === undefined && round(play));
}

/** The frames that were opened for calls of one step, by that step. */
export const delegationsOf = (play: Play): Map<string, number> => {
  const opened = new Map<string, number>()
  for (const call of play.state.calls.values()) {
    if (!play.state.frames.has(frameOpenedBy(call.id))) continue
    const step = `${call.frame}/${call.step}`
    opened.set(step, (opened.get(step) ?? 0) + 1)
  }
  return opened
}
