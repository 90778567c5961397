/** The agents of worlds on a real runtime: asked from outside, asked by another agent, and talked to in sessions. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Result } from "effect"
import type * as WorldToolBodies from "../../layers/spectral/worlds/WorldTools.ts"
import * as LocalWorldAgentRunner from "../../layers/spectral/worlds/LocalWorldAgentRunner.ts"
import * as WorldQuestions from "../../layers/spectral/worlds/WorldQuestions.ts"
import * as StoredWorlds from "../../layers/stores/spectral/worlds/StoredWorlds.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as WorldBridge from "../../layers/compose/assembly/WorldBridge.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { Script } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import type { ModelRequest } from "../../services/ModelGateway.ts"
import { RunReader } from "../../services/RunReader.ts"
import { RuleProposals } from "../../services/spectral/worlds/RuleProposals.ts"
import { WorldPublisher } from "../../services/spectral/worlds/WorldPublisher.ts"
import { rule_page_max, WorldReader } from "../../services/spectral/worlds/WorldReader.ts"
import { WorldAgentRunner } from "../../services/spectral/worlds/contracts/WorldAgentRunner.ts"
import { RunId } from "../../src/value/Ids.ts"
import { WorldUnanswered } from "../../src/spectral/worlds/contracts/WorldAnswer.ts"
import { WorldId } from "../../src/spectral/worlds/contracts/WorldId.ts"
import { worldAgents, worldGovernance, WorldTools } from "../../src/spectral/worlds/WorldAgent.ts"
import { eventually } from "../contracts/Contract.ts"
import {
  asker,
  askerSpec,
  credit,
  layer as local,
  olga,
  person,
  privacy,
  remote,
  tenant
} from "./Worlds.ts"

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false
type RequirementsOf<T> = T extends Effect.Effect<infer _A, infer _E, infer R> ? R : never

const said = ({ history, transcript }: ModelRequest): string =>
  JSON.stringify([...history, ...transcript])

/** Answers with what it can see of the questions. */
const echo: Script = (request) =>
  text(
    `${request.agent}: ${["first", "second"].filter((word) => said(request).includes(word)).join(" ")}`
  )

const events = (run: RunId) =>
  Effect.map(
    RunReader.use((reader) => reader.read(run, 0, 1_000)),
    (entries) => entries.map(({ event }) => event)
  )

const ended = (run: RunId) => eventually(events(run), (found) => found.at(-1)?._tag === "RunEnded")

const ask = (question: string, world = "credit", by = olga) =>
  WorldAgentRunner.use((runner) => runner.ask(question, world, by))
const chat = (message: string, session: string, by = olga, world = "credit") =>
  WorldAgentRunner.use((runner) => runner.chat(message, session, world, by))

const draft = {
  topic: "withdrawal",
  title: "Withdrawal in writing",
  body: "A withdrawal is confirmed in writing.",
  rationale: "No rule says how a withdrawal is confirmed.",
  evidence: ["cooling-off"]
}

/** A call of each tool of a world's agent, the one that writes last. */
const everyCall = [
  ...Object.keys(WorldTools.tools)
    .filter((name) => name !== "propose_rule_candidate")
    .map((name) => call(name, name === "get_rule" ? { rule_id: "apr-shown" } : {})),
  call("propose_rule_candidate", draft)
]

const everythingOf = (world: WorldId) =>
  Effect.gen(function* () {
    const reader = yield* WorldReader
    const proposals = yield* RuleProposals
    return [
      yield* reader.world(tenant, world),
      yield* reader.rules(tenant, world),
      yield* reader.evalSets(tenant, world),
      yield* proposals.open(tenant, world, 10)
    ]
  })

