/** Drafts of rubrics and system cards, on every store alike. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Outbox } from "../../services/Outbox.ts"
import { DraftStore } from "../../services/spectral/platform/contracts/DraftStore.ts"
import type { PlatformStores } from "../../services/spectral/platform/PlatformStores.ts"
import { RecordImporter } from "../../services/spectral/platform/RecordImporter.ts"
import { WorkspaceReader } from "../../services/spectral/platform/WorkspaceReader.ts"
import { WorkspaceSettings } from "../../services/spectral/platform/WorkspaceSettings.ts"
import { SubjectErasure } from "../../services/SubjectErasure.ts"
import type { Tenant } from "../../src/value/Ids.ts"
import { FrameworkId, SystemId } from "../../src/spectral/platform/contracts/Fact.ts"
import type {
  CardProposal,
  DraftProposal,
  RubricProposal
} from "../../src/spectral/platform/contracts/Draft.ts"
import { drafts_open_max, targetOf } from "../../src/spectral/platform/contracts/Draft.ts"
import type { FrameworkChange } from "../../src/spectral/platform/Framework.ts"
import { limits_max } from "../../src/spectral/platform/contracts/SystemCard.ts"
import { odd, sample, some } from "../platform/Records.ts"
import { contract } from "./Contract.ts"
import * as Samples from "./Samples.ts"

type Needs = PlatformStores | Outbox | SubjectErasure

/** A new workspace with the sample's records. */
const filled = Effect.gen(function* () {
  const tenant = Samples.tenant()
  yield* RecordImporter.use((importer) => importer.record(tenant, sample))
  return tenant
})

const support = FrameworkId.make("support")
const bot = SystemId.make("support-bot")
const limit = "It names deadlines that no source has."

const rubric = (given: Partial<RubricProposal> = {}): DraftProposal => ({
  kind: "rubric",
  framework_id: support,
  rubric_id: "tone",
  title: odd,
  threshold: 0.7,
  sources: ["failure cluster rude"],
  ...given
})

const card = (given: Partial<CardProposal> = {}): DraftProposal => ({
  kind: "system_card",
  system_id: bot,
  title: "What it does badly",
  add_limits: [limit],
  ...given
})

/** Calls of one run. */
const author = (call: number) => ({ run: "run-1", call: `0/${call}.0`, principal: odd })

const write = (tenant: Tenant, proposal: DraftProposal, call: number) =>
  DraftStore.use((store) => store.write(tenant, proposal, author(call)))

const publication = (target_id: string, based_on = 1) => ({
  target_id,
  based_on,
  by: "ann",
  reason: "Agreed on Monday."
})

const publish = (tenant: Tenant, id: string, target: string, based_on?: number) =>
  DraftStore.use((store) => store.publish(tenant, id, publication(target, based_on)))

const draft = (tenant: Tenant, id: string) => DraftStore.use((store) => store.draft(tenant, id))

/** All that a publication may change. */
const targets = Effect.fnUntraced(function* (tenant: Tenant) {
  const reader = yield* WorkspaceReader
  return {
    framework: yield* reader.framework(tenant, "support"),
    card: yield* reader.systemCard(tenant, "support-bot")
  }
})

const idsOf = (tenant: Tenant, query: object = {}) =>
  Effect.map(
    DraftStore.use((store) => store.drafts(tenant, { limit: 100, ...query })),
    (found) => found.map(({ draft_id }) => draft_id as string)
  )

const refusedWith = <A, E extends { readonly _tag: string; readonly message: string }, R>(
  effect: Effect.Effect<A, E, R>,
  ...parts: ReadonlyArray<string>
) =>
  Effect.map(Effect.flip(effect), (error) => {
    assert.strictEqual(error._tag, "ChangeRefused")
    for (const part of parts) assert.include(error.message, part)
  })

