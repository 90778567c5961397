/**
 * The tools of one world's agent. They are made for that world: none takes the id of another one, and the only port through which
 * one of them writes is the queue of candidates. The tenant is the run's; the model cannot name one.
 */
import { Effect, Exit } from "effect"
import { storeUnavailable, ToolUserError } from "../../../src/error/ToolError.ts"
import type { Enough } from "../../../src/value/Pages.ts"
import { cut, forEachPage } from "../../../src/value/Pages.ts"
import type { ContextReader } from "../../../src/run/RunContext.ts"
import type { GovernedTool, MisdeclaredTool } from "../../../src/tool/GovernedTool.ts"
import { callOf, govern } from "../../../src/tool/GovernedTool.ts"
import type { WorldUnknown } from "../../../src/spectral/worlds/contracts/WorldAnswer.ts"
import type { WorldId } from "../../../src/spectral/worlds/contracts/WorldId.ts"
import {
  coverageGaps,
  supportOf,
  weaklySupported,
  worldModelCard
} from "../../../src/spectral/worlds/Coverage.ts"
import type { TooManyCandidates } from "../../../src/spectral/worlds/RuleCandidate.ts"
import type { Rule, RuleNotFound } from "../../../src/spectral/worlds/World.ts"
import { worldGovernance, WorldTools } from "../../../src/spectral/worlds/WorldAgent.ts"
import { RuleProposals } from "../../../services/spectral/worlds/RuleProposals.ts"
import { rule_page_max, WorldReader } from "../../../services/spectral/worlds/WorldReader.ts"

const storeFailed = () => Effect.fail(storeUnavailable("the store of worlds"))

const worldUnknown = ({ world }: WorldUnknown) =>
  Effect.fail(
    new ToolUserError({
      kind: "not_found",
      reason: "WORLD_NOT_FOUND",
      message: `the world ${world} has no published version`
    })
  )

const ruleNotFound = ({ rule_id }: RuleNotFound) =>
  Effect.fail(
    new ToolUserError({
      kind: "not_found",
      reason: "RULE_NOT_FOUND",
      message: `this world has no rule ${rule_id}; list_rules gives the ids`
    })
  )

const tooManyCandidates = ({ open_max }: TooManyCandidates) =>
  Effect.fail(
    new ToolUserError({
      kind: "invalid_args",
      reason: "TOO_MANY_CANDIDATES",
      message: `${open_max} candidates wait for a decision already; propose again when some are decided`
    })
  )

const summaryOf = (rule: Rule) => ({
  rule_id: rule.rule_id,
  topic: rule.topic,
  title: rule.title,
  support: supportOf(rule)
})

const enough = Effect.succeed<Enough>("enough")

type Handlers = Parameters<typeof WorldTools.of>[0]

type OnRules = "list_rules" | "get_rule" | "list_weak_provenance"

const onRules = (world: WorldId, reader: WorldReader["Service"]): Pick<Handlers, OnRules> => ({
  list_rules: Effect.fnUntraced(
    function* ({ after, limit, topic }, context) {
      const { tenant } = callOf(context)
      const found: Array<ReturnType<typeof summaryOf>> = []
      // Without a topic, one page has all rules that are asked for and one more, which tells whether there are more.
      const page_max = topic === undefined ? limit + 1 : rule_page_max
      yield* forEachPage(
        page_max,
        (last: Rule | undefined) =>
          reader.rulePage(tenant, world, { limit: page_max, after: last?.rule_id ?? after }),
        (rules) => {
          for (const rule of rules) {
            if (topic === undefined || rule.topic === topic) found.push(summaryOf(rule))
          }
          return found.length > limit ? enough : undefined
        }
      )
      const { items, more } = cut(found, limit)
      return { rules: items, more }
    },
    Effect.catchTag("StoreError", storeFailed)
  ),
  get_rule: ({ rule_id }, context) =>
    reader
      .rule(callOf(context).tenant, world, rule_id)
      .pipe(Effect.catchTags({ RuleNotFound: ruleNotFound, StoreError: storeFailed })),
  list_weak_provenance: Effect.fnUntraced(
    function* ({ limit }, context) {
      const rules = yield* reader.rules(callOf(context).tenant, world)
      const { items, more } = cut(weaklySupported(rules), limit)
      return { rules: items.map(summaryOf), more }
    },
    Effect.catchTag("StoreError", storeFailed)
  )
})

type OnEvaluation = "get_world_model_card" | "list_eval_sets" | "list_coverage_gaps"

const onEvaluation = (
  world: WorldId,
  reader: WorldReader["Service"]
): Pick<Handlers, OnEvaluation> => ({
  get_world_model_card: Effect.fnUntraced(
    function* (_, context) {
      const { tenant } = callOf(context)
      return worldModelCard(
        yield* reader.world(tenant, world),
        yield* reader.rules(tenant, world),
        yield* reader.evalSets(tenant, world)
      )
    },
    Effect.catchTags({ WorldUnknown: worldUnknown, StoreError: storeFailed })
  ),
  list_eval_sets: (_, context) =>
    reader.evalSets(callOf(context).tenant, world).pipe(
      Effect.map((eval_sets) => ({ eval_sets })),
      Effect.catchTag("StoreError", storeFailed)
    ),
  list_coverage_gaps: Effect.fnUntraced(
    function* ({ limit }, context) {
      const { tenant } = callOf(context)
      const rules = yield* reader.rules(tenant, world)
      const { items, more } = cut(coverageGaps(rules, yield* reader.evalSets(tenant, world)), limit)
      return { gaps: items, more }
    },
    Effect.catchTag("StoreError", storeFailed)
  )
})

type OnCandidates = "list_rule_candidates" | "propose_rule_candidate"

const onCandidates = (
  world: WorldId,
  proposals: RuleProposals["Service"]
): Pick<Handlers, OnCandidates> => ({
  list_rule_candidates: Effect.fnUntraced(
    function* ({ limit }, context) {
      const found = yield* proposals.open(callOf(context).tenant, world, limit + 1)
      const { items, more } = cut(found, limit)
      return { candidates: items, more }
    },
    Effect.catchTag("StoreError", storeFailed)
  ),
  propose_rule_candidate: Effect.fnUntraced(
    function* (draft, context) {
      const { call, principal, run, tenant } = callOf(context)
      const { candidate_id, status } = yield* proposals.propose(tenant, {
        ...draft,
        candidate_id: `${run}/${call}`,
        world_id: world,
        proposed_by: principal
      })
      return { candidate_id, status }
    },
    Effect.catchTags({
      WorldUnknown: worldUnknown,
      TooManyCandidates: tooManyCandidates,
      StoreError: storeFailed
    })
  )
})

const handlersOf = (world: WorldId) =>
  Effect.gen(function* () {
    const reader = yield* WorldReader
    const proposals = yield* RuleProposals
    return WorldTools.of({
      ...onRules(world, reader),
      ...onEvaluation(world, reader),
      ...onCandidates(world, proposals)
    })
  })

/** Any context, which the precondition of a tool reads. */
const anyContext: ContextReader = { decode: Exit.succeed, secrets: [] }

/** The tools of this world, for a registry. */
export const tools = (
  world: WorldId
): Effect.Effect<ReadonlyArray<GovernedTool>, MisdeclaredTool, WorldReader | RuleProposals> =>
  Effect.map(govern(WorldTools, worldGovernance(world), handlersOf(world)), (tools) =>
    tools.map((tool) => (tool.spec.category === "read" ? tool : { ...tool, context: anyContext }))
  )