for (const [where, layer] of [
  ["in this process", local],
  ["in another process, over HTTP", remote]
] as const) {
  describe(`a question to a world's agent ${where}`, () => {
    it.live("ST-36 SA-33 is stateless: the second sees nothing of the first", () =>
      Effect.gen(function* () {
        const first = yield* ask("first")
        const second = yield* ask("second")
        assert.strictEqual(first.text, "world-credit: first")
        assert.strictEqual(second.text, "world-credit: second")
        assert.notStrictEqual(first.run, second.run)
      }).pipe(Effect.provide(layer(echo)))
    )

    it.live("SA-47 leaves the world as it is, whatever its agent tries", () =>
      Effect.gen(function* () {
        const before = yield* everythingOf(credit.world.world_id)
        const { run } = yield* ask("first")
        const settled = (yield* events(run)).filter((event) => event._tag === "CallSettled")
        assert.deepEqual(
          settled.map(({ outcome }) => (outcome._tag === "Failed" ? outcome.error.reason : "")),
          [...everyCall.slice(1).map(() => ""), "ANSWERS_ONLY"]
        )
        assert.deepEqual(yield* everythingOf(credit.world.world_id), before)
      }).pipe(Effect.provide(layer(({ step }) => (step === 1 ? calls(everyCall) : text("done")))))
    )

    it.live("is answered by the agent of that world, whose tools see that world alone", () =>
      Effect.gen(function* () {
        const { run } = yield* ask("first", "privacy")
        const settled = (yield* events(run)).filter((event) => event._tag === "CallSettled")
        assert.deepEqual(
          settled.map(({ outcome }) =>
            outcome._tag === "Value"
              ? JSON.parse(outcome.json)
              : outcome._tag === "Failed" && outcome.error.reason
          ),
          [
            {
              rules: [
                {
                  rule_id: "purpose-named",
                  topic: "purpose",
                  title: "Rule purpose-named",
                  support: "strong"
                }
              ],
              more: false
            },
            "RULE_NOT_FOUND"
          ]
        )
      }).pipe(
        Effect.provide(
          layer(({ step }) =>
            step === 1
              ? call("list_rules")
              : step === 2
                ? call("get_rule", { rule_id: "apr-shown" })
                : text("done")
          )
        )
      )
    )

    it.live(
      "fails with WorldUnknown for a world without an agent, and with WorldRefused for a bad question or asker",
      () =>
        Effect.gen(function* () {
          for (const world of ["nowhere", "Credit", "", "credit/x", 7 as never, null as never]) {
            assert.strictEqual((yield* Effect.flip(ask("first", world)))._tag, "WorldUnknown")
          }
          for (const question of ["", "  \n", "x".repeat(20_001), null as never, {} as never]) {
            assert.strictEqual((yield* Effect.flip(ask(question)))._tag, "WorldRefused")
          }
          const strangers = [
            person("carl", ["customer"]),
            person("vera", ["viewer"]),
            person("ann", ["approver"]),
            person("nobody", []),
            null as never,
            {} as never
          ]
          for (const by of strangers) {
            assert.strictEqual(
              (yield* Effect.flip(ask("first", "credit", by)))._tag,
              "WorldRefused"
            )
            const refused = yield* Effect.flip(chat("first", "s", by))
            assert.strictEqual(refused._tag, "WorldRefused")
          }
          for (const session of ["", "a b", "x".repeat(101), null as never]) {
            assert.strictEqual((yield* Effect.flip(chat("first", session)))._tag, "WorldRefused")
          }
          assert.strictEqual(
            (yield* ask("first", "credit", person("root", ["admin"]))).world,
            "credit"
          )
        }).pipe(Effect.provide(layer(echo)))
    )

    it.live("is cancelled with its caller, and after the longest answer", () => {
      const asked = Deferred.makeUnsafe<RunId>()
      const silent: Script = ({ run }) => Effect.andThen(Deferred.succeed(asked, run), Effect.never)
      return Effect.gen(function* () {
        const waiting = yield* Effect.forkChild(ask("first"))
        const run = yield* Deferred.await(asked)
        yield* Fiber.interrupt(waiting)
        const end = (yield* ended(run)).at(-1)!
        assert.include(end, { _tag: "RunEnded", status: "cancelled" })
        const late = yield* Effect.flip(
          Effect.provideService(ask("second"), WorldQuestions.AnswerLimit, 20)
        )
        assert.deepInclude(late, { _tag: "WorldUnanswered", kind: "unavailable" })
      }).pipe(Effect.provide(layer(silent)))
    })

    it.live("fails where its run fails", () =>
      Effect.gen(function* () {
        const failed = yield* Effect.flip(ask("first"))
        assert.deepInclude(failed, { _tag: "WorldUnanswered", kind: "failed" })
        assert.include(failed.message, "recursion_limit")
      }).pipe(Effect.provide(layer(() => call("list_rules"))))
    )
  })

  describe(`a session with a world's agent ${where}`, () => {
    it.live("ST-37 remembers its messages, and no other session's", () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* chat("first", "s1")).text, "world-credit: first")
        assert.strictEqual((yield* chat("second", "s1")).text, "world-credit: first second")
        assert.strictEqual((yield* chat("second", "s2")).text, "world-credit: second")
        assert.strictEqual(
          (yield* chat("second", "s1", olga, "privacy")).text,
          "world-privacy: second"
        )
      }).pipe(Effect.provide(layer(echo)))
    )

    it.live("belongs to its principal: the same id of another is another session", () =>
      Effect.gen(function* () {
        yield* chat("first", "s1")
        const other = yield* chat("second", "s1", person("oscar"))
        assert.strictEqual(other.text, "world-credit: second")
        const abroad = yield* chat(
          "second",
          "s1",
          person("olga", ["operator"], "beta" as typeof tenant)
        )
        assert.strictEqual(abroad.text, "world-credit: second")
      }).pipe(Effect.provide(layer(echo)))
    )

    it.live("does not wait for other sessions of the same world", () => {
      const held = Deferred.makeUnsafe<void>()
      const script: Script = (request) =>
        said(request).includes("first")
          ? Effect.as(Deferred.await(held), text("late"))
          : text("at once")
      return Effect.gen(function* () {
        const slow = yield* Effect.forkChild(chat("first", "s1"))
        assert.strictEqual((yield* chat("second", "s2")).text, "at once")
        yield* Deferred.succeed(held, undefined)
        assert.strictEqual((yield* Fiber.join(slow)).text, "late")
      }).pipe(Effect.provide(layer(script)))
    })
  })
}