const writing = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect(
    "SA-46 a draft holds the whole content that is proposed, and changes nothing else",
    () =>
      Effect.gen(function* () {
        const tenant = yield* filled
        const before = yield* targets(tenant)
        const first = yield* write(tenant, rubric(), 1)
        const second = yield* write(tenant, card({ owner: odd }), 2)
        const { rubric_id: _, ...tone } = sample.frameworks[0]!.rubrics[1]!
        const { created_at, ...said } = first
        assert.isNumber(created_at)
        assert.deepEqual(said, {
          kind: "rubric",
          draft_id: "draft-1" as typeof first.draft_id,
          framework_id: support,
          rubric_id: "tone",
          title: odd,
          based_on: 1,
          content: { ...tone, threshold: 0.7, sources: ["failure cluster rude"] },
          author: author(1),
          state: { status: "draft" }
        })
        const { limits, name, parts, purpose } = sample.systems[0]!
        const content = { name, purpose, owner: odd, parts, limits: [...limits, limit] }
        assert.deepEqual<unknown>(second.content, content)
        assert.deepEqual<unknown>([second.draft_id, second.based_on], ["draft-2", 1])
        assert.deepEqual(yield* draft(tenant, "draft-1"), first)
        assert.deepEqual(yield* draft(tenant, "draft-2"), second)
        assert.deepEqual(yield* targets(tenant), before)
      })
  )

  it.effect("a call that is repeated is given the draft that it wrote first", () =>
    Effect.gen(function* () {
      const tenant = yield* filled
      const first = yield* write(tenant, rubric(), 1)
      yield* publish(tenant, "draft-1", "tone")
      const again = yield* write(tenant, rubric({ threshold: 0.9 }), 1)
      assert.deepEqual(again.content, first.content)
      assert.deepEqual(again, yield* draft(tenant, "draft-1"))
      assert.deepEqual(yield* idsOf(tenant), ["draft-1"])
      const other = yield* filled
      assert.deepEqual((yield* write(other, card(), 1)).kind, "system_card")
    })
  )

  it.effect("what cannot be published is not written", () =>
    Effect.gen(function* () {
      const tenant = yield* filled
      const many = Array.from({ length: limits_max }, (_, i) => `Limit ${i}`)
      const [tone] = sample.frameworks[0]!.rubrics
      const wrong: ReadonlyArray<readonly [DraftProposal, string]> = [
        [rubric({ threshold: 0.6 }), "says this already"],
        [rubric({ rubric_id: "new" }), "has no rubric new"],
        [card({ add_limits: [] }), "says this already"],
        [card({ add_limits: sample.systems[0]!.limits }), "says this already"],
        [card({ add_limits: many }), `would have ${limits_max + 1} limits`]
      ]
      for (const [proposal, why] of wrong) yield* refusedWith(write(tenant, proposal, 1), why)
      const unknown: ReadonlyArray<readonly [DraftProposal, string]> = [
        [rubric({ framework_id: FrameworkId.make("nothing") }), "framework"],
        [card({ system_id: SystemId.make("nothing") }), "system"]
      ]
      for (const [proposal, kind] of unknown) {
        const error = yield* Effect.flip(write(tenant, proposal, 1))
        assert.propertyVal(error, "_tag", "RecordNotFound")
        assert.include(error.message, `there is no ${kind} "nothing"`)
      }
      assert.deepEqual(yield* idsOf(tenant), [])
      const { description, name } = tone!
      const whole = { rubric_id: "new", name, description, criteria: ["One."], threshold: 1 }
      const added = yield* write(tenant, rubric(whole), 1)
      const { rubric_id: _, ...fields } = whole
      assert.deepEqual<unknown>(added.content, {
        ...fields,
        enabled: true,
        sources: ["failure cluster rude"]
      })
    })
  )

  it.effect(
    "drafts that wait are bounded, and numbers are given once also to writers at once",
    () =>
      Effect.gen(function* () {
        const tenant = yield* filled
        const calls = Array.from({ length: drafts_open_max }, (_, i) => i)
        yield* Effect.forEach(calls, (call) => write(tenant, card(), call), { concurrency: 8 })
        const expected = calls.map((i) => `draft-${drafts_open_max - i}`)
        assert.deepEqual(yield* idsOf(tenant), expected)
        yield* refusedWith(write(tenant, card(), 1_000), `${drafts_open_max} drafts wait`)
        const store = yield* DraftStore
        yield* store.withdraw(tenant, "draft-3", { by: "ann", reason: "Not needed." })
        const next = yield* write(tenant, card(), 1_000)
        assert.strictEqual(next.draft_id, `draft-${drafts_open_max + 1}`)
        yield* refusedWith(write(tenant, card(), 1_001), "drafts wait")
      })
  )
}

