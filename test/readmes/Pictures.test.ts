/** The pictures of the READMEs, against what the code does. */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { ApprovalStatus } from "../../src/approval/Approval.ts"
import { project } from "../../src/run/Projection.ts"
import { cancelRun } from "../../src/run/RunCommand.ts"
import { evolve, fold } from "../../src/run/RunFold.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import type { CallPhase } from "../../src/run/RunState.ts"
import { RunStatus, statusOf } from "../../src/run/RunState.ts"
import * as Samples from "../contracts/Samples.ts"
import { blocksOf, root } from "../examples/Readmes.ts"
import { importsOf, load, under } from "../HouseTree.ts"
import type { Play } from "../run/Interleaving.ts"
import { interleave, run } from "../run/Interleaving.ts"

const phases: Readonly<Record<CallPhase["_tag"], true>> = {
  Proposed: true,
  Delegated: true,
  AwaitingApproval: true,
  Decided: true,
  Dispatched: true,
  Unknown: true,
  Settled: true
}

const pictures = (path: string): ReadonlyArray<string> =>
  blocksOf(readFileSync(join(root, path), "utf8"), "mermaid")

/** The arrows of a state diagram, but for those to its end. */
const arrowsOf = (picture: string): ReadonlySet<string> => {
  const arrows = picture.matchAll(/^ *(\S+ --> \w+)(?:: .*)?$/gm)
  return new Set([...arrows].map(([, arrow]) => arrow!))
}
const statesOf = (picture: string): ReadonlyArray<string> => [
  ...new Set([...picture.matchAll(/\b[A-Za-z_]+(?= -->)|(?<=--> )\w+/g)].map(([state]) => state))
]

interface Moves {
  readonly run: Set<string>
  readonly call: Set<string>
  readonly question: Set<string>
}

/** Adds how states move between two appends of a play. */
const observer = (moves: Moves) => {
  const calls = new Map<string, string>()
  const questions = new Map<string, string>()
  let status = "processing"
  let length = 0
  return ({ events, state }: Play): void => {
    const appended = events.slice(length)
    length = events.length
    const next = statusOf(state)
    if (next !== status) moves.run.add(`${status} --> ${next}`)
    status = next
    for (const { id, phase } of state.calls.values()) {
      const before = calls.get(id)
      if (before === undefined) moves.call.add("[*] --> Proposed")
      const from = before ?? "Proposed"
      const isAgain =
        from === "Dispatched" &&
        appended.some((event) => event._tag === "CallDispatched" && event.call === id)
      if (from !== phase._tag || isAgain) moves.call.add(`${from} --> ${phase._tag}`)
      calls.set(id, phase._tag)
    }
    const { answered, requested } = project(run, appended, 0)
    for (const { id, status: at } of [...requested, ...answered]) {
      moves.question.add(`${questions.get(id) ?? "[*]"} --> ${at}`)
      questions.set(id, at)
    }
  }
}

/** Everything that the plays of these seeds do, and what becomes of a run that nobody has claimed. */
const movesOf = (seeds: number): Moves => {
  const moves: Moves = { run: new Set(), call: new Set(), question: new Set() }
  for (let seed = 0; seed < seeds; seed++) interleave(seed, observer(moves))
  const accepted = Samples.runAccepted(Samples.newTask(), RunLimits.make({}))
  const claimed = [{ _tag: "RunClaimed", epoch: 1, owner: "o" }] as const
  const cancelled = cancelRun(fold([accepted]), run, "ada", "enough").events
  moves.run.add(`[*] --> ${statusOf(fold([accepted]))}`)
  for (const events of [claimed, cancelled]) {
    const state = fold([accepted])
    for (const event of events) evolve(state, event)
    moves.run.add(`pending --> ${statusOf(state)}`)
  }
  return moves
}

describe("the pictures of states", () => {
  const [ofRun = "", ofCall = ""] = pictures("layers/runtime/README.md")
  const [ofQuestion = ""] = pictures("src/permission/README.md")
  const moves = movesOf(800)

  for (const [what, picture, states, seen] of [
    ["a run", ofRun, RunStatus.literals, moves.run],
    ["a call", ofCall, Object.keys(phases), moves.call],
    ["a question", ofQuestion, ApprovalStatus.literals, moves.question]
  ] as const) {
    it(`of ${what} have the states of the code, and no others`, () => {
      assert.sameMembers([...statesOf(picture)], [...states])
    })

    it(`of ${what} have an arrow for each way that the decider and commands go, and for no other`, () => {
      assert.sameMembers([...arrowsOf(picture)], [...seen])
    })
  }
})

describe("the picture of the whole", () => {
  const [picture = ""] = pictures("README.md")
  const tree = load("src", "services", "layers")
  const nodes = new Map(
    [...picture.matchAll(/^ +(\w+)\["(.*)"\]$/gm)].map(([, name, label]) => [
      name!,
      label!.match(/(?:src|services|layers)\/[\w/]+/g) ?? []
    ])
  )
  const arrows = [...picture.matchAll(/^ +(\w+) <?-->\|(\w+)\| (\w+)$/gm)]

  it("has rooms that exist, and every one of them an arrow", () => {
    const met = new Set(arrows.flatMap(([, from, , to]) => [from!, to!]))
    assert.sameMembers([...met], [...nodes.keys()])
    for (const folders of nodes.values()) {
      assert.isNotEmpty(folders)
      for (const folder of folders) assert.isTrue(existsSync(join(root, folder)), folder)
    }
  })

  it("has arrows between rooms that meet in the file that each arrow names", () => {
    for (const [arrow, from, name, to] of arrows) {
      const [file, ...more] = [...tree.keys()].filter((path) => path.endsWith(`/${name}.ts`))
      assert.isDefined(file, `no file has the name of${arrow}`)
      assert.isEmpty(more)
      for (const end of [from!, to!]) {
        const meets = (folder: string) =>
          [...tree].some(
            ([path, text]) =>
              under(path, folder) && (path === file || importsOf(path, text).includes(file!))
          )
        for (const folder of nodes.get(end)!) assert.isTrue(meets(folder), `${folder}:${arrow}`)
      }
    }
  })
})
