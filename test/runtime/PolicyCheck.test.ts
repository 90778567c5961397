/** What a start says of rules that cannot be right, or that have no effect. */
import { tmpdir } from "node:os"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Schema } from "effect"
import * as CommandTool from "../../layers/builtin/CommandHandler.ts"
import * as Replay from "../../layers/compose/entries/Replay.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as ToolWorker from "../../layers/compose/assembly/ToolWorker.ts"
import { layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { ToolQueue } from "../../services/ToolQueue.ts"
import { PermissionPolicy } from "../../services/PermissionPolicy.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName } from "../../src/value/Ids.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { Policy, policyOf } from "../../src/permission/Policy.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"

const command = CommandTool.tools({ root: tmpdir(), programs: ["echo"] })
const own = tool(
  {
    namespace: "own",
    name: "launch",
    side_effects: "write",
    input: Schema.Struct({ program: Schema.String, args: Schema.Array(Schema.String) })
  },
  () => null
)
const count = tool(
  {
    namespace: "own",
    name: "count",
    side_effects: "write",
    input: Schema.Struct({ n: Schema.Int })
  },
  () => null
)
const agent = AgentSpec.make({
  name: AgentName.make("a"),
  instructions: "x",
  tools: ["run_command"],
  capabilities: ["process.run"]
})

/** Starts a runtime, and gives what its log says of its policy. */
const started = Effect.fnUntraced(function* (policy: Policy) {
  const lines: Array<string> = []
  const logger = Logger.make<unknown, void>(({ logLevel, message }) => {
    lines.push(`${logLevel}: ${String(message)}`)
  })
  const layer = Runtime.layer({ agents: [agent], tools: [command, own, count], policy }).pipe(
    Layer.provide(scripted([text("done")])),
    Layer.provide(Stores.ephemeral),
    Layer.provide(Logger.layer([logger]))
  )
  yield* Effect.scoped(Layer.build(layer))
  return lines.filter((line) => line.includes("has no effect"))
})

const denying = (...patterns: ReadonlyArray<string>): Policy =>
  policyOf({ rules: patterns.map((pattern) => ({ pattern, permission: "deny" })) })

const malformed: ReadonlyArray<readonly [pattern: string, said: string]> = [
  [
    "run_command(rm:*",
    'parenthesis is not closed. Write "run_command(rm:*)", or "run_command" for'
  ],
  ["run_command(rm", 'parenthesis is not closed. Write "run_command(rm:*)"'],
  ["run_command(rm)", 'does not end in ":*". Write "run_command(rm:*)"'],
  ["run_command(rm*)", 'does not end in ":*". Write "run_command(rm:*)"'],
  [
    "run_command(program=rm)",
    'names an argument, where only the beginning of a call can stand. Write "run_command(rm:*)"'
  ],
  ["run_command(:*)", 'nothing of how a call begins. Write "run_command" for every call'],
  ["run_command( :*)", 'nothing of how a call begins. Write "run_command" for every call'],
  ["run_command(*)", 'nothing of how a call begins. Write "run_command" for every call'],
  ["run_command()", 'nothing of how a call begins. Write "run_command" for every call'],
  ["run_command:*)", 'no tool\'s name or key. Write a name such as "refund"'],
  ["run_command (rm:*)", '"run_command " is no tool\'s name or key'],
  ["(rm:*)", '"" is no tool\'s name or key'],
  ["run command", '"run command" is no tool\'s name or key'],
  ["process.run_command", "is no tool's name or key"],
  ["run_*", "a tool's name has no wildcards"],
  ["*", "a tool's name has no wildcards"]
]

describe("a policy at the start", () => {
  it.live("ends the start with a rule that no tool can match, and says how to write it", () =>
    Effect.gen(function* () {
      for (const [pattern, said] of malformed) {
        const error = yield* Effect.flip(started(denying("run_command", pattern)))
        assert.strictEqual(error._tag, "MisdeclaredPolicy", pattern)
        if (error._tag !== "MisdeclaredPolicy") continue
        assert.strictEqual(error.field, "rules.1.pattern")
        assert.include(error.message, `policy, rules.1.pattern ${JSON.stringify(pattern)}: `)
        assert.include(error.message, said)
      }
      const listed = Policy.make({ approval_required: ["launch", "launch(x:*)"] })
      const error = yield* Effect.flip(started(listed))
      assert.deepInclude(error, { _tag: "MisdeclaredPolicy", field: "approval_required.1" })
    })
  )

  it.live("logs nothing about rules that match tools of the registry", () =>
    Effect.gen(function* () {
      const rules = [
        "run_command",
        "run_command(echo evil:*)",
        "run_command(env A=b:*)",
        "process.run_command@1(echo:*)",
        "launch(rm:*)",
        "count"
      ]
      const policy = { ...denying(...rules), approval_required: ["own.launch@1", "count"] }
      assert.deepStrictEqual(yield* started(policy), [])
    })
  )

  it.live(
    "logs which tool was probably meant by a rule without one, at error level for a denial",
    () =>
      Effect.gen(function* () {
        const lines = yield* started(
          policyOf({
            rules: [
              { pattern: "run_comand", permission: "deny" },
              { pattern: "process.run_command@2(rm:*)", permission: "ask" }
            ],
            approval_required: ["lunch"],
            servers: { "mcp:files": "deny" }
          })
        )
        assert.deepStrictEqual(lines, [
          'Error: The policy\'s rule "run_comand" (deny) has no effect: no tool here is "run_comand". Did you mean "run_command"?',
          'Warn: The policy\'s rule "process.run_command@2(rm:*)" (ask) has no effect: no tool here is "process.run_command@2". Did you mean "process.run_command@1"?',
          'Warn: The policy\'s approval_required "lunch" (ask) has no effect: no tool here is "lunch". Did you mean "launch"?',
          'Error: The policy\'s server "mcp:files" (deny) has no effect: it brings no tool here.'
        ])
      })
  )

  it.live("logs that a rule has no effect where its tool takes no text", () =>
    Effect.gen(function* () {
      const lines = yield* started(
        denying("launch(rm -rf:*)", "count(1:*)", "run_command(program=rm:*)")
      )
      assert.lengthOf(lines, 3)
      assert.include(lines[0], "reads the tool's first text alone, and never its lists. Declare")
      assert.include(lines[1], "a rule reads a text, and the tool takes none. Declare")
      assert.include(lines[2], 'it names the argument "program"')
    })
  )
})

describe("a policy that cannot be right", () => {
  it.live("is tried on no history, and replays no recorded run", () =>
    Effect.gen(function* () {
      const app = { agents: [agent], tools: [command] }
      const run = "6f9619ff-8b86-4011-b42d-00c04fc964ff" as RunId
      const policy = denying("run_command(rm:*")
      for (const error of [
        yield* Effect.flip(Replay.dryRun({ run }, app, policy)),
        yield* Effect.flip(Replay.replay(run, { app: { ...app, policy } }))
      ]) {
        assert.strictEqual(error._tag, "MisdeclaredPolicy")
      }
    }).pipe(Effect.provide(Stores.ephemeral))
  )

  it.live("is refused where a replay gets it from JavaScript", () =>
    Effect.gen(function* () {
      const app = { agents: [agent], tools: [command] }
      const run = "6f9619ff-8b86-4011-b42d-00c04fc964ff" as RunId
      const deny = [{ pattern: "run_command", permission: "deny" }]
      for (const given of [{ mode: "perhaps" }, { rules: "deny" }, { rule: deny }, "ask", 7, []]) {
        const policy = given as never
        for (const error of [
          yield* Effect.flip(Replay.dryRun({ run }, app, policy)),
          yield* Effect.flip(Replay.replay(run, { app: { ...app, policy } }))
        ]) {
          assert.strictEqual(error._tag, "MisdeclaredPolicy")
        }
      }
      // What it leaves out is read as by a start: the run is looked for.
      const bare = { rules: deny } as never
      const error = yield* Effect.flip(Replay.replay(run, { app: { ...app, policy: bare } }))
      assert.strictEqual(error._tag, "RunNotFound")
    }).pipe(Effect.provide(Stores.ephemeral))
  )

  it.live("starts no worker of a queue; one with rules for other tools does", () =>
    Effect.gen(function* () {
      const queue = yield* ToolQueue
      const worker = (policy: Policy) =>
        Effect.scoped(
          Layer.build(
            ToolWorker.layer({ tools: [command] }).pipe(
              Layer.provide(Layer.succeed(ToolQueue, queue)),
              Layer.provide(Layer.succeed(PermissionPolicy, policy))
            )
          )
        )
      const error = yield* Effect.flip(worker(denying("run_command(rm:*")))
      assert.strictEqual(error._tag, "MisdeclaredPolicy")
      yield* worker(denying("elsewhere"))
    }).pipe(Effect.provide(Stores.ephemeral))
  )
})
