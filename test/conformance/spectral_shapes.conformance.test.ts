import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { spectral_name } from "../../src/spectral/agents/SpectralAgents.ts"
import * as Classify from "../../src/error/Classify.ts"
import type { AgentName } from "../../src/value/Ids.ts"
import { RunId } from "../../src/value/Ids.ts"
import { project } from "../../src/run/Projection.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import { permissionOf, ToolCategory } from "../../src/tool/SideEffects.ts"
import { AgentDirectory } from "../../services/AgentDirectory.ts"
import { AuthorizationDesk } from "../../services/AuthorizationDesk.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { WorldAgentRunner } from "../../services/spectral/worlds/contracts/WorldAgentRunner.ts"
import { call, calls, ModelScript, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { Script } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as Spectral from "../spectral/Workspace.ts"
import * as Worlds from "../worlds/Worlds.ts"
import type { StageTool } from "./Stage.ts"
import * as Stage from "./Stage.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord, rowsOf } from "./Vectors.ts"

/** The tool that a case describes in words, and how long its call takes. */
const described = (
  words: string
): { readonly tool: StageTool; readonly ms: number } | undefined => {
  const governance = { side_effects: "read", timeout_ms: 60_000 } as const
  const [, needs] = /^succeeds in (\d+) ms$/.exec(words) ?? []
  if (needs !== undefined) {
    const ms = Number(needs)
    return { tool: { governance, body: () => Effect.as(Effect.sleep(ms), "done") }, ms }
  }
  const [, fails] = /^fails (\w+)$/.exec(words) ?? []
  const names: Record<string, string> = {
    ToolUserError: "invalid_args",
    ToolPolicyError: "permission",
    ToolTransientError: "network",
    ToolTerminalError: "internal"
  }
  if (fails !== undefined && fails in names) {
    const body = () => Effect.fail(Classify.toolErrorFrom(names[fails], "it failed"))
    return { tool: { governance, body }, ms: 0 }
  }
  if (/^(dies|throws|defect)/.test(words)) {
    return { tool: { governance, body: () => Effect.die(new Error("secret cause")) }, ms: 0 }
  }
  if (/^(times out|hangs|timeout)/.test(words)) {
    return { tool: { governance, body: () => Effect.never }, ms: 60_000 }
  }
  return undefined
}

/** The metadata of a real call, and how often it is emitted. */
const metadata = (words: string, expect: Readonly<Record<string, unknown>>): Driven => {
  const interrupted = words === "interrupted"
  const found = interrupted
    ? { tool: { governance: { side_effects: "read" as const }, body: () => Effect.never }, ms: 0 }
    : described(words)
  if (found === undefined) return undefined
  const proof = Effect.gen(function* () {
    const run = yield* Stage.begin
    if (interrupted) {
      assert.lengthOf(yield* Stage.facts, 0)
      yield* AgentRuntime.use((runtime) => runtime.interrupt(run, Stage.operator, "enough"))
    }
    yield* Stage.after(found.ms)
    const all = yield* Stage.facts
    const { emitted, ...fields } = expect
    if (emitted !== undefined) assert.strictEqual(all.length, emitted)
    assert.isAtLeast(all.length, 1)
    const fact: Readonly<Record<string, unknown>> = { ...all[0]!.metadata }
    for (const [key, value] of Object.entries(fields)) assert.deepEqual(fact[key], value, key)
    assert.strictEqual(all[0]!.metadata.tool_name, "tool")
    assert.notInclude(JSON.stringify(yield* Stage.events(run)), "secret cause")
    const settled = Stage.tagged(yield* Stage.events(run), "CallSettled")
    assert.strictEqual(settled.length, all.length)
  })
  return {
    rows: rowsOf(
      [true, "ST-07"],
      ["latency_ms" in expect, "ST-08"],
      ["error_class" in expect, "ST-09"],
      [interrupted, "ST-11"]
    ),
    run: Stage.stage({ tools: { tool: found.tool }, script: [call("tool"), text("done")] }, proof)
  }
}

/** The keys of the metadata of a real call. */
const metadataKeys = (keys: ReadonlyArray<unknown>): Driven => ({
  rows: "ST-07",
  run: Stage.stage(
    {
      tools: { tool: { governance: { side_effects: "read" }, body: () => Effect.succeed(1) } },
      script: [call("tool"), text("done")]
    },
    Effect.gen(function* () {
      yield* Stage.begin
      const all = yield* Stage.facts
      assert.sameMembers(Object.keys(all[0]!.metadata), [...keys])
    })
  )
})

/** Runs that end in every status, with and without an approval. */
const endings: ReadonlyArray<Stage.Play> = (["read", "write"] as const).flatMap((side_effects) => {
  const tools = { tool: { governance: { side_effects }, body: () => Effect.succeed(1) } }
  return [
    { tools, script: [call("tool"), text("done")] },
    { tools, script: () => call("tool"), limits: { steps_max: 1 } },
    { tools, script: () => Effect.never }
  ]
})

/** The status changes of a run's task, as the journal projects them. */
const movesOf = Effect.fnUntraced(function* (play: Stage.Play) {
  const events = yield* Stage.stage(
    play,
    Effect.gen(function* () {
      const run = yield* Stage.begin
      const agents = yield* AgentRuntime
      yield* Effect.ignore(agents.interrupt(run, Stage.operator, "enough"))
      yield* Stage.settle
      return yield* Stage.events(run)
    })
  )
  const run = RunId.make("6f9619ff-8b86-4011-b42d-00c04fc964ff")
  const statuses = events.flatMap((event) => project(run, [event], 0).task?.status ?? [])
  return ["pending", ...statuses].flatMap((from, i, all) =>
    all[i + 1] === undefined || all[i + 1] === from ? [] : [`${from} > ${all[i + 1]}`]
  )
})

const taskMove = (from: unknown, to: unknown, expect: unknown): Driven => ({
  rows: "SA-14",
  run: Effect.gen(function* () {
    const moves = new Set((yield* Effect.forEach(endings, movesOf)).flat())
    assert.strictEqual(moves.has(`${String(from)} > ${String(to)}`) ? "ok" : "reject", expect)
  })
})

const ordinals = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"]

/** A supervisor that delegates `count` times in one turn; the case names the refused ones by position. */
const delegations = (count: number, expect: unknown): Driven => {
  const names = ordinals.slice(0, count).map((name) => `${name}-specialist`)
  const refused = new Set(
    isRecord(expect) ? Object.keys(expect).filter((name) => expect[name] === "refused") : []
  )
  if (count > ordinals.length || !(expect === "ok" || refused.size > 0)) return undefined
  const read: StageTool = { governance: { side_effects: "read" }, body: () => Effect.succeed(1) }
  return {
    rows: "SA-07",
    run: Stage.stage(
      {
        tools: { read },
        specialists: Object.fromEntries(names.map((name) => [name, ["read"]])),
        script: {
          [Stage.supervisor]: [
            calls(names.map((name) => call(`ask_${name}`, { task: "look" }))),
            text("both say so")
          ],
          ...Object.fromEntries(names.map((name) => [name, [text(`${name} says so`)]]))
        }
      },
      Effect.gen(function* () {
        const run = yield* Stage.begin
        const all = yield* Stage.events(run)
        const settled = Stage.tagged(all, "CallSettled")
        assert.strictEqual(settled.length, count)
        for (const event of settled) {
          const place = ordinals[Number(/\.(\d+)$/.exec(event.call)![1])]!
          const { outcome } = event
          if (refused.has(place)) {
            assert.strictEqual(outcome._tag, "Failed", place)
            if (outcome._tag === "Failed")
              assert.strictEqual(outcome.error.class, "ToolPolicyError")
          } else assert.strictEqual(outcome._tag, "Value", place)
        }
        assert.strictEqual(Stage.tagged(all, "FrameOpened").length, count - refused.size)
        const [ended] = Stage.tagged(all, "RunEnded")
        assert.strictEqual(ended?.text, "both say so")
      })
    )
  }
}

/** Specialists by their number of tools; one without tools cannot be delegated to. */
const specialists = (given: Readonly<Record<string, unknown>>, expect: unknown): Driven => {
  const names = Object.keys(given)
  const most = Math.max(0, ...Object.values(given).map(Number))
  const toolNames = Array.from({ length: most }, (_, n) => `tool_${n}`)
  const body = () => Effect.succeed(1)
  return {
    rows: "SA-13",
    run: Stage.stage(
      {
        tools: Object.fromEntries(
          toolNames.map((name) => [name, { governance: { side_effects: "read" as const }, body }])
        ),
        specialists: Object.fromEntries(
          names.map((name) => [name, toolNames.slice(0, Number(given[name]))])
        ),
        script: []
      },
      Effect.gen(function* () {
        const directory = yield* AgentDirectory
        const agent = directory.get(Stage.supervisor)!
        assert.deepEqual([...agent.specialists.values()], [...(expect as Array<AgentName>)])
      })
    )
  }
}

/** The tools that the model of the Spectral Agent's supervisor is shown, without the delegations. */
const supervisorTools = (expect: ReadonlyArray<unknown>): Driven => ({
  rows: "SA-06",
  run: Effect.gen(function* () {
    const run = yield* Spectral.send("hello")
    yield* Spectral.ended(run)
    const agent = (yield* AgentDirectory).get(spectral_name)!
    const [first] = yield* ModelScript.use((script) => script.requests)
    const own = first!.tools.filter(({ name }) => !agent.specialists.has(name))
    assert.deepEqual(
      own.map(({ name }) => name),
      [...expect]
    )
    assert.deepEqual([...agent.tools.keys()], [...expect])
    assert.isAbove(first!.tools.length, 0)
  }).pipe(Effect.provide(Spectral.layer({ script: [text("hello")] })))
})

const isCategory = Schema.is(ToolCategory)

/** A call of a tool of this category in a workspace that has authorised these actions: does it interrupt its run? */
const preauthorised = (
  category: ToolCategory,
  authorised: ReadonlyArray<string>,
  action: string,
  interrupt: unknown
): Driven => {
  const tool: StageTool = {
    governance: { side_effects: "write", category },
    body: () => Effect.succeed("done")
  }
  const tools = Object.fromEntries([...authorised, action].map((name) => [name, tool]))
  return {
    rows: "SA-28",
    run: Stage.stage(
      { tools, script: [call(action), text("done")] },
      Effect.gen(function* () {
        const desk = yield* AuthorizationDesk
        for (const each of authorised) {
          yield* desk.grant({ agent: Stage.supervisor, action: each }, Stage.operator)
        }
        const all = yield* Stage.events(yield* Stage.begin)
        const asked = Stage.tagged(all, "ApprovalRequested").length > 0
        assert.strictEqual(asked, interrupt)
        // Skipped or not, the call is audited.
        const by = Stage.tagged(all, "CallDispatched").map((event) => event.authorized?.by)
        assert.deepEqual(by, asked ? [] : [Stage.operator.id])
      })
    )
  }
}

/** A model that calls a tool in every turn, under the given or the default limit. */
const recursion = (limit: unknown, stopsAfter: number): Driven => {
  const limits = limit === undefined ? {} : { steps_max: Number(limit) }
  return {
    rows: "ST-22 ST-23",
    run: Stage.stage(
      {
        tools: { tool: { governance: { side_effects: "read" }, body: () => Effect.succeed(1) } },
        script: () => call("tool"),
        limits
      },
      Effect.gen(function* () {
        const run = yield* Stage.begin
        for (let i = 0; i < stopsAfter; i++) yield* Stage.settle
        const all = yield* Stage.events(run)
        assert.strictEqual(Stage.tagged(all, "ModelTurned").length, stopsAfter)
        const [ended] = Stage.tagged(all, "RunEnded")
        assert.strictEqual(ended?.status, "failed")
        assert.strictEqual(ended?.reason, "recursion_limit")
        if (limit === undefined) assert.strictEqual(RunLimits.make({}).steps_max, stopsAfter)
      })
    )
  }
}

/** Answers with the words of its conversation so far, of those that are asked for. */
const recalling =
  (words: ReadonlyArray<string>): Script =>
  ({ history, transcript }) => {
    const seen = JSON.stringify([...history, ...transcript])
    return text(words.filter((word) => seen.includes(word)).join(" "))
  }

/** Two questions, or two messages of one session: what the second sees, and what is kept of them. */
const twice = (
  { call: how, session = "s1" }: Readonly<Record<string, unknown>>,
  expect: Readonly<Record<string, unknown>>
): Driven => ({
  rows: how === "ask" ? "ST-36" : "ST-37",
  run: Effect.gen(function* () {
    const runner = yield* WorldAgentRunner
    const say = (message: string) =>
      how === "ask"
        ? runner.ask(message, "credit", Worlds.olga)
        : runner.chat(message, String(session), "credit", Worlds.olga)
    const first = yield* say("apple")
    const second = yield* say("pear")
    assert.strictEqual(second.text.includes("apple"), expect["secondSeesFirst"])
    assert.include(second.text, "pear")
    if (expect["memoryWrites"] === undefined) return
    const kept = yield* Effect.forEach([first.run, second.run], Worlds.memoriesOf)
    assert.strictEqual(kept.flat().length, expect["memoryWrites"])
  }).pipe(Effect.provide(Worlds.layer(recalling(["apple", "pear"]))))
})

/** A message in each of two sessions: does the second see the first? */
const sessions = ([one, two]: ReadonlyArray<unknown>, expect: unknown): Driven => ({
  rows: "ST-37",
  run: Effect.gen(function* () {
    const runner = yield* WorldAgentRunner
    yield* runner.chat("apple", String(one), "credit", Worlds.olga)
    const other = yield* runner.chat("pear", String(two), "credit", Worlds.olga)
    assert.strictEqual(other.text.includes("apple"), expect)
  }).pipe(Effect.provide(Worlds.layer(recalling(["apple", "pear"]))))
})

const limitKeys = ["limit", "recursion_limit", "recursionLimit", "steps_max", "max_iterations"]

conformance("spectral_shapes", ({ expect, input }): Driven => {
  if (input === "ToolCallMetadata" && Array.isArray(expect)) return metadataKeys(expect)
  if (input === "supervisor.tools" && Array.isArray(expect)) return supervisorTools(expect)
  if (hasShape(input, ["tool"]) && typeof input.tool === "string" && isRecord(expect)) {
    return metadata(input.tool, expect)
  }
  if (Array.isArray(input) && input.length === 2 && (expect === "ok" || expect === "reject")) {
    return taskMove(input[0], input[1], expect)
  }
  if (hasShape(input, ["delegations"]) && typeof input.delegations === "number") {
    return delegations(input.delegations, expect)
  }
  if (hasShape(input, ["specialists"]) && isRecord(input.specialists) && Array.isArray(expect)) {
    return specialists(input.specialists, expect)
  }
  if (hasShape(input, ["call", "twice"], ["session"]) && isRecord(expect)) {
    return input.call === "ask" || input.call === "chat" ? twice(input, expect) : undefined
  }
  if (
    hasShape(input, ["sessions"]) &&
    Array.isArray(input.sessions) &&
    hasShape(expect, ["leak"])
  ) {
    return input.sessions.length === 2 ? sessions(input.sessions, expect.leak) : undefined
  }
  if (hasShape(input, ["category", "workspaceAuthorization", "action"])) {
    const { action, category, workspaceAuthorization: authorised } = input
    return isCategory(category) &&
      Array.isArray(authorised) &&
      typeof action === "string" &&
      hasShape(expect, ["interrupt"])
      ? preauthorised(category, authorised.map(String), action, expect.interrupt)
      : undefined
  }
  if (isCategory(input) && hasShape(expect, ["approvalRequired"])) {
    return {
      rows: rowsOf(
        [input === "read", "SA-23"],
        [input === "suggest", "SA-24"],
        [input === "mutate", "SA-25"]
      ),
      run: Effect.sync(() => {
        assert.strictEqual(permissionOf({ category: input }) === "ask", expect.approvalRequired)
      })
    }
  }
  if (
    hasShape(input, ["modelKeepsCallingTools"], limitKeys) &&
    hasShape(expect, ["stopsAfterSteps"]) &&
    typeof expect.stopsAfterSteps === "number"
  ) {
    const limit = limitKeys.map((key) => input[key]).find((value) => value !== undefined)
    return recursion(limit, expect.stopsAfterSteps)
  }
  return undefined
})