it.live("a question before there is a runtime is not answered", () =>
  Effect.gen(function* () {
    const early = yield* Effect.flip(ask("first"))
    assert.deepInclude(early, { _tag: "WorldUnanswered", kind: "unavailable" })
  }).pipe(Effect.provide(LocalWorldAgentRunner.layer))
)

describe("the rules of a long world", () => {
  /** The last rules of three topics, in a world of three pages. */
  const count = 2 * rule_page_max + 10
  const idOf = (i: number) => `rule-${1_000 + i}`
  const rules = Array.from({ length: count }, (_, i) => ({
    ...credit.rules[0]!,
    rule_id: idOf(i),
    topic: i >= count - 3 ? "late" : "early"
  }))
  const version = { ...credit, rules, world: { ...credit.world, version: 2 } }

  /** No tool that lists may read them all. */
  const paged = Layer.effect(
    WorldReader,
    Effect.map(WorldReader, (reader) => ({
      ...reader,
      rules: () => Effect.die(new Error("all rules were read at once"))
    }))
  ).pipe(Layer.provideMerge(StoredWorlds.layer))

  const pages = [
    [{ limit: 2 }, [0, 1], true],
    [{ limit: 2, after: idOf(count - 2) }, [count - 1], false],
    [{ limit: 100, after: idOf(4) }, Array.from({ length: 100 }, (_, i) => i + 5), true],
    [{ limit: 2, topic: "late" }, [count - 3, count - 2], true],
    [{ limit: 2, topic: "late", after: idOf(count - 3) }, [count - 2, count - 1], false],
    [{ limit: 3, topic: "nothing" }, [], false]
  ] as const

  it.live("are listed page by page, those of one topic too", () =>
    Effect.gen(function* () {
      yield* WorldPublisher.use((publisher) => publisher.publish(tenant, version))
      const { run } = yield* ask("first")
      const settled = (yield* events(run)).filter((event) => event._tag === "CallSettled")
      assert.deepEqual(
        settled.map(({ outcome }) => {
          const { more, rules: listed } = JSON.parse(outcome._tag === "Value" ? outcome.json : "{}")
          return [listed?.map((rule: { rule_id: string }) => rule.rule_id), more]
        }),
        pages.map(([, found, more]) => [found.map(idOf), more])
      )
    }).pipe(
      Effect.provide(
        local(({ step }) => {
          const page = pages[step - 1]
          return page === undefined ? text("done") : call("list_rules", page[0])
        }, paged)
      )
    )
  )
})

