/** Two small worlds, and a runtime whose agents answer for them by a script. */
import { createHash } from "node:crypto"
import { Effect, Layer, Redacted, Result } from "effect"
import { HttpServer } from "effect/http"
import * as HttpWorldAgentRunner from "../../layers/spectral/worlds/HttpWorldAgentRunner.ts"
import * as LocalWorldAgentRunner from "../../layers/spectral/worlds/LocalWorldAgentRunner.ts"
import * as WorldTools from "../../layers/spectral/worlds/WorldTools.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Server from "../../layers/compose/assembly/HttpSurface.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as WorldBridge from "../../layers/compose/assembly/WorldBridge.ts"
import * as StoredWorlds from "../../layers/stores/spectral/worlds/StoredWorlds.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { Script } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentMemories, AgentMemory } from "../../services/AgentMemory.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { RuleProposals } from "../../services/spectral/worlds/RuleProposals.ts"
import { WorldPublisher } from "../../services/spectral/worlds/WorldPublisher.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import type { Role } from "../../src/principal/Principal.ts"
import { WorldId } from "../../src/spectral/worlds/contracts/WorldId.ts"
import { NewVersion } from "../../src/spectral/worlds/NewVersion.ts"
import { Rule } from "../../src/spectral/worlds/World.ts"
import { worldAgents } from "../../src/spectral/worlds/WorldAgent.ts"

export const tenant = Tenant.make("acme")
export const person = (id: string, roles: ReadonlyArray<Role> = ["operator"], of = tenant) =>
  new Principal({ id, tenant: of, roles })
export const olga = person("olga")

const rule = (
  rule_id: string,
  topic: string,
  strengths: ReadonlyArray<"strong" | "moderate" | "weak">
): Rule =>
  Rule.make({
    rule_id,
    topic,
    title: `Rule ${rule_id}`,
    body: `What ${rule_id} asks for.`,
    since_version: 1,
    provenance: strengths.map((strength) => ({
      kind: "document" as const,
      reference: `page ${rule_id}`,
      strength
    }))
  })

/** Consumer credit: two topics with rules, one of them thin, one with cases alone. */
export const credit = NewVersion.make({
  world: {
    world_id: WorldId.make("credit"),
    name: "Consumer credit",
    domain: "Judges offers of consumer credit.",
    version: 1,
    published_at: 0
  },
  rules: [
    rule("apr-shown", "disclosure", ["weak", "strong"]),
    rule("total-shown", "disclosure", ["moderate"]),
    rule("no-pressure", "sales", ["weak"]),
    rule("cooling-off", "withdrawal", [])
  ],
  eval_sets: [
    {
      eval_set_id: "basics",
      name: "Basics",
      cases: { disclosure: 40, sales: 3, insurance: 2 },
      pass_rate: 0.9
    }
  ]
})

export const privacy = NewVersion.make({
  world: {
    world_id: WorldId.make("privacy"),
    name: "Privacy",
    domain: "Judges what is done with personal data.",
    version: 1,
    published_at: 0
  },
  rules: [rule("purpose-named", "purpose", ["strong"])],
  eval_sets: []
})

/** An operators' agent that has the bridge, and no other tool. */
export const asker = AgentName.make("asker")
export const askerSpec = AgentSpec.make({
  name: asker,
  instructions: "Ask.",
  tools: ["ask_world_agent"]
})

const registered = [credit.world, privacy.world]

/** Worlds published, a runtime with their agents and the asker, and the runner over it. */
export const layer = (script: Script, worlds = StoredWorlds.layer) =>
  LocalWorldAgentRunner.connected.pipe(
    Layer.provideMerge(
      Runtime.layer({
        agents: [...Result.getOrThrow(worldAgents(registered)), askerSpec],
        tools: [...registered.map(({ world_id }) => WorldTools.tools(world_id)), WorldBridge.tools]
      })
    ),
    Layer.provideMerge(ScriptedModelGateway.layer(script)),
    Layer.provideMerge(LocalWorldAgentRunner.layer),
    Layer.provideMerge(
      Layer.effectDiscard(
        WorldPublisher.use(({ publish }) =>
          Effect.forEach([credit, privacy], (version) => publish(tenant, version), {
            discard: true
          })
        )
      )
    ),
    Layer.provideMerge(worlds),
    Layer.provideMerge(Stores.ephemeral)
  )

const tokenOf = ({ id, tenant }: Principal) => `token-of-${id}-of-${tenant}`

const credentials = [
  olga,
  person("oscar"),
  person("root", ["admin"]),
  person("olga", ["operator"], Tenant.make("beta"))
].map((principal) => ({
  sha256: createHash("sha256").update(tokenOf(principal)).digest("hex"),
  principal
}))

/** The runner of another process, over what serves here: HTTP on a real socket is between them. */
export const overHttp = Layer.unwrap(
  HttpServer.HttpServer.useSync(({ address }) =>
    HttpWorldAgentRunner.layer({
      url: HttpServer.formatAddress(address),
      token: (by) => Redacted.make(tokenOf(by))
    })
  )
).pipe(Layer.provideMerge(Server.layer({ listen: { port: 0 }, credentials })))

/** The same worlds, asked from another process. */
export const remote = (script: Script, worlds = StoredWorlds.layer) =>
  overHttp.pipe(Layer.provideMerge(layer(script, worlds)))

/** What the actor of a run's address remembers. */
export const memoriesOf = (run: RunId) =>
  Effect.gen(function* () {
    const task = yield* TaskStore.use((tasks) => tasks.get(run))
    if (task === undefined) return yield* Effect.die(new Error("the run has no task"))
    const memories = yield* AgentMemories
    const memory = yield* memories.get(task.tenant, task.address)
    return yield* AgentMemory.use((each) =>
      Effect.map(
        Effect.all([
          each.list("interaction", { limit: 100 }, run),
          each.list("session", { limit: 100 }),
          each.list("persistent", { limit: 100 })
        ]),
        (tiers) => tiers.flat()
      )
    ).pipe(Effect.provideContext(memory))
  }).pipe(Effect.scoped)

/** A world with rules, and a proposed one. */
export const publishCredit = Effect.fnUntraced(function* (of: Tenant) {
  const { world_id } = credit.world
  yield* WorldPublisher.use((publisher) => publisher.publish(of, credit))
  yield* RuleProposals.use((proposals) =>
    proposals.propose(of, {
      candidate_id: "candidate-1",
      world_id,
      topic: "sales",
      title: "No calls",
      body: "Nobody is called without asking.",
      rationale: "Nobody said it.",
      evidence: ["basics"],
      proposed_by: "olga"
    })
  )
})
