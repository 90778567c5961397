/**
 * A supervisor with two specialists, one tool of each kind, and a model whose turns follow from the request alone, so
 * that a turn that is asked for again is the same.
 */
import { Effect, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import type { ModelRequest } from "../../services/ModelGateway.ts"
import { ModelError, ModelGateway } from "../../services/ModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { ToolError, ToolTerminalError, ToolTransientError } from "../../src/error/ToolError.ts"
import { ToolUserError } from "../../src/error/ToolError.ts"
import { AgentName } from "../../src/value/Ids.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import type { ProposedCall } from "../../src/run/RunEvent.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import type {
  CallContext,
  Governance,
  GovernedContext,
  GovernedTool,
  Reconciled
} from "../../src/tool/GovernedTool.ts"
import { govern } from "../../src/tool/GovernedTool.ts"
import type { AgentMemory } from "../../services/AgentMemory.ts"
import { guardedTextOf } from "../../src/run/Guarding.ts"
import { isRefused } from "./Guards.ts"
import { hash } from "./Kernel.ts"
import type { Process } from "./Kernel.ts"
import { io, staged, stageOf } from "./Ports.ts"
import type { Act, World } from "./World.ts"

const timeout_ms = 400
/** Short, so that the keys of a seed are held many times. */
const holds_ms = 3_000

export const governance: Readonly<Record<string, Omit<Governance, "namespace">>> = {
  look: { side_effects: "read", timeout_ms },
  post: { side_effects: "write", permission: "allow", timeout_ms },
  put: { side_effects: "write", permission: "allow", idempotent: true, timeout_ms },
  move: { side_effects: "write", permission: "allow", transactional: true, timeout_ms },
  // It takes longer than a lease, so that its run may have another owner while it is on its way.
  wire: { side_effects: "external", permission: "allow", timeout_ms: 6_000 },
  pay: { side_effects: "external", timeout_ms },
  sign: { side_effects: "write", idempotent: true, approval_expires_ms: 4_000, timeout_ms },
  deed: { side_effects: "write", transactional: true, timeout_ms, approvers: ["approver"] },
  grant: {
    side_effects: "external",
    permission: "allow",
    idempotent: true,
    idempotency: { key: "grant-{n}", scope: "tenant", holds_ms },
    timeout_ms
  },
  peek: { side_effects: "read", permission: "ask", approval_expires_ms: 2_500, timeout_ms }
}

/** Tools that can be asked what became of a call. */
export const asksWhenLost = (name: string): boolean => name === "wire"

/** A tool whose calls of all runs share few keys, in one seed of eight: the others are what they were without it. */
const isOffered = (world: World, name: string): boolean => name !== "grant" || world.seed % 8 === 5
const grants = 2

export const toolKey = (name: string): string => `sim.${name}@1`

/** Counts a body while it runs: none may be left after a stop. */
const counted = <A, E, R>(world: World, process: Process, body: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => world.active.set(process, (world.active.get(process) ?? 0) + 1)),
    () => body,
    () => Effect.sync(() => world.active.set(process, world.active.get(process)! - 1))
  )

const misbehaviours = [
  "fails",
  "throws",
  "dies",
  "hangs",
  "acts then errors",
  "acts then loses the connection",
  "acts then dies",
  "acts then hangs",
  "is late and acts",
  "interrupts itself"
] as const

/** While a call holds its key, no other one acts under it: one that acted before has failed, and not for an internal reason. */
const judgeHeld = (world: World, { call, key, run }: CallContext) => {
  const settled = (of: Pick<Act, "call" | "run">) =>
    world.store.runs
      .get(of.run)
      ?.entries.find(({ event }) => event._tag === "CallSettled" && event.call === of.call)?.event
  // What a call does that has ended comes too late to hold anything.
  if (settled({ run, call }) !== undefined) return
  for (const act of world.acts) {
    if (act.key !== key || (act.run === run && act.call === call)) continue
    const event = settled(act)
    const isFree =
      event?._tag === "CallSettled" &&
      event.outcome._tag === "Failed" &&
      event.outcome.error.kind !== "internal"
    const isOver = world.now >= (world.keys.until.get(`${act.run} ${act.call}`) ?? Infinity)
    if (isFree) world.count("a key that was free again after a failure")
    else if (isOver) world.count("a key that was free again after its time")
    else world.violate("a second effect under a key that a call holds")
  }
}

/** What a body does outside; a transactional one does it when its event commits. */
const acting = (world: World, process: Process, name: string, n: number, call: CallContext) => {
  const { side_effects, transactional } = governance[name]!
  if (side_effects === "read") return
  if (name === "grant") judgeHeld(world, call)
  if (transactional !== true) return world.act(name, n, call)
  const stage = staged.get(stageOf(process, call.run))
  if (stage === undefined) return world.violate(`${name} ran outside its transaction`)
  stage.push({ tool: name, run: call.run, call: call.call, key: call.key, n })
}

/** What arrives after its deadline does nothing any more: what a body sends says until when it counts. */
const tooLate = (world: World, name: string, began: number, { over_at = Infinity }: CallContext) =>
  world.now > over_at || world.kernel.now > began + Number(governance[name]!.timeout_ms)

