/** Worlds and the candidates of their rules, on every store alike. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { Outbox } from "../../services/Outbox.ts"
import { SubjectErasure } from "../../services/SubjectErasure.ts"
import { RuleProposals } from "../../services/spectral/worlds/RuleProposals.ts"
import { readVersion, WorldPublisher } from "../../services/spectral/worlds/WorldPublisher.ts"
import { rule_page_max, WorldReader } from "../../services/spectral/worlds/WorldReader.ts"
import type { OutboxMessage } from "../../src/delivery/OutboxMessage.ts"
import { WorldId } from "../../src/spectral/worlds/contracts/WorldId.ts"
import { world_published_topic } from "../../src/spectral/worlds/contracts/WorldVersionPublished.ts"
import type { NewVersion } from "../../src/spectral/worlds/NewVersion.ts"
import { candidates_open_max, RuleCandidate } from "../../src/spectral/worlds/RuleCandidate.ts"
import { EvalSet, Rule, World } from "../../src/spectral/worlds/World.ts"
import type { Tenant } from "../../src/value/Ids.ts"
import { isFull } from "../Long.ts"
import { literalsOf } from "../platform/SchemaWords.ts"
import { credit, privacy } from "../worlds/Worlds.ts"
import { contract } from "./Contract.ts"
import * as Samples from "./Samples.ts"

type Needs = WorldReader | WorldPublisher | RuleProposals | Outbox | SubjectErasure

const { world_id } = credit.world
const publish = (tenant: Tenant, version: NewVersion) =>
  WorldPublisher.use((publisher) => publisher.publish(tenant, version))
const next = (version: number, changed: Partial<NewVersion> = {}): NewVersion => ({
  ...credit,
  ...changed,
  world: { ...credit.world, version }
})

const read = (tenant: Tenant, id = world_id) =>
  WorldReader.use((reader) =>
    Effect.all({
      world: reader.world(tenant, id),
      rules: reader.rules(tenant, id),
      eval_sets: reader.evalSets(tenant, id)
    })
  )

const byRuleId = (version: NewVersion) =>
  version.rules.toSorted((a, b) => (a.rule_id < b.rule_id ? -1 : 1))

const publishing = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("a published version is read as it was given, rules by id", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const odd = { ...credit.rules[0]!, rule_id: "odd", body: 'nul \u0000, "quoted", ü €😀' }
      const version = { ...credit, rules: [...credit.rules, odd] }
      yield* publish(tenant, version)
      yield* publish(tenant, privacy)
      assert.deepEqual(yield* read(tenant), { ...version, rules: byRuleId(version) })
      const reader = yield* WorldReader
      assert.deepEqual(yield* reader.worlds(tenant), [credit.world, privacy.world])
      assert.deepEqual(yield* reader.rule(tenant, world_id, "odd"), odd)
    })
  )

  it.effect("the next version takes the place of the one before; any other is refused whole", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      assert.strictEqual((yield* Effect.flip(publish(tenant, next(2))))._tag, "VersionRefused")
      yield* publish(tenant, next(1))
      yield* publish(tenant, next(2, { rules: credit.rules.slice(0, 1), eval_sets: [] }))
      const second = yield* read(tenant)
      assert.lengthOf(second.rules, 1)
      assert.lengthOf(second.eval_sets, 0)
      for (const version of [1, 2, 4]) {
        const error = yield* Effect.flip(publish(tenant, next(version)))
        assert.strictEqual(error._tag, "VersionRefused")
        assert.include(error.message, `version ${version} of credit is not the next one`)
      }
      assert.deepEqual(yield* read(tenant), second)
    })
  )

  it.effect("ST-42 a published version is told by one event, and one that is refused by none", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      yield* publish(tenant, next(1))
      yield* Effect.flip(publish(tenant, next(3)))
      yield* publish(tenant, next(2, { rules: credit.rules.slice(0, 1), eval_sets: [] }))
      const told: Array<OutboxMessage> = []
      const outbox = yield* Outbox
      const claim = {
        owner: Samples.unique("owner"),
        topics: [world_published_topic],
        limit: 500,
        lease_ms: 60_000
      }
      for (;;) {
        const claimed = yield* outbox.claim(claim)
        if (claimed.length === 0) break
        for (const message of claimed) {
          yield* outbox.delivered(message.id, claim.owner)
          if (message.tenant === tenant) told.push(message)
        }
      }
      const [first, second] = told.map(({ payload }) => payload)
      assert.lengthOf(told, 2)
      assert.deepEqual(first, {
        world_id,
        version: 1,
        name: "Consumer credit",
        domain: "Judges offers of consumer credit.",
        published_at: 0,
        rules: 4,
        topics: 3,
        cases: 45,
        coverage: 1 / 3,
        pass_rate_min: 0.9
      })
      assert.deepInclude(second, { version: 2, rules: 1, cases: 0, coverage: 0 })
    })
  )

  it.effect("of two who publish the same version at once, one is refused", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      yield* publish(tenant, next(1))
      const both = yield* Effect.all(
        [Effect.result(publish(tenant, next(2))), Effect.result(publish(tenant, next(2)))],
        { concurrency: "unbounded" }
      )
      assert.sameMembers(
        both.map(({ _tag }) => _tag),
        ["Success", "Failure"]
      )
    })
  )

  it.effect("a version that is none is refused, and says where", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const [rule] = credit.rules
      const wrong: ReadonlyArray<readonly [unknown, string]> = [
        [null, "version"],
        [{ ...credit, rules: [rule, rule] }, "version.rules"],
        [{ ...credit, rules: [{ ...rule, topic: "Not A Topic" }] }, "version.rules[0].topic"],
        [{ ...credit, world: { ...credit.world, version: 0 } }, "version.world.version"],
        [{ ...credit, extra: 1 }, "version"],
        [
          { ...credit, eval_sets: [{ ...credit.eval_sets[0], pass_rate: 2 }] },
          "version.eval_sets[0]"
        ]
      ]
      for (const [version, where] of wrong) {
        const error = yield* Effect.flip(publish(tenant, version as NewVersion))
        assert.strictEqual(error._tag, "VersionRefused")
        assert.include(error.message, where)
      }
      assert.deepEqual(yield* WorldReader.use((reader) => reader.worlds(tenant)), [])
    })
  )
}

const reading = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("an unknown world or rule is not found, and another tenant's is unknown", () =>
    Effect.gen(function* () {
      const [tenant, other] = [Samples.tenant(), Samples.tenant()]
      yield* publish(tenant, credit)
      const reader = yield* WorldReader
      const proposals = yield* RuleProposals
      assert.strictEqual((yield* Effect.flip(reader.world(other, world_id)))._tag, "WorldUnknown")
      assert.deepEqual(yield* reader.worlds(other), [])
      assert.deepEqual(yield* reader.rules(other, world_id), [])
      assert.deepEqual(yield* reader.evalSets(other, world_id), [])
      assert.deepEqual(yield* proposals.open(other, world_id, 10), [])
      const missing = yield* Effect.flip(reader.rule(tenant, world_id, "nothing"))
      assert.deepInclude(missing, { _tag: "RuleNotFound", rule_id: "nothing" })
      const foreign = yield* Effect.flip(reader.rule(other, world_id, "apr-shown"))
      assert.strictEqual(foreign._tag, "RuleNotFound")
    })
  )
}

const paging = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("pages of rules go by id, each rule once, and are no longer than their bound", () =>
    Effect.gen(function* () {
      const [tenant, other] = [Samples.tenant(), Samples.tenant()]
      const count = rule_page_max + 3
      // Their order by the rules of a language is another: it has no regard for hyphens.
      const ids = Array.from({ length: count }, (_, i) => `${i % 2 === 0 ? "a-" : "a"}${i}`)
      const version = { ...credit, rules: ids.map((rule_id) => ({ ...credit.rules[0]!, rule_id })) }
      yield* publish(tenant, version)
      yield* publish(tenant, privacy)
      const reader = yield* WorldReader
      const idsOf = (limit: number, after?: string) =>
        Effect.map(reader.rulePage(tenant, world_id, { limit, after }), (rules) =>
          rules.map(({ rule_id }) => rule_id)
        )
      const sorted = byRuleId(version).map(({ rule_id }) => rule_id)
      const first = yield* idsOf(1e6)
      assert.deepEqual(first, sorted.slice(0, rule_page_max))
      assert.deepEqual(yield* idsOf(50, first.at(-1)), sorted.slice(rule_page_max))
      assert.deepEqual(yield* idsOf(2, first[0]), sorted.slice(1, 3))
      assert.deepEqual(yield* idsOf(2, `${first[0]}-no-such-rule`), sorted.slice(1, 3))
      assert.deepEqual(yield* idsOf(2, "zzz"), [])
      for (const none of [0, -1]) assert.deepEqual(yield* idsOf(none), [])
      assert.deepEqual(yield* reader.rulePage(other, world_id, { limit: 10 }), [])
      const [whole] = yield* reader.rulePage(tenant, world_id, { limit: 1 })
      assert.deepEqual(whole, { ...credit.rules[0]!, rule_id: sorted[0]! })
    })
  )

  it.effect(
    "a version with more than 10,000,000 characters is refused, and one with less is not",
    () =>
      Effect.gen(function* () {
        const tenant = Samples.tenant()
        const long = (count: number): NewVersion => ({
          ...credit,
          rules: Array.from({ length: count }, (_, i) => ({
            ...credit.rules[0]!,
            rule_id: `rule-${i}`,
            body: "x".repeat(8_000)
          }))
        })
        const error = yield* Effect.flip(publish(tenant, long(1_250)))
        assert.strictEqual(error._tag, "VersionRefused")
        assert.include(error.message, "10000000")
        assert.deepEqual(yield* WorldReader.use((reader) => reader.worlds(tenant)), [])
        assert.lengthOf((yield* readVersion(long(1_200))).rules, 1_200)
      })
  )
}

const draft = (candidate_id: string, id = world_id) => ({
  candidate_id,
  world_id: id,
  topic: "sales",
  title: 'nul \u0000, "quoted", ü €😀',
  body: "Say it once.",
  rationale: "Nobody said it.",
  evidence: ["basics"],
  proposed_by: "olga"
})

const proposing = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect(
    "a candidate is queued once for each id, oldest first, and stays when versions change",
    () =>
      Effect.gen(function* () {
        const tenant = Samples.tenant()
        const proposals = yield* RuleProposals
        yield* publish(tenant, next(1))
        const first = yield* proposals.propose(tenant, draft("b"))
        const second = yield* proposals.propose(tenant, draft("a"))
        const again = yield* proposals.propose(tenant, { ...draft("b"), title: "changed" })
        assert.deepEqual(again, first)
        assert.deepInclude(first, { ...draft("b"), status: "proposed" })
        yield* publish(tenant, next(2))
        assert.deepEqual(yield* proposals.open(tenant, world_id, 10), [first, second])
        assert.deepEqual(yield* proposals.open(tenant, world_id, 1), [first])
        const unknown = WorldId.make("unknown")
        const error = yield* Effect.flip(proposals.propose(tenant, draft("c", unknown)))
        assert.strictEqual(error._tag, "WorldUnknown")
      })
  )
}

const bounded = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("only so many candidates of a world wait; one that waits is still given back", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const proposals = yield* RuleProposals
      yield* publish(tenant, credit)
      yield* publish(tenant, privacy)
      for (let n = 0; n < candidates_open_max; n++) yield* proposals.propose(tenant, draft(`c${n}`))
      const error = yield* Effect.flip(proposals.propose(tenant, draft("one-more")))
      assert.deepInclude(error, { _tag: "TooManyCandidates", open_max: candidates_open_max })
      assert.strictEqual((yield* proposals.propose(tenant, draft("c7"))).candidate_id, "c7")
      yield* proposals.propose(tenant, draft("one-more", privacy.world.world_id))
    })
  )
}

const erasing = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect(
    "an erased name stands in no candidate of its tenant, and the candidates still wait",
    () =>
      Effect.gen(function* () {
        const [tenant, other] = [Samples.tenant(), Samples.tenant()]
        const queue = yield* RuleProposals
        const candidate = {
          candidate_id: "1",
          world_id,
          topic: credit.rules[0]!.topic,
          title: "A limit",
          body: "Loans have a limit.",
          rationale: "olga has asked for it.",
          evidence: [],
          proposed_by: "olga"
        }
        for (const whose of [tenant, other]) {
          yield* publish(whose, credit)
          yield* queue.propose(whose, candidate)
          yield* queue.propose(whose, {
            ...candidate,
            candidate_id: "2",
            rationale: "There is none.",
            proposed_by: "paul"
          })
        }
        const [first, second] = yield* queue.open(other, world_id, 10)
        const erasure = yield* SubjectErasure
        const { erased } = yield* erasure.erase({ tenant, subject: "olga", by: "root" })
        assert.deepInclude(erased, { rule_candidates: 1 })
        const [marked, kept] = yield* queue.open(tenant, world_id, 10)
        assert.notInclude(JSON.stringify(marked), "olga")
        assert.include(marked?.rationale, "erased")
        assert.include(marked?.proposed_by, "erased")
        const { proposed_at, proposed_by, rationale } = marked!
        assert.deepStrictEqual(marked, { ...first!, proposed_at, proposed_by, rationale })
        assert.deepStrictEqual(kept, { ...second!, proposed_at: kept!.proposed_at })
        assert.deepStrictEqual(yield* queue.open(other, world_id, 10), [first!, second!])
      })
  )
}

const words = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect(
    "a subject with the name of a topic, a rule, a state or a member breaks no record",
    () =>
      Effect.gen(function* () {
        const tenant = Samples.tenant()
        const queue = yield* RuleProposals
        yield* publish(tenant, credit)
        const text = "zzz"
        const said = { title: text, body: text, rationale: text, proposed_by: text }
        yield* queue.propose(tenant, { ...draft("c1"), ...said })
        const kept = Effect.all({
          published: read(tenant),
          candidates: queue.open(tenant, world_id, 10)
        })
        const before = yield* kept
        const erasure = yield* SubjectErasure
        const schemas = [World, Rule, EvalSet, RuleCandidate]
        const literals = literalsOf(...schemas)
        assert.includeMembers([...literals], ["proposed", "accepted"])
        for (const subject of [...literals, ..."sales basics c1 topic".split(" ")]) {
          yield* erasure.erase({ tenant, subject, by: "root" })
          assert.deepStrictEqual(yield* kept, before, subject)
        }
        const { erased } = yield* erasure.erase({ tenant, subject: text, by: "root" })
        assert.deepInclude(erased, { rule_candidates: 1 })
        const { candidates } = yield* kept
        assert.notInclude(JSON.stringify(candidates), text)
      })
  )
}

export const worldsContract = contract<Needs>("Worlds", (it) => {
  publishing(it)
  reading(it)
  paging(it)
  proposing(it)
  erasing(it)
})

/** Those of most rows, which two engines show with the same statements. */
export const manyRecordsContract = contract<Needs>("Worlds of many records", (it) => {
  bounded(it)
  if (isFull) words(it)
})
