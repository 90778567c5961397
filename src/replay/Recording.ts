/**
 * The parts of a journal that a replay of its run needs: the turns by step, the calls with their results, and how each question
 * was answered.
 */
import type { FilePart } from "../conversation/Part.ts"
import type { Spending } from "../cost/Spending.ts"
import type { Authorized } from "../permission/Authorization.ts"
import type { CallId } from "../value/Ids.ts"
import { stepKey } from "../value/Ids.ts"
import type {
  ApprovalRequested,
  CallSettled,
  Compacted,
  JournalEntry,
  MemoryRecalled,
  RunBeside,
  ModelTurned,
  Outcome,
  Repeats,
  RunAccepted,
  RunEnded,
  RunEvent,
  RunStopping
} from "../run/RunEvent.ts"
import type { Guarded } from "../run/GuardVerdict.ts"
import type { Permission } from "../tool/SideEffects.ts"
import type { RunState } from "../run/RunState.ts"
import { fold } from "../run/RunFold.ts"
import { defined } from "../value/PlainObject.ts"

type Decided = Extract<RunEvent, { _tag: "ApprovalDecided" }>
type Closed = Extract<RunEvent, { _tag: "ApprovalClosed" }>

/** A call as it was recorded. */
export interface RecordedCall {
  readonly id: CallId
  /** The name that the model used. */
  readonly name: string
  /** The arguments with which the call ran: the model's, or a person's replacement. */
  readonly arguments: unknown
  /** The arguments that the model gave. */
  readonly proposed: unknown
  /** Absent = it had no result when the recording ended. */
  readonly outcome: Outcome | undefined
  /** What the call's body had spent on models by then. */
  readonly spent?: Spending
  /** The files that the call's body had attached. */
  readonly files?: ReadonlyArray<FilePart>
  /** The authorisation in advance that let the call run. Absent = none did. */
  readonly authorized?: Authorized
  /** The earlier call whose result it was given. Absent = its own. */
  readonly repeats?: Repeats
  /** The answer of the tool's permission function for this call. Absent = it has none. */
  readonly permission?: Permission
}

/** A question and its answer. */
export interface RecordedQuestion {
  readonly request: ApprovalRequested
  readonly answer: Decided | Closed | undefined
}

export interface Recording {
  readonly accepted: RunAccepted
  readonly entries: ReadonlyArray<JournalEntry>
  /** The model's turns, by `frame/step`. */
  readonly turns: ReadonlyMap<string, ModelTurned>
  /** By `frame/step`, the compactions before its turn. */
  readonly compactions: ReadonlyMap<string, ReadonlyArray<Compacted>>
  /** The memories that the run recalled; undefined = memory was not queried. */
  readonly recalled: MemoryRecalled | undefined
  /** What guards said of texts. */
  readonly guarded: ReadonlyArray<Guarded>
  /** What it was told of an earlier run; undefined = it is no side run. */
  readonly beside: RunBeside | undefined
  /** The calls, in the order in which the model asked for them. */
  readonly calls: ReadonlyArray<RecordedCall>
  readonly questions: ReadonlyArray<RecordedQuestion>
  readonly stopping: RunStopping | undefined
  readonly ended: RunEnded | undefined
}

const setOnce = <K, V>(map: Map<K, V>, key: K, value: V) => {
  if (!map.has(key)) map.set(key, value)
}

const callsOf = (
  state: RunState,
  results: ReadonlyMap<string, CallSettled>,
  authorized: ReadonlyMap<string, Authorized>
): ReadonlyArray<RecordedCall> =>
  [...state.calls.values()].map((call) => {
    const result = results.get(call.id)
    return {
      id: call.id,
      name: call.proposed.name,
      arguments: call.arguments,
      proposed: call.proposed.arguments,
      outcome: result?.outcome,
      ...defined({
        spent: result?.spent,
        files: result?.files,
        repeats: result?.repeats,
        permission: result?.permission,
        authorized: authorized.get(call.id)
      })
    }
  })

/** The recording of all entries of one run; undefined if there are no entries. */
export const recordingOf = (entries: ReadonlyArray<JournalEntry>): Recording | undefined => {
  if (entries.length === 0) return undefined
  const state = fold(entries.map(({ event }) => event))
  const turns = new Map<string, ModelTurned>()
  const compactions = new Map<string, Array<Compacted>>()
  const results = new Map<string, CallSettled>()
  const authorized = new Map<string, Authorized>()
  const questions = new Map<string, RecordedQuestion>()
  const guarded: Array<Guarded> = []
  for (const { event } of entries) {
    switch (event._tag) {
      case "ModelTurned":
        // The one that guards asked about comes first, as the model gave it.
        setOnce(turns, stepKey(event.frame, event.step), event)
        break
      case "Compacted": {
        const key = stepKey(event.frame, event.step)
        compactions.set(key, [...(compactions.get(key) ?? []), event])
        break
      }
      case "Guarded":
        guarded.push(event)
        break
      case "CallDispatched":
        if (event.authorized !== undefined) authorized.set(event.call, event.authorized)
        break
      case "CallSettled":
        results.set(event.call, event)
        break
      case "ApprovalRequested":
        questions.set(event.approval, { request: event, answer: undefined })
        if (event.guarded?.turned !== undefined) {
          const { frame, step, turned } = event.guarded
          setOnce(turns, stepKey(frame, step), turned)
        }
        break
      case "ApprovalDecided":
      case "ApprovalClosed": {
        const question = questions.get(event.approval)
        if (question !== undefined) questions.set(event.approval, { ...question, answer: event })
        break
      }
      default:
        break
    }
  }
  return {
    accepted: state.accepted,
    entries,
    turns,
    compactions,
    recalled: state.recalled,
    guarded,
    beside: state.beside,
    calls: callsOf(state, results, authorized),
    questions: [...questions.values()],
    stopping: state.stopping,
    ended: state.ended
  }
}