const expired = new ToolUserError({ kind: "external", message: "it came too late" })

const bodyOf = (world: World, process: Process, name: string, n: number, call: CallContext) => {
  const began = world.kernel.now
  const act = Effect.suspend((): Effect.Effect<void, ToolError> => {
    if (asksWhenLost(name) && tooLate(world, name, began, call)) {
      world.count("an effect that came too late")
      return Effect.fail(expired)
    }
    return Effect.sync(() => acting(world, process, name, n, call))
  })
  const lost = new ToolTransientError({ kind: "network", message: "the connection was lost" })
  const body = Effect.suspend((): Effect.Effect<number, ToolError> => {
    const how = world.chance(world.faults.tool) ? world.pick(misbehaviours) : "works"
    if (how !== "works") world.count(`a tool that ${how}`)
    switch (how) {
      case "works":
        return Effect.as(
          asksWhenLost(name) ? Effect.andThen(Effect.sleep(world.between(0, 3_000)), act) : act,
          n + 1
        )
      case "fails":
        return Effect.fail(new ToolUserError({ kind: "not_found", message: "no such thing" }))
      case "throws":
        throw new Error("thrown by a tool")
      case "dies":
        return Effect.die("a defect of a tool")
      case "hangs":
        return Effect.never
      case "acts then errors":
        return Effect.andThen(
          act,
          Effect.fail(
            new ToolTerminalError({ kind: "external", message: "refused after the fact" })
          )
        )
      case "acts then loses the connection":
        return Effect.andThen(act, Effect.fail(lost))
      case "acts then dies":
        return Effect.andThen(act, Effect.die("a defect of a tool"))
      case "acts then hangs":
        return Effect.andThen(act, Effect.never)
      case "is late and acts":
        return Effect.as(
          Effect.andThen(Effect.uninterruptible(Effect.sleep(timeout_ms * 2)), act),
          n
        )
      case "interrupts itself":
        return Effect.interrupt
    }
  })
  return counted(world, process, io(world, process, `tool ${name}`, body))
}

/** The tools with everything but their bodies: schemas and specs are the same in every process. */
const declared = Effect.runSync(
  Effect.suspend(() => {
    const names = Object.keys(governance)
    const kit = Toolkit.make(
      ...names.map((name) =>
        Tool.make(name, {
          description: `Does what ${name} does.`,
          parameters: Schema.Struct({ n: Schema.Int }),
          success: Schema.Int,
          failure: ToolError
        })
      )
    )
    const nobody = Object.fromEntries(names.map((name) => [name, () => Effect.succeed(0)]))
    const governed = Object.fromEntries(
      names.map((name) => [name, { namespace: "sim", ...governance[name]! }])
    )
    return Effect.orDie(govern(kit, governed, nobody as never))
  })
)

/** Tells the truth, when it is asked at all: the outside world knows what arrived under a key. */
const asked = (
  world: World,
  process: Process,
  name: string,
  n: number,
  { call, key, run }: CallContext
) => {
  const place = `${run} ${call}`
  const truth = Effect.suspend((): Effect.Effect<Reconciled, ToolError> => {
    const how = world.chance(world.faults.tool) ? world.pick(["is away", "is mute"] as const) : ""
    if (how !== "") {
      world.count(`a question that ${how}`)
      return how === "is mute"
        ? Effect.never
        : Effect.fail(new ToolTransientError({ kind: "network", message: "not now" }))
    }
    const has = world.acts.some((act) => act.tool === name && act.key === key)
    world.count(has ? "a lost call that had happened" : "a lost call that had not happened")
    world.unasked.delete(place)
    return Effect.succeed(has ? { _tag: "Happened", result: n + 1 } : { _tag: "NotHappened" })
  })
  return counted(
    world,
    process,
    Effect.andThen(
      Effect.sync(() => world.unasked.add(place)),
      io(world, process, `ask ${name}`, truth)
    )
  )
}

export const tools = (world: World, process: Process): ReadonlyArray<GovernedTool<AgentMemory>> =>
  declared.map((tool) => ({
    ...tool,
    ...(asksWhenLost(tool.spec.name)
      ? {
          spec: { ...tool.spec, reconcile: true },
          reconcile: (args: unknown, context: GovernedContext) =>
            asked(world, process, tool.spec.name, (args as { readonly n: number }).n, context.call)
        }
      : undefined),
    handler: (args, context) =>
      bodyOf(world, process, tool.spec.name, (args as { readonly n: number }).n, context.call)
  }))

export const supervisor = AgentName.make("chief")
const specialists = [AgentName.make("east"), AgentName.make("west")]