describe("the bridge", () => {
  const bridged =
    (world: string): Script =>
    ({ agent, step }) =>
      agent !== asker
        ? text("forty rules")
        : step === 1
          ? call("ask_world_agent", { world_id: world, question: "How many rules?" })
          : text("It has forty.")

  const send = (by = olga) =>
    Effect.flatMap(
      AgentRuntime.use((agents) => agents.send({ agent: asker, text: "go" }, by)),
      ({ task }) => ended(task.id)
    )

  const outcomeIn = (found: Effect.Success<ReturnType<typeof ended>>) =>
    found.find((event) => event._tag === "CallSettled")?.outcome

  it.live("ST-39 gives an agent the answer of a world as the result of a read", () =>
    Effect.gen(function* () {
      const found = yield* send()
      const outcome = outcomeIn(found)
      assert.strictEqual(outcome?._tag, "Value")
      if (outcome?._tag === "Value") {
        assert.deepInclude(JSON.parse(outcome.json), { world_id: "credit", answer: "forty rules" })
      }
      assert.isFalse(found.some((event) => event._tag === "ApprovalRequested"))
    }).pipe(Effect.provide(local(bridged("credit"))))
  )

  it.live("SA-44 ST-41 shows the model an unknown world as its own mistake", () =>
    Effect.gen(function* () {
      const outcome = outcomeIn(yield* send())
      assert.strictEqual(outcome?._tag, "Failed")
      if (outcome?._tag === "Failed") {
        assert.deepInclude(outcome.error, { class: "ToolUserError", reason: "WORLD_NOT_FOUND" })
      }
    }).pipe(Effect.provide(local(bridged("atlantis"))))
  )
})

/** The asker as it is everywhere, over a runner that has no worlds. */
const over = (runner: WorldAgentRunner["Service"]) =>
  Runtime.layer({ agents: [askerSpec], tools: [WorldBridge.tools] }).pipe(
    Layer.provideMerge(
      ScriptedModelGateway.layer(({ step }) =>
        step === 1
          ? call("ask_world_agent", { world_id: "anywhere", question: "How many rules?" })
          : text("It has three.")
      )
    ),
    Layer.provideMerge(Layer.succeed(WorldAgentRunner, runner)),
    Layer.provideMerge(Stores.ephemeral)
  )

describe("the modules of agents", () => {
  it("ST-39 know no runner of worlds: only the composition and the worlds' own room do", () => {
    const root = join(import.meta.dirname, "../..")
    const modules = ["src/spectral", "layers/spectral", "layers/builtin", "src/builtin"].flatMap(
      (room) =>
        readdirSync(join(root, room), { recursive: true, encoding: "utf8" })
          .filter((name) => name.endsWith(".ts") && !name.startsWith("worlds/"))
          .map((name) => join(room, name))
    )
    assert.include(modules, "src/spectral/agents/Operations.ts")
    const knowing = modules.filter((name) =>
      readFileSync(join(root, name), "utf8").includes("WorldAgentRunner")
    )
    assert.deepStrictEqual(knowing, [])
  })
})

