import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import type { Decision } from "../../src/approval/Approval.ts"
import { ToolTransientError } from "../../src/error/ToolError.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { Policy } from "../../src/permission/Policy.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import { dryRunText } from "../../src/replay/PolicyDryRun.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import { RunQuarantined } from "../../src/run/Quarantine.ts"
import { RunNotFound } from "../../src/run/RunCommand.ts"
import * as Replay from "../../layers/compose/entries/Replay.ts"
import { EphemeralStore } from "../../layers/ephemeral/EphemeralStore.ts"
import { dryRunLines } from "../../scripts/troupe/Print.ts"
import { ModelError } from "../../services/ModelGateway.ts"
import { call, calls, fails, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { ScriptedTurn } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { seeded } from "../run/Interleaving.ts"
import * as H from "../runtime/Harness.ts"
import { asks, reads, writes } from "../runtime/Harness.ts"

const toolkit = (ran: Array<string>) => {
  const did = (name: string) => (n: number) =>
    Effect.sync(() => {
      ran.push(name)
      return { n, nth: ran.length }
    })
  return {
    look: reads(did("look")),
    file: writes(did("file")),
    pay: asks(did("pay")),
    away: reads(() => Effect.fail(new ToolTransientError({ kind: "external", message: "away" }))),
    dies: writes(() => Effect.die(new Error("a defect"))),
    answer: reads(did("answer"), { stop_loop: true })
  }
}

const specialist = AgentName.make("digger")

const agents = [
  AgentSpec.make({
    name: specialist,
    description: "Digs.",
    instructions: "Dig.",
    tools: ["test.look@1", "test.pay@1"]
  })
]

const optionsOf = (
  ran: Array<string>,
  script: ReadonlyArray<ScriptedTurn> | Readonly<Record<string, ReadonlyArray<ScriptedTurn>>>,
  limits: Partial<RunLimits> = {}
): H.Options => ({
  tools: toolkit(ran),
  agents,
  agent: { specialists: [specialist], limits: RunLimits.make(limits) },
  script
})

const appOf = (options: H.Options): Replay.App<unknown, never> => ({
  agents: H.agentsOf(options),
  tools: [H.toolsOf(options.tools ?? {})]
})

/** The replay's second way, through the gate, which must have been gone. */
const gateOf = (report: Replay.Report) => {
  if (typeof report.gate === "string") return assert.fail(report.gate)
  return report.gate
}

/** Answers every question of a run as it comes, until the run ends. */
const answering = Effect.fnUntraced(function* (run: RunId, decide: (nth: number) => Decision) {
  const answers = yield* Effect.forkChild(
    Effect.gen(function* () {
      for (let nth = 1; ; nth++) {
        const { approval } = yield* H.question(run, nth)
        yield* Effect.ignore(H.decide(approval, decide(nth)))
      }
    })
  )
  yield* H.ended(run)
  answers.interruptUnsafe()
})

/** Sends, answers, waits for the end, replays, and finds no difference. */
const same = Effect.fnUntraced(function* (
  options: H.Options,
  ran: ReadonlyArray<string>,
  decide: (nth: number) => Decision = () => H.approve
) {
  const run = yield* H.send("go")
  yield* answering(run, decide)
  const before = ran.length
  const report = yield* Replay.replay(run, { app: appOf(options) })
  assert.isUndefined(report.divergence, JSON.stringify(report.divergence))
  const gate = gateOf(report)
  assert.isUndefined(gate.divergence, JSON.stringify(gate.divergence))
  assert.strictEqual(ran.length, before)
  assert.deepEqual({ ...gate.state.ended }, { ...report.recording.ended } as Record<
    string,
    unknown
  >)
  return report
})

const decisions: ReadonlyArray<Decision> = [
  H.approve,
  H.deny,
  { _tag: "RequestRevision", note: "less" },
  { _tag: "Modify", arguments: { n: 77 } }
]

const names = ["look", "file", "pay", "away", "dies", "made_up", "ask_digger"]

const scriptOf = (seed: number): Readonly<Record<string, ReadonlyArray<Turn>>> => {
  const random = seeded(seed)
  const pick = (of: ReadonlyArray<string>) => of[Math.floor(random() * of.length)]!
  const one = (of: ReadonlyArray<string>, n: number) => {
    const name = pick(of)
    return name === "ask_digger" ? call(name, { task: `dig ${n}` }) : call(name, { n })
  }
  const turn = (of: ReadonlyArray<string>, step: number) =>
    calls(Array.from({ length: 1 + Math.floor(random() * 3) }, (_, i) => one(of, step * 10 + i)))
  // More turns than are asked for: what is left is not said.
  const dig = Array.from({ length: 12 }, (_, step) =>
    step % 2 === 0 ? turn(["look", "pay"], 100 + step) : text("dug")
  )
  const turns = Array.from({ length: 1 + Math.floor(random() * 3) }, (_, step) => turn(names, step))
  return { tester: [...turns, text("done")], digger: dig }
}

describe("a replay through the gate", () => {
  it.live(
    "SG-28 repeats any run: calls, specialists, failures and every kind of decision",
    () =>
      Effect.gen(function* () {
        const kinds = new Set<string>()
        let frames = 0
        for (let seed = 0; seed < 60; seed++) {
          const ran: Array<string> = []
          const options = optionsOf(ran, scriptOf(seed))
          const random = seeded(seed + 1_000)
          const answers = Array.from({ length: 50 }, () => decisions[Math.floor(random() * 4)]!)
          const report = yield* same(options, ran, (nth) => answers[nth]!).pipe(
            Effect.provide(H.layer(options)),
            Effect.tapError(() => Effect.logError(`seed ${seed}`))
          )
          for (const { decision } of report.decisions) kinds.add(decision)
          frames += report.recording.entries.filter(
            ({ event }) => event._tag === "FrameOpened"
          ).length
        }
        assert.sameMembers([...kinds], ["approve", "deny", "request_revision", "modify"])
        assert.isAbove(frames, 5)
      }),
    { timeout: 120_000 }
  )

  it.live("asks no host what an approved call is bound to", () => {
    const options = optionsOf([], [call("pay", { n: 1 }), text("done")])
    let asked = 0
    const binding = () => Effect.sync(() => `Revision ${++asked}.`)
    const bound = Effect.map(H.toolsOf(options.tools ?? {}), (tools) =>
      tools.map((tool) => ({ ...tool, binding }))
    )
    return Effect.gen(function* () {
      const run = yield* H.send("go")
      yield* answering(run, () => H.approve)
      const app = { ...appOf(options), tools: [bound] }
      const gate = gateOf(yield* Replay.replay(run, { app }))
      assert.isUndefined(gate.divergence, JSON.stringify(gate.divergence))
      assert.strictEqual(asked, 0)
    }).pipe(Effect.provide(H.layer(options)))
  })

  it.live("SG-20 stops at the value that stopped the loop", () => {
    const ran: Array<string> = []
    const options = optionsOf(ran, [call("answer", { n: 1 })])
    return Effect.provide(same(options, ran), H.layer(options))
  })

  it.live("extends a limit where a person extended it, and ends where the person did not", () => {
    const ran: Array<string> = []
    const options = optionsOf(
      ran,
      [call("look", { n: 1 }), call("look", { n: 2 }), call("look", { n: 3 }), text("done")],
      { steps_max: 1, on_breach: "ask", extensions_max: 5 }
    )
    return Effect.gen(function* () {
      const report = yield* same(options, ran, (nth) => (nth < 3 ? H.approve : H.deny))
      assert.deepEqual(
        report.decisions.map(({ decision, tool }) => [tool, decision]),
        [
          ["troupe.extend_run@1", "approve"],
          ["troupe.extend_run@1", "approve"],
          ["troupe.extend_run@1", "deny"]
        ]
      )
    }).pipe(Effect.provide(H.layer(options)))
  })

  for (const [who, failure, reason] of [
    ["the model", fails("refused", "no more"), "model_refused"],
    [
      "a graph",
      Effect.fail(
        new ModelError({ kind: "refused", reason: "graph_stopped", message: "node a failed" })
      ),
      "graph_stopped"
    ]
  ] as const) {
    it.live(`fails where ${who} failed, with the same reason`, () => {
      const ran: Array<string> = []
      const options = optionsOf(ran, [call("look", { n: 1 }), failure])
      return Effect.gen(function* () {
        const { recording } = yield* same(options, ran)
        assert.deepInclude(recording.ended, { status: "failed", reason })
      }).pipe(Effect.provide(H.layer(options)))
    })
  }

  it.live("cuts a long prompt where it was cut, with the recorded summaries", () =>
    Effect.gen(function* () {
      const page = "The quick brown fox jumps over the lazy dog. ".repeat(40)
      for (const compaction of ["truncate", "summarise"] as const) {
        let asked = 0
        const options: H.Options = {
          tools: { page: reads((n) => Effect.sync(() => `${n} ${++asked} ${page}`)) },
          agent: { compaction, context_tokens_max: 3_000 },
          script: (request) =>
            request.purpose === "summary"
              ? text("a summary", { usage: { input_tokens: 7, output_tokens: 3 } })
              : request.step <= 12
                ? call("page", { n: request.step })
                : text("read")
        }
        yield* Effect.gen(function* () {
          const run = yield* H.send("read all")
          const recorded = H.count(yield* H.ended(run), "Compacted")
          assert.isAbove(recorded, 0)
          const report = yield* Replay.replay(run, { app: appOf(options) })
          assert.isUndefined(report.divergence, JSON.stringify(report.divergence))
          const gate = gateOf(report)
          assert.isUndefined(gate.divergence, JSON.stringify(gate.divergence))
          const replayed = gate.entries.map(({ event }) => event)
          assert.strictEqual(H.count(replayed, "Compacted"), recorded)
          assert.strictEqual(asked, 12)
        }).pipe(Effect.provide(H.layer(options)))
      }
    })
  )

  it.live("names what was erased, and ends at the call whose result was erased", () => {
    const ran: Array<string> = []
    const options = optionsOf(ran, [call("file", { n: 1 }), text("done")])
    const mark = { erased: "e".repeat(64) }
    return Effect.gen(function* () {
      const run = yield* H.send("go")
      yield* H.ended(run)
      const erased = H.withJournal(Replay.replay(run, { app: appOf(options) }), (journal) => ({
        read: (id, from, limit) =>
          Effect.map(journal.read(id, from, limit), (entries) =>
            entries.map((entry) =>
              entry.event._tag === "CallSettled"
                ? {
                    ...entry,
                    event: {
                      ...entry.event,
                      outcome: { _tag: "Value" as const, json: JSON.stringify(mark) }
                    }
                  }
                : entry
            )
          )
      }))
      const report = yield* erased
      assert.isUndefined(report.divergence)
      assert.lengthOf(report.erased, 1)
      assert.strictEqual(report.erased[0]?.path, "outcome.json")
      const gate = gateOf(report)
      assert.deepEqual(
        gate.calls.map(({ how }) => how),
        ["erased"]
      )
      assert.strictEqual(gate.divergence?.call, "0/1.0")
      assert.deepEqual(ran, ["file"])
    }).pipe(Effect.provide(H.layer(options)))
  })
})

describe("a policy that is tried on recorded runs", () => {
  const ran: Array<string> = []
  const options = optionsOf(
    ran,
    (["look", "file", "pay", "made_up"] as const).flatMap((name) => [
      call(name, { n: 1 }),
      text("done")
    ])
  )

  it.live(
    "AG-59 counts and lists the calls that it would have asked about, without a question to a person",
    () =>
      Effect.gen(function* () {
        for (let i = 0; i < 4; i++) {
          const conversation = `c-${i}`
          const run = yield* H.send("go", conversation)
          if (i === 2) {
            yield* H.happened(run, "ApprovalRequested", 1, conversation)
            const [asked] = yield* H.pending
            yield* H.decide(asked!.id, H.approve)
          }
          yield* H.ended(run, conversation)
        }
        const app = appOf(options)
        const history = { tenant: H.tenant }
        const before = ran.length
        const asking = yield* Replay.dryRun(history, app, Policy.make({ mode: "ask" }))
        assert.strictEqual(
          dryRunText(asking),
          "2 of 3 calls in 4 runs would have asked; 0 would have been denied."
        )
        assert.deepEqual(asking.was, { allow: 2, ask: 1, deny: 0 })
        // What a tool says of itself wins over the mode, and what was asked before changes nothing.
        assert.deepEqual(
          asking.list.map(({ now, tool, was }) => [tool, was, now]),
          [["look", "allow", "ask"]]
        )
        assert.strictEqual(asking.changed, asking.list.length)
        const rules = Policy.make({ rules: [{ pattern: "look", permission: "deny" }] })
        const denying = yield* Replay.dryRun(history, app, rules)
        assert.deepEqual(denying.now, { allow: 1, ask: 1, deny: 1 })
        assert.deepEqual(
          denying.list.map(({ tool }) => tool),
          ["look"]
        )
        assert.strictEqual(ran.length, before)
        assert.lengthOf(yield* H.pending, 0)
        const none = yield* Replay.dryRun({ tenant: Tenant.make("other") }, app, rules)
        assert.deepInclude(none, { runs: 0, calls: 0 })
        // A run that cannot be read is named, and the others are tried.
        const { runs } = yield* EphemeralStore
        const [broken] = runs.keys()
        runs.get(broken!)!.entries.splice(1, 1)
        const rest = yield* Replay.dryRun(history, app, rules)
        assert.deepInclude(rest, { runs: 3, quarantined: [broken!] })
        assert.include(dryRunLines(rest), `run ${broken} cannot be read`)
        const alone = yield* Effect.flip(Replay.dryRun({ run: broken! }, app, rules))
        assert.instanceOf(alone, RunQuarantined)
        const nobody = "6f9619ff-8b86-4011-b42d-00c04fc964ff" as RunId
        const unknown = yield* Effect.flip(Replay.dryRun({ run: nobody }, app, rules))
        assert.instanceOf(unknown, RunNotFound)
      }).pipe(Effect.provide(H.layer(options)))
  )
})
