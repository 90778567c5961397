/**
 * `troupe bulk`: one act on all that match a filter. Without `--yes` it counts and changes nothing. With it, it does step by step what
 * it counted, and says on the way how far it is. One that was killed is run again, and goes on with what is left.
 */
import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { TroupeService } from "../../layers/compose/entries/Troupe.ts"
import { bulk_max } from "../../src/operation/Page.ts"
import type { Principal } from "../../src/principal/Principal.ts"
import { oneLine } from "../chat/View.ts"
import { toggle } from "../command/CommandLine.ts"
import { during } from "../command/Progress.ts"
import { inputOf } from "./CallCommand.ts"
import type { Place } from "./Operator.ts"
import { inStore, place } from "./Operator.ts"
import { described } from "./WorkCommands.ts"

/** Few enough that it says often how far it is. */
const step_items = 100

const acts = {
  cancel: ["countRuns", "cancelRuns", "runs"],
  replay: ["countDeadLetters", "replayDeadLetters", "dead letters"],
  discard: ["countDeadLetters", "discardDeadLetters", "dead letters"],
  settle: ["countUnknown", "settleCalls", "calls"]
} as const
type ActName = keyof typeof acts

interface Item {
  readonly outcome: string
  readonly detail?: string
  readonly id?: string
  readonly event_id?: string
  readonly run_id?: string
  readonly call?: string
}

interface Done {
  readonly count: number
  readonly is_cut?: true
  readonly items?: ReadonlyArray<Item>
}

/** A method decodes what it is given. */
type Method<A> = (input: object, by: Principal) => Effect.Effect<A, unknown>

const counted = (troupe: TroupeService, by: Principal, act: ActName, filter: object) => {
  const method = troupe[acts[act][0]] as Method<Done & { readonly until: number }>
  return method(filter, by)
}

const stepOf = (troupe: TroupeService, by: Principal, act: ActName, input: object) => {
  const method = troupe[acts[act][1]] as Method<{
    readonly items: ReadonlyArray<Item>
    readonly next_after?: string
  }>
  return method(input, by)
}

const perform = Effect.fnUntraced(function* (
  troupe: TroupeService,
  by: Principal,
  { act, input, yes }: { readonly act: ActName; readonly input: string; readonly yes: boolean }
) {
  const given = yield* inputOf(input)
  const { outcome: _, reason: __, ...filter } = given
  const { until, ...count } = yield* counted(troupe, by, act, filter)
  if (!yes) return count as Done
  return yield* during(act, { unit: acts[act][2], total: count.count }, (progress) =>
    Effect.gen(function* () {
      const items: Array<Item> = []
      for (let after: string | undefined; items.length < bulk_max;) {
        const limit = Math.min(step_items, bulk_max - items.length)
        const place = { until, limit, ...(after === undefined ? undefined : { after }) }
        const step = yield* stepOf(troupe, by, act, { ...given, ...place })
        items.push(...step.items)
        progress.at(items.length)
        after = step.next_after
        if (after === undefined) break
      }
      return { ...count, items } as Done
    })
  )
})

const idOf = ({ call, event_id, id, run_id }: Item): string =>
  id ?? event_id ?? `${run_id ?? ""} ${call ?? ""}`

const linesOf = (act: ActName, { count, is_cut, items }: Done): string => {
  const of = `${is_cut === true ? "more than " : ""}${count} ${acts[act][2]} match`
  if (items === undefined) return `${of}; nothing was changed: add --yes`
  const sum = (wanted: string) => items.filter(({ outcome }) => outcome === wanted).length
  return [
    ...items.map((item) =>
      `${item.outcome.padEnd(7)} ${idOf(item)} ${oneLine(item.detail ?? "")}`.trimEnd()
    ),
    `${of}: ${sum("done")} done, ${sum("skipped")} skipped, ${sum("failed")} failed`
  ].join("\n")
}

export const bulkCommand = Command.make(
  "bulk",
  {
    ...place,
    act: Argument.Literals("act", Object.keys(acts) as ReadonlyArray<ActName>).pipe(
      Argument.withMetavar("cancel|replay|discard|settle"),
      Argument.withDescription("cancel runs, send dead letters again or give them up, settle calls")
    ),
    input: Flag.String("input").pipe(
      Flag.withMetavar("JSON"),
      Flag.withDescription(
        'the filter, as troupe call lists it, with why: {"agent":"shop","reason":"the sale is over"}; of settle with the outcome'
      ),
      Flag.withDefault("{}")
    ),
    yes: toggle("yes", "do it: without it, it counts and changes nothing")
  },
  ({ act, input, yes, ...where }: Place & Parameters<typeof perform>[2]) =>
    inStore(
      where,
      (troupe, by) => perform(troupe, by, { act, input, yes }),
      (done) => linesOf(act, done)
    )
).pipe(described("Acts on all runs, dead letters or unknown calls that match a filter."))