const publishing = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("SA-46 a published rubric is the next version of its framework, with who and why", () =>
    Effect.gen(function* () {
      const tenant = yield* filled
      const before = yield* targets(tenant)
      const { content } = yield* write(tenant, rubric(), 1)
      assert.strictEqual(yield* publish(tenant, "draft-1", "tone"), 2)
      const after = yield* targets(tenant)
      const { sources, ...fields } = content as { readonly sources: ReadonlyArray<string> }
      const [groundedness] = before.framework.rubrics
      const { at, ...revision } = after.framework.revisions[1]!
      assert.isNumber(at)
      assert.deepEqual(revision, { version: 2, by: "ann", reason: "Agreed on Monday.", sources })
      assert.deepEqual<unknown>(after.framework, {
        ...before.framework,
        version: 2,
        rubrics: [groundedness, { rubric_id: "tone", ...fields }],
        revisions: [...before.framework.revisions, { at, ...revision }]
      })
      assert.deepEqual(after.card, before.card)
      const { state } = yield* draft(tenant, "draft-1")
      assert.deepInclude(state, { status: "published", revision: 2 })
      assert.deepInclude(state.closed!, { by: "ann", reason: "Agreed on Monday." })
      const whole = { name: "n", description: "d", criteria: ["c"], threshold: 1 }
      yield* write(tenant, rubric({ rubric_id: "new", ...whole }), 2)
      assert.strictEqual(yield* publish(tenant, "draft-2", "new", 2), 3)
      const ids = (yield* targets(tenant)).framework.rubrics.map(({ rubric_id }) => rubric_id)
      assert.deepEqual(ids, ["groundedness", "tone", "new"])
    })
  )

  it.effect(
    "SA-46 a published card takes the place of the card, and imports leave it as it is",
    () =>
      Effect.gen(function* () {
        const tenant = yield* filled
        const before = yield* targets(tenant)
        yield* write(tenant, card(), 1)
        assert.strictEqual(yield* publish(tenant, "draft-1", "support-bot"), 2)
        const after = yield* targets(tenant)
        const { updated_at, ...rest } = after.card
        assert.isAbove(updated_at, before.card.updated_at)
        const { updated_at: _, ...known } = before.card
        assert.deepEqual(rest, { ...known, limits: [...known.limits, limit] })
        assert.deepEqual(after.framework, before.framework)
        const importer = yield* RecordImporter
        yield* importer.record(tenant, sample)
        assert.deepEqual(yield* targets(tenant), after)
        yield* write(tenant, card({ purpose: "Helps." }), 2)
        assert.strictEqual(yield* publish(tenant, "draft-2", "support-bot", 2), 3)
      })
  )

  it.effect(
    "a draft is published once, and not after it was withdrawn, nor withdrawn after that",
    () =>
      Effect.gen(function* () {
        const tenant = yield* filled
        const store = yield* DraftStore
        const closing = { by: "ann", reason: "Not needed." }
        yield* write(tenant, card(), 1)
        const one = publish(tenant, "draft-1", "support-bot")
        const both = yield* Effect.all([Effect.result(one), Effect.result(one)], {
          concurrency: "unbounded"
        })
        assert.sameMembers(
          both.map(({ _tag }) => _tag),
          ["Success", "Failure"]
        )
        const after = yield* targets(tenant)
        yield* refusedWith(one, "draft-1 is published", "once")
        yield* refusedWith(store.withdraw(tenant, "draft-1", closing), "draft-1 is published")
        yield* write(tenant, rubric(), 2)
        const withdrawn = yield* store.withdraw(tenant, "draft-2", closing)
        assert.deepInclude(withdrawn.state.closed!, closing)
        assert.deepEqual(yield* draft(tenant, "draft-2"), withdrawn)
        yield* refusedWith(publish(tenant, "draft-2", "tone"), "draft-2 is withdrawn")
        yield* refusedWith(store.withdraw(tenant, "draft-2", closing), "draft-2 is withdrawn")
        assert.deepEqual(yield* targets(tenant), after)
      })
  )

  it.effect("a publication that names another target or revision than the draft's is refused", () =>
    Effect.gen(function* () {
      const tenant = yield* filled
      const before = yield* targets(tenant)
      yield* write(tenant, rubric(), 1)
      yield* write(tenant, card(), 2)
      yield* refusedWith(publish(tenant, "draft-1", "groundedness"), "is of tone, not of")
      yield* refusedWith(publish(tenant, "draft-2", "tone"), "is of support-bot, not of")
      yield* refusedWith(publish(tenant, "draft-1", "tone", 2), "is based on 1, not on 2")
      assert.deepEqual(yield* targets(tenant), before)
      assert.deepEqual(yield* idsOf(tenant, { status: "draft" }), ["draft-2", "draft-1"])
    })
  )

  it.effect("a draft whose target changed in between is refused, and nothing is changed", () =>
    Effect.gen(function* () {
      const tenant = yield* filled
      yield* write(tenant, rubric(), 1)
      yield* write(tenant, card(), 2)
      yield* write(tenant, rubric({ threshold: 0.9 }), 3)
      const change: FrameworkChange = {
        framework_id: support,
        version: 1,
        rubrics: [{ rubric_id: "groundedness", enabled: false }],
        reason: "A try."
      }
      yield* WorkspaceSettings.use((settings) => settings.updateFramework(tenant, change, "cara"))
      const importer = yield* RecordImporter
      // The same card again is no change.
      yield* importer.record(tenant, some({ systems: sample.systems }))
      const moved = { ...sample.systems[0]!, owner: "Somebody else" }
      yield* importer.record(tenant, some({ systems: [moved] }))
      const before = yield* targets(tenant)
      yield* refusedWith(
        publish(tenant, "draft-1", "tone"),
        "the framework support is at revision 2",
        "draft-1 is based on 1",
        "write a new draft"
      )
      yield* refusedWith(
        publish(tenant, "draft-2", "support-bot"),
        "the card of support-bot is at revision 2"
      )
      assert.deepEqual(yield* targets(tenant), before)
      assert.lengthOf(yield* idsOf(tenant, { status: "draft" }), 3)
      const anew = yield* write(tenant, card(), 4)
      assert.strictEqual(anew.based_on, 2)
      assert.strictEqual(yield* publish(tenant, "draft-4", "support-bot", 2), 3)
      assert.strictEqual((yield* targets(tenant)).card.owner, "Somebody else")
    })
  )
}