describe("the bridge over another runner", () => {
  const run = RunId.make("00000000-0000-4000-8000-000000000001")
  const asking = Effect.flatMap(
    AgentRuntime.use((agents) => agents.send({ agent: asker, text: "go" }, olga)),
    ({ task }) => ended(task.id)
  )

  it.live(
    "ST-40 SA-47 asks the one that the composition gives, as the sender, and the agent is the same",
    () => {
      const asked: Array<ReadonlyArray<string>> = []
      const runner = WorldAgentRunner.of({
        ask: (question, world, by) => {
          asked.push([question, world, by.id, ...by.roles])
          return Effect.succeed({ world: WorldId.make(world), text: "three rules", run })
        },
        chat: () => Effect.die("nobody talks here")
      })
      return Effect.gen(function* () {
        const found = yield* asking
        const settled = found.find((event) => event._tag === "CallSettled")
        assert.deepStrictEqual(asked, [["How many rules?", "anywhere", "olga", ...olga.roles]])
        assert.deepStrictEqual(settled?.outcome, {
          _tag: "Value",
          json: JSON.stringify({ world_id: "anywhere", answer: "three rules", run })
        })
        // SA-47: it is a read, so nothing is dispatched, and a person is not asked.
        const [bridge] = yield* WorldBridge.tools
        assert.deepInclude(bridge?.spec, { side_effects: "read", category: "read" })
        assert.isFalse(found.some((event) => event._tag === "CallDispatched"))
      }).pipe(Effect.provide(over(runner)))
    }
  )

  it.live("ST-40 ST-41 shows the model what that runner could not do, by its class", () =>
    Effect.gen(function* () {
      const settled = (yield* asking).find((event) => event._tag === "CallSettled")
      assert.strictEqual(settled?.outcome._tag, "Failed")
      if (settled?.outcome._tag === "Failed") {
        const { error } = settled.outcome
        assert.deepInclude(error, { class: "ToolTransientError", reason: "WORLD_UNAVAILABLE" })
      }
    }).pipe(
      Effect.provide(
        over(
          WorldAgentRunner.of({
            ask: () =>
              Effect.fail(new WorldUnanswered({ kind: "unavailable", message: "it is away" })),
            chat: () => Effect.die("nobody talks here")
          })
        )
      )
    )
  )
})

describe("rule candidates", () => {
  it.live("SA-45 are proposed without an approval, once each, and change no rule", () =>
    Effect.gen(function* () {
      const { run } = yield* chat("Propose it", "s1")
      assert.isFalse((yield* events(run)).some((event) => event._tag === "ApprovalRequested"))
      const open = yield* RuleProposals.use((queue) =>
        queue.open(tenant, credit.world.world_id, 10)
      )
      assert.lengthOf(open, 1)
      assert.deepInclude(open[0]!, { ...draft, proposed_by: "olga", status: "proposed" })
      const again = yield* RuleProposals.use((queue) => queue.propose(tenant, open[0]!))
      assert.deepEqual(again, open[0])
      assert.deepEqual(
        yield* RuleProposals.use((queue) => queue.open(tenant, privacy.world.world_id, 10)),
        []
      )
      const rules = yield* WorldReader.use((reader) => reader.rules(tenant, credit.world.world_id))
      assert.lengthOf(rules, credit.rules.length)
    }).pipe(
      Effect.provide(
        local(({ step }) => (step === 1 ? call("propose_rule_candidate", draft) : text("done")))
      )
    )
  )
})

describe("the agents of worlds", () => {
  it("SA-45 need what reads worlds and queues candidates, in which nothing writes a rule", () => {
    const exact: readonly [
      Same<RequirementsOf<ReturnType<typeof WorldToolBodies.tools>>, WorldReader | RuleProposals>,
      Same<
        keyof WorldReader["Service"],
        "worlds" | "world" | "rules" | "rulePage" | "rule" | "evalSets"
      >,
      Same<keyof RuleProposals["Service"], "propose" | "open">
    ] = [true, true, true]
    assert.notInclude(exact, false)
    const declared = Object.entries(worldGovernance(credit.world.world_id))
    const writing = declared.filter(([, { side_effects }]) => side_effects !== "read")
    assert.deepStrictEqual(Object.keys(Object.fromEntries(writing)), ["propose_rule_candidate"])
  })

  it("SA-44 are one for each world: a second registration is refused", () => {
    const twice = worldAgents([credit.world, privacy.world, credit.world])
    assert.isTrue(Result.isFailure(twice))
    if (Result.isFailure(twice)) assert.include(twice.failure.message, "credit is registered twice")
  })
})
