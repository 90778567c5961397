/** The Spectral Agent on a real runtime: who has which tools, what it is told, and what asks a person. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Result } from "effect"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import {
  SpecialistName,
  changeTools,
  spectral_name,
  spectralAgents,
  specialistTools
} from "../../src/spectral/agents/SpectralAgents.ts"
import { AgentDirectory } from "../../services/AgentDirectory.ts"
import type { ModelRequest } from "../../services/ModelGateway.ts"
import * as H from "../runtime/Harness.ts"
import { ask, ended, layer, question, send, toolsOf } from "./Workspace.ts"
import type { Changes } from "./Workspace.ts"

const all = Result.getOrThrow(spectralAgents())
const supervisor = all[0]!

const shown = (request: ModelRequest | undefined) => request?.tools.map(({ name }) => name) ?? []

describe("the supervisor", () => {
  it.live("SA-06 has no tools of its own, and is shown only its specialists", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(supervisor.tools, [])
      const agent = (yield* AgentDirectory).get(spectral_name)!
      assert.strictEqual(agent.tools.size, 0)
      yield* ended(yield* send("hello"))
      const [first] = yield* H.requests
      assert.deepStrictEqual(
        shown(first),
        SpecialistName.literals.map((name) => `ask_${name}`)
      )
      // A tool of a specialist is none of the supervisor's, whatever its model says.
      const [refused] = H.settled(yield* H.events(first!.run))
      assert.deepInclude(refused!.outcome, { _tag: "Failed" })
      if (refused!.outcome._tag === "Failed") {
        assert.strictEqual(refused!.outcome.error.reason, "NOT_ALLOWED")
      }
    }).pipe(Effect.provide(layer({ script: [call("list_recent_scans", { n: 1 }), text("hello")] })))
  )

  it.live("SA-07 hears two specialists that work at the same time, and writes one answer", () => {
    const [one, other] = [Deferred.makeUnsafe<void>(), Deferred.makeUnsafe<void>()]
    const meets = (own: Deferred.Deferred<void>, theirs: Deferred.Deferred<void>) =>
      H.reads((n) =>
        Effect.andThen(Deferred.succeed(own, undefined), Effect.as(Deferred.await(theirs), n))
      )
    return Effect.gen(function* () {
      const run = yield* send("why did my scan fail, and how did it score?")
      const events = yield* ended(run)
      assert.strictEqual(H.count(events, "FrameOpened"), 2)
      assert.strictEqual(H.count(events, "RunEnded"), 1)
      assert.deepInclude(H.end(events), { status: "complete", text: "It timed out; it had 7." })
      const synthesis = (yield* H.requests).findLast(({ agent }) => agent === spectral_name)
      assert.deepStrictEqual(H.resultsShown(synthesis), ['"7 points"', '"a timeout"'])
    }).pipe(
      Effect.provide(
        layer({
          bodies: {
            get_scan_scores: meets(one, other),
            diagnose_scan_failure: meets(other, one)
          },
          script: {
            "0": [
              calls([ask("scan-analyst"), ask("troubleshooter")]),
              text("It timed out; it had 7.")
            ],
            "scan-analyst": [call("get_scan_scores", { n: 1 }), text("7 points")],
            troubleshooter: [call("diagnose_scan_failure", { n: 1 }), text("a timeout")]
          }
        })
      )
    )
  })

  it.live("SA-07 has a third delegation of one turn refused, whichever specialist it is for", () =>
    Effect.gen(function* () {
      const events = yield* ended(yield* send("everything"))
      assert.strictEqual(H.count(events, "FrameOpened"), 2)
      const own = (yield* H.requests).findLast(({ agent }) => agent === spectral_name)
      assert.match(H.resultsShown(own)[2]!, /^ToolPolicyError \(permission, DELEGATIONS_MAX\)/)
      assert.deepInclude(H.end(events), { status: "complete", text: "two of three" })
    }).pipe(
      Effect.provide(
        layer({
          script: ({ agent, step }) =>
            agent !== spectral_name
              ? text("found")
              : step > 1
                ? text("two of three")
                : calls([ask("scan-analyst"), ask("troubleshooter"), ask("onboarding-guide")])
        })
      )
    )
  )
})

describe("a specialist", () => {
  it.live("SA-08 is chosen by the task, and is shown exactly its tools under its own prompt", () =>
    Effect.gen(function* () {
      for (const name of SpecialistName.literals) {
        yield* ended(yield* send(name))
        const asked = (yield* H.requests).filter(({ agent }) => agent === name)
        assert.lengthOf(asked, 1)
        assert.sameMembers([...shown(asked[0])], [...toolsOf(name)])
        assert.strictEqual(asked[0]!.system, all.find((each) => each.name === name)!.instructions)
        // Of the conversation it knows its task alone.
        assert.deepStrictEqual(asked[0]!.transcript, [{ role: "user", text: `task of ${name}` }])
        assert.deepStrictEqual(asked[0]!.history, [])
      }
    }).pipe(
      Effect.provide(
        layer({
          script: ({ agent, step, transcript }) => {
            if (agent !== spectral_name || step > 1) return text("done")
            const entry = transcript.at(-1)
            const name = SpecialistName.literals.find(
              (each) => entry?.role === "user" && entry.text === each
            )!
            return ask(name, `task of ${name}`)
          }
        })
      )
    )
  )

  it("SA-08 has a prompt that names each of its tools and none of another specialist's", () => {
    const prompts = new Set(all.map(({ instructions }) => instructions))
    assert.strictEqual(prompts.size, all.length)
    for (const { instructions, name } of all.slice(1)) {
      const own = specialistTools[name as SpecialistName] as ReadonlyArray<string>
      for (const tool of Object.values(specialistTools).flat()) {
        assert.strictEqual(instructions.includes(tool), own.includes(tool), `${name}: ${tool}`)
      }
    }
    for (const tool of Object.values(specialistTools).flat()) {
      assert.notInclude(supervisor.instructions, tool)
    }
  })

  it.live("SA-13 without tools is left out and cannot be delegated to", () =>
    Effect.gen(function* () {
      yield* ended(yield* send("hello"))
      const [first, second] = yield* H.requests
      assert.notInclude(shown(first), "ask_troubleshooter")
      assert.lengthOf(shown(first), SpecialistName.literals.length - 1)
      assert.include(H.resultsShown(second)[0], "UNKNOWN_TOOL")
    }).pipe(
      Effect.provide(
        layer({ tools: { troubleshooter: [] }, script: [ask("troubleshooter"), text("done")] })
      )
    )
  )

  it("is refused a tool that is not in its table", () => {
    const given = spectralAgents({ tools: { "scan-analyst": ["apply_changeset"] } })
    assert.isTrue(Result.isFailure(given))
    if (Result.isFailure(given)) {
      assert.deepInclude(given.failure, { specialist: "scan-analyst", tool: "apply_changeset" })
    }
  })
})

const applies = {
  "0": [ask("change-manager", "apply change set 7"), text("as you say")],
  "change-manager": [call("apply_changeset", { n: 7 }), text("reported")]
}

describe("a change", () => {
  it.live("SA-25 SA-26 asks a person before it runs, in the name of the specialist", () => {
    const done: Changes = []
    return Effect.gen(function* () {
      const run = yield* send("apply change set 7")
      const { approval, payload } = yield* question(run)
      assert.deepInclude(payload, {
        tool_name: "apply_changeset",
        agent_name: "change-manager",
        correlation_id: approval
      })
      assert.deepStrictEqual(done, [])
      yield* H.decide(approval, H.approve)
      yield* ended(run)
      assert.deepStrictEqual(done, ["apply_changeset 7"])
    }).pipe(Effect.provide(layer({ done, script: applies })))
  })

  it.live("does not happen when it is denied", () => {
    const done: Changes = []
    return Effect.gen(function* () {
      const run = yield* send("apply change set 7")
      yield* H.decide((yield* question(run)).approval, H.deny)
      const events = yield* ended(run)
      assert.deepStrictEqual(done, [])
      assert.deepInclude(H.end(events), { status: "complete", text: "as you say" })
    }).pipe(Effect.provide(layer({ done, script: applies })))
  })

  it("is proposed by change-manager alone, and each of its tools changes something", () => {
    for (const { name, tools } of all) {
      const changing = tools.filter((tool) => changeTools.includes(tool))
      assert.deepStrictEqual(changing, name === "change-manager" ? [...changeTools] : [])
    }
  })

  it.live(
    "SA-17 is not proposed where the workspace only observes: nobody is there who could",
    () => {
      const done: Changes = []
      return Effect.gen(function* () {
        const run = yield* send("apply change set 7")
        const events = yield* ended(run)
        assert.strictEqual(H.count(events, "ApprovalRequested"), 0)
        assert.strictEqual(H.count(events, "FrameOpened"), 0)
        assert.deepStrictEqual(done, [])
        const [first, second] = yield* H.requests
        assert.notInclude(shown(first), "ask_change-manager")
        assert.include(H.resultsShown(second)[0], "UNKNOWN_TOOL")
        assert.include(first!.system, "you propose no change set")
        assert.notInclude(first!.system, "change-manager")
      }).pipe(Effect.provide(layer({ autonomy: "observe_only", done, script: applies })))
    }
  )
})