const reading = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("drafts are listed newest first, by kind and status, page by page", () =>
    Effect.gen(function* () {
      const tenant = yield* filled
      const store = yield* DraftStore
      // More than nine, because draft-10 comes behind draft-9.
      for (let call = 1; call <= 11; call++) {
        yield* write(tenant, call % 2 === 0 ? card() : rubric(), call)
      }
      yield* store.withdraw(tenant, "draft-11", { by: "ann", reason: "Not needed." })
      const all = Array.from({ length: 11 }, (_, i) => `draft-${11 - i}`)
      assert.deepEqual(yield* idsOf(tenant), all)
      assert.deepEqual(yield* idsOf(tenant, { limit: 2 }), all.slice(0, 2))
      assert.deepEqual(yield* idsOf(tenant, { after: "draft-10", limit: 2 }), [
        "draft-9",
        "draft-8"
      ])
      assert.deepEqual(yield* idsOf(tenant, { after: "draft-1" }), [])
      assert.deepEqual(yield* idsOf(tenant, { after: "draft-99" }), [])
      const cards = yield* idsOf(tenant, { kind: "system_card", status: "draft", limit: 3 })
      assert.deepEqual(cards, ["draft-10", "draft-8", "draft-6"])
      assert.deepEqual(yield* idsOf(tenant, { status: "withdrawn" }), ["draft-11"])
      assert.deepEqual(yield* idsOf(tenant, { kind: "system_card", status: "published" }), [])
    })
  )

  it.effect("another workspace's drafts are not told from drafts that are not there", () =>
    Effect.gen(function* () {
      const [tenant, other] = [yield* filled, yield* filled]
      const store = yield* DraftStore
      yield* write(tenant, card(), 1)
      yield* write(tenant, card(), 2)
      yield* write(other, rubric(), 1)
      const closing = { by: "eve", reason: "Mine." }
      const asked: ReadonlyArray<(id: string) => Effect.Effect<unknown, object, DraftStore>> = [
        (id: string) => store.draft(other, id),
        (id: string) => store.withdraw(other, id, closing),
        (id: string) => publish(other, id, "support-bot")
      ]
      for (const ask of asked) {
        for (const id of ["draft-2", "draft-9"]) {
          const error = yield* Effect.flip(ask(id))
          assert.deepInclude(error, { _tag: "RecordNotFound", kind: "draft", id })
        }
      }
      assert.deepEqual(yield* idsOf(other), ["draft-1"])
      // The id of a foreign draft is no cursor either.
      assert.deepEqual(yield* idsOf(other, { after: "draft-2" }), [])
      assert.strictEqual((yield* draft(tenant, "draft-2")).state.status, "draft")
    })
  )
}

const erasing = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("an erased name stands in no draft, and drafts about what has that name are read", () =>
    Effect.gen(function* () {
      const tenant = yield* filled
      const store = yield* DraftStore
      const title = "As olga has asked"
      const proposals = [card({ title, add_limits: ["Ask olga."] }), rubric({ title })]
      for (const [call, proposal] of proposals.entries()) {
        yield* store.write(tenant, proposal, { ...author(call), principal: "olga" })
      }
      yield* store.withdraw(tenant, "draft-1", { by: "olga", reason: "olga was wrong." })
      const erasure = yield* SubjectErasure
      for (const subject of ["olga", "support-bot", "tone"]) {
        const { erased } = yield* erasure.erase({ tenant, subject, by: "root" })
        if (subject === "olga") assert.strictEqual(erased["platform_drafts"], 2)
      }
      const found = yield* store.drafts(tenant, { limit: 10 })
      assert.lengthOf(found, 2)
      assert.notInclude(JSON.stringify(found), "olga")
      assert.deepEqual(
        found.map((each) => targetOf(each) as string),
        ["tone", "support-bot"]
      )
      const content = found[1]?.content as CardProposal
      assert.deepEqual(content.limits?.slice(0, -1), sample.systems[0]!.limits)
      assert.include(content.limits?.at(-1), "erased")
      assert.strictEqual(yield* publish(tenant, "draft-2", "tone"), 2)
    })
  )
}

export const draftStoreContract = contract<Needs>("DraftStore", (it) => {
  writing(it)
  publishing(it)
  reading(it)
  erasing(it)
})