export const agents = (world: World): ReadonlyArray<AgentSpec> => {
  const draw = (what: string, list: ReadonlyArray<number>) =>
    list[hash(world.seed, what) % list.length]!
  const limits = RunLimits.make({
    steps_max: draw("steps", [3, 12, 25]),
    calls_parallel_max: draw("parallel", [1, 2, 16, 64]),
    wall_ms_max: draw("wall", [0, 0, 4_000, 20_000]),
    on_breach: (["stop", "answer", "ask"] as const)[draw("breach", [0, 1, 2, 2])]!
  })
  const all = Object.keys(governance)
    .filter((name) => isOffered(world, name))
    .map(toolKey)
  const east = specialists[0]!
  // Back and forth, in one seed of three.
  const handsOver = draw("handoffs", [0, 0, 1]) === 1
  return [
    AgentSpec.make({
      name: supervisor,
      instructions: "Lead.",
      tools: all,
      specialists,
      ...(handsOver ? { handoffs: [east] } : undefined),
      limits,
      mailbox: (["enqueue", "answer", "interrupt"] as const)[draw("mailbox", [0, 1, 2])]!
    }),
    ...specialists.map((name) =>
      AgentSpec.make({
        name,
        instructions: "Help.",
        tools: all,
        ...(handsOver && name === east ? { handoffs: [supervisor] } : undefined),
        limits
      })
    )
  ]
}

/** How many calls one step may have: a few, or a hundred in seeds that are wide. */
const callsOf = (
  world: World,
  request: ModelRequest,
  said: string
): ReadonlyArray<ProposedCall> => {
  const pick = (what: string) =>
    hash(world.seed, `${said}|${request.frame}|${request.step}|${what}`)
  const names = request.tools.map((tool) => tool.name)
  const wide = world.seed % 50 === 7 && request.step === 1 && request.frame === "0"
  const count = wide ? 100 : 1 + (pick("count") % (world.small ? 2 : 4))
  if (wide) world.count("a step of a hundred calls")
  const calls: Array<ProposedCall> = []
  for (let i = 0; i < count; i++) {
    const kind = pick(`kind ${i}`) % 24
    const n = pick(`n ${i}`) % 1_000
    // Every other call has the id of the one before it: they name nothing.
    const model_id = `call_${i >> 1}`
    const grants_first = names.includes("grant") && pick(`grant ${i}`) % 2 === 0
    const name = grants_first ? "grant" : names[pick(`name ${i}`) % names.length]!
    if (kind === 0) calls.push({ model_id, name: "pots", arguments: { n } })
    else if (kind === 1) calls.push({ model_id, name, arguments: null, malformed: '{"n": ' })
    else if (kind === 2) calls.push({ model_id, name, arguments: { n: "many" } })
    else if (name.startsWith("ask_"))
      calls.push({
        model_id,
        name,
        arguments: { task: `${said} / ${request.frame}/${request.step}.${i}` }
      })
    else if (name.startsWith("transfer_to_"))
      calls.push({ model_id, name, arguments: { note: `${n}` } })
    else if (name === "grant") calls.push({ model_id, name, arguments: { n: n % grants } })
    else calls.push({ model_id, name, arguments: { n } })
  }
  return calls
}

const turnOf = (world: World, request: ModelRequest): Turn => {
  const first = request.transcript[0]
  const said = first?.role === "user" ? first.text : ""
  const steps = hash(world.seed, `${said}|${request.frame}|steps`) % (world.small ? 3 : 4)
  if (request.step > steps || request.tools.length === 0) {
    return { text: `done: ${said}`, calls: [], finish: "stop" }
  }
  return { text: "", calls: callsOf(world, request, said), finish: "tool_calls" }
}

/** Every call of a past turn has exactly one result, in the model's order, before the next turn, and none that guards refused. */
const judge = (world: World, request: ModelRequest) => {
  let open: Array<string> = []
  for (const entry of [...request.history, ...request.transcript]) {
    if (entry.role === "tool") {
      if (entry.outcome._tag === "Value" && isRefused(world, guardedTextOf(entry) ?? ""))
        world.violate("a model was shown what guards refused")
      if (open.shift() !== entry.model_id)
        world.violate("a result without its call, or out of order")
    } else if (open.length > 0) world.violate("a call without a result in what a model was shown")
    if (entry.role === "assistant") open = entry.calls.map((call) => call.model_id)
  }
  if (open.length > 0) world.violate("a model was asked while a call had no result")
}

export const model = (world: World, process: Process): ModelGateway["Service"] =>
  ModelGateway.of({
    turn: (request, sink) => {
      judge(world, request)
      const turn = Effect.suspend((): Effect.Effect<Turn, ModelError> => {
        const finished = turnOf(world, request)
        if (finished.text !== "") sink({ kind: "text", text: finished.text, offset: 0 })
        if (!world.chance(world.faults.model)) return Effect.succeed(finished)
        const how = world.pick(["stalls", "is away", "throws"] as const)
        world.count(`a model that ${how}`)
        const away = Effect.fail(new ModelError({ kind: "transient", message: "overloaded" }))
        return how === "throws"
          ? Effect.die("a defect of a gateway")
          : how === "is away"
            ? away
            : Effect.andThen(
                Effect.sleep(world.between(1_000, 20_000)),
                world.chance(0.5) ? away : Effect.succeed(finished)
              )
      })
      return counted(world, process, io(world, process, "model", turn))
    }
  })
