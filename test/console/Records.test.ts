/** Records of a feature in the console: its pages follow from its operations, and a service without the feature has none. */
import { Effect, Schema } from "effect"
import { feature, operation, serve } from "troupe/feature"
import { assert, describe, it } from "vitest"
import { shop, signedIn, tokenOf } from "./ConsoleScene.ts"
import { recorded } from "./RecordScene.ts"

type Started = Awaited<ReturnType<typeof recorded>>

const within = async (use: (troupe: Started) => Promise<void>) => {
  const troupe = await recorded()
  try {
    await use(troupe)
  } finally {
    await troupe.stop()
  }
}

const at = "/console/records"

const includes = (text: string, ...wanted: ReadonlyArray<string>) => {
  for (const each of wanted) assert.include(text, each)
}

describe("records of a feature", () => {
  it("have no page and no place in the menu where there is no such feature", async () => {
    const troupe = await shop()
    const olga = await signedIn(troupe, "olga")
    assert.notInclude((await olga.get("/console")).text, "Records")
    assert.strictEqual((await olga.get(`${at}/scans`)).status, 404)
    await troupe.stop()
  })

  it("are in the menu of those who may read them, and of nobody else", () =>
    within(async (troupe) => {
      const links = async (name: "olga" | "vera") => {
        const { text } = await (await signedIn(troupe, name)).get("/console")
        return [...text.matchAll(/href="\/console\/records\/([a-z-]+)">([^<]+)</g)].map(
          ([, path, word]) => [path, word]
        )
      }
      const all = [
        ["changesets", "Changesets"],
        ["failure-clusters", "Failure clusters"],
        ["scans", "Scans"],
        ["drafts", "Drafts"],
        ["worlds", "Worlds"]
      ]
      assert.deepStrictEqual(await links("olga"), all)
      assert.deepStrictEqual(
        await links("vera"),
        all.filter(([path]) => path !== "drafts")
      )
      const vera = await signedIn(troupe, "vera")
      for (const path of ["drafts", "drafts/draft-1", "drafts.csv", "drafts.json"]) {
        assert.strictEqual((await vera.get(`${at}/${path}`)).status, 403, path)
      }
    }))

  it("are listed by filters, each with what it is called, and lead to one and to what belongs to it", () =>
    within(async (troupe) => {
      const vera = await signedIn(troupe, "vera")
      const list = await vera.get(`${at}/failure-clusters`)
      includes(
        list.text,
        "<h1>Failure clusters</h1>",
        `href="${at}/failure-clusters/no-source"`,
        '<span class="tag">critical</span>',
        "/v1/failure-clusters?limit=50",
        ">Last seen at</th>"
      )
      const low = await vera.get(`${at}/failure-clusters?severity=low`)
      assert.include(low.text, "/failure-clusters/rude")
      assert.notInclude(low.text, "/failure-clusters/no-source")
      assert.include(low.text, 'aria-current="true">low</a>')
      assert.include(low.text, 'status=in_progress">in progress</a>')
      assert.strictEqual((await vera.get(`${at}/failure-clusters?severity=odd`)).status, 404)
      const one = await vera.get(`${at}/failure-clusters/no-source`)
      includes(
        one.text,
        "The answer names a deadline that no source has.",
        "refund, deadline",
        `href="${at}/failure-clusters/no-source/failures"`,
        "/v1/failure-clusters/no-source"
      )
      const failures = await vera.get(`${at}/failure-clusters/no-source/failures`)
      includes(failures.text, "failure-3", "nul ‹U+0000›", "Back to the record")
      assert.strictEqual((await vera.get(`${at}/failure-clusters/none`)).status, 404)
      assert.strictEqual((await vera.get(`${at}/failure-clusters/none/failures`)).status, 404)
      const rules = await vera.get(`${at}/worlds/credit/rules`)
      assert.include(rules.text, `href="${at}/worlds/credit/rules/apr-shown"`)
      includes((await vera.get(`${at}/worlds/credit/rules/apr-shown`)).text, "page apr-shown")
      // An id of another record leads there.
      assert.include(
        (await vera.get(`${at}/scans/scan-3`)).text,
        `href="${at}/changesets/change-1"`
      )
      includes((await vera.get(`${at}/worlds/credit/candidates`)).text, "There is none.")
      for (const path of ["worlds/none", "worlds/none/rules", "worlds/none/candidates"]) {
        assert.strictEqual((await vera.get(`${at}/${path}`)).status, 404, path)
      }
      assert.strictEqual((await vera.get(`${at}/worlds/credit/rules/none`)).status, 404)
      const worlds = async (query: string) => {
        const headers = { authorization: `Bearer ${tokenOf("vera")}` }
        const answer = await fetch(`${troupe.url}/v1/worlds${query}`, { headers })
        const { items, next_after } = (await answer.json()) as {
          readonly items: ReadonlyArray<{ readonly world_id: string }>
          readonly next_after?: string
        }
        return [items.map(({ world_id }) => world_id), next_after]
      }
      assert.deepStrictEqual(await worlds("?limit=1"), [["credit"], "credit"])
      assert.deepStrictEqual(await worlds("?after=credit"), [["privacy"], undefined])
    }))

  it("are files as well, of CSV and of JSON as the API has it", () =>
    within(async (troupe) => {
      const vera = await signedIn(troupe, "vera")
      const csv = await vera.get(`${at}/scans.csv?status=completed`)
      assert.strictEqual(csv.text.split("\r\n").filter((line) => line !== "").length, 3)
      includes(csv.text, '"scan.scan_id",', "scan-3", "verdict.outcome", "2026-02-0")
      const json = JSON.parse((await vera.get(`${at}/scans.json`)).text) as {
        readonly items: ReadonlyArray<{ readonly scan: { readonly scan_id: string } }>
      }
      assert.deepStrictEqual(
        json.items.map(({ scan }) => scan.scan_id),
        ["scan-3", "scan-2", "scan-1"]
      )
    }))

  it("belong to their tenant", () =>
    within(async (troupe) => {
      const cora = await signedIn(troupe, "cora")
      includes((await cora.get(`${at}/changesets`)).text, "There is none.")
      assert.strictEqual((await cora.get(`${at}/changesets/change-1`)).status, 404)
      const review = { act: "reviewChangeset", "reviewChangeset:argument/decision": '"approved"' }
      assert.strictEqual((await cora.post(`${at}/changesets/change-1`, review)).status, 404)
    }))
})

describe("an act on a record", () => {
  const path = `${at}/changesets/change-1`
  const field = "reviewChangeset:argument"
  const review = {
    act: "reviewChangeset",
    [`${field}/decision`]: '"approved"',
    [`${field}/note`]: "as <b>said</b>",
    [`state-of-${field}/note`]: "value"
  }

  it("is a form made from the operation, for those who have its right, and is done once", () =>
    within(async (troupe) => {
      const vera = await signedIn(troupe, "vera")
      assert.notInclude((await vera.get(path)).text, "Review changeset")
      const boss = await signedIn(troupe, "boss")
      includes(
        (await boss.get(path)).text,
        "Review changeset …",
        "Approve or reject a change set, once",
        `name="${field}/decision"`
      )
      const refused = [
        await vera.post(path, review),
        await boss.post(path, { ...review, form_key: "" }),
        await boss.post(path, { ...review, form_key: await vera.formKey() }),
        await boss.post(path, review, { "sec-fetch-site": "cross-site" }),
        await boss.post(path, review, { origin: "https://elsewhere.example" })
      ]
      assert.deepStrictEqual(
        refused.map(({ status }) => status),
        refused.map(() => 403)
      )
      includes((await boss.get(path)).text, "<dd>proposed</dd>", ">empty</span></td>")
      const done = await boss.post(path, review)
      assert.strictEqual(done.location, path)
      includes(done.text, "<dd>approved</dd>", "<dd>boss</dd>", "as &lt;b&gt;said&lt;/b&gt;")
      const again = await boss.post(path, { ...review, [`${field}/decision`]: '"rejected"' })
      assert.strictEqual(again.status, 409)
      includes(again.text, "Nothing was changed.", "<dd>approved</dd>")
    }))

  it("keeps what was typed where it cannot be read, and says which field", () =>
    within(async (troupe) => {
      const boss = await signedIn(troupe, "boss")
      const none = await boss.post(path, { ...review, [`${field}/decision`]: "" })
      assert.strictEqual(none.status, 422)
      includes(none.text, "decision", "as &lt;b&gt;said&lt;/b&gt;</textarea>", "<details open>")
      const odd = await boss.post(path, { ...review, [`${field}/decision`]: '"perhaps"' })
      assert.strictEqual(odd.status, 422)
      includes(odd.text, "It is none of the choices.", 'aria-invalid="true"')
      assert.strictEqual((await boss.post(path, { act: "reviewAll" })).status, 404)
      assert.strictEqual((await boss.post(path, { act: "publishDraft" })).status, 404)
      const long = { ...review, [`${field}/note`]: "x".repeat(2_001) }
      const cut = await boss.post(path, long)
      assert.strictEqual(cut.status, 422)
      includes(cut.text, 'class="problem"', "2000")
      const unsent = await boss.post(path, { act: "reviewChangeset" })
      assert.strictEqual(unsent.status, 422)
      includes((await boss.get(path)).text, "<dd>proposed</dd>")
    }))

  it("has what the page shows in its fields, and runs for what was read there", () =>
    within(async (troupe) => {
      const olga = await signedIn(troupe, "olga")
      const draft = `${at}/drafts/draft-1`
      const { text } = await olga.get(draft)
      includes(text, "Ask for more of the tone &lt;b&gt;", "Withdraw draft …")
      assert.match(text, /name="publishDraft:argument\/based_on"[^>]* value="1"/)
      const publish = {
        act: "publishDraft",
        "publishDraft:argument/target_id": "tone",
        "publishDraft:argument/based_on": "2",
        "publishDraft:argument/reason": "it is time"
      }
      assert.strictEqual((await olga.post(draft, publish)).status, 409)
      const right = { ...publish, "publishDraft:argument/based_on": "1" }
      const done = await olga.post(draft, right)
      includes(done.text, "<dd>published</dd>", "it is time", "<dd>olga</dd>")
    }))
})

describe("a feature of one's own", () => {
  const Note = Schema.Struct({
    id: Schema.String,
    text: Schema.String,
    box_id: Schema.String,
    more: Schema.Unknown
  })
  const list = { method: "GET", gives: "items", right: "inspect", summary: "Notes" } as const
  const params = Schema.Struct({ id: Schema.String })
  const success = Schema.Struct({ items: Schema.Array(Note) })
  const boxes = {
    boxes: serve(
      operation({
        ...list,
        id: "boxes",
        name: "boxes",
        path: "/v1/boxes",
        success,
        right: { operator: "all" }
      }),
      () => Effect.sync(() => ({ items: [] }))
    ),
    box: serve(
      operation({
        id: "box",
        name: "box",
        method: "GET",
        path: "/v1/boxes/:box_id",
        params: Schema.Struct({ box_id: Schema.String }),
        right: { operator: "all" },
        summary: "A box"
      }),
      () => Effect.void
    )
  }
  /** `kept`: what the feature has. */
  const notes = (kept: Map<string, string>) => {
    const all = () =>
      [...kept].map(([id, text]) => ({ id, text, box_id: "b", more: { deep: [1, { a: text }] } }))
    const effects = {
      notes: serve(
        operation({ ...list, id: "list", name: "notes", path: "/v1/notes", success }),
        () => Effect.sync(() => ({ items: all() }))
      ),
      found: serve(
        operation({
          ...list,
          id: "find",
          name: "found",
          path: "/v1/found",
          query: Schema.Struct({ words: Schema.String }),
          success
        }),
        () => Effect.sync(() => ({ items: all() }))
      ),
      anything: serve(
        operation({
          ...list,
          id: "any",
          name: "anything",
          path: "/v1/anything",
          query: Schema.Struct({ after: Schema.optionalKey(Schema.String) }),
          success: Schema.Struct({ items: Schema.Array(Schema.Unknown), next_after: Schema.String })
        }),
        ({ after = "first" }) => Effect.sync(() => ({ items: ["<i>", after], next_after: "x & y" }))
      ),
      note: serve(
        operation({
          id: "get",
          name: "note",
          method: "GET",
          path: "/v1/notes/:id",
          params,
          success: Note,
          right: "inspect",
          summary: "A note"
        }),
        ({ id }) => Effect.sync(() => ({ id, text: kept.get(id) ?? "", box_id: "b", more: id }))
      ),
      ...boxes,
      removeNote: serve(
        operation({
          id: "remove",
          name: "removeNote",
          method: "DELETE",
          path: "/v1/notes/:id",
          params,
          right: { operator: "all" },
          summary: "Remove a note"
        }),
        ({ id }) => Effect.sync(() => void kept.delete(id))
      )
    }
    return feature({ name: "book", groups: [{ id: "notes", title: "Notes", effects }] })
  }

  it("has pages of whatever its operations give, and none of a list that has to be asked for by words", async () => {
    const odd = "a <i>"
    const kept = new Map([
      [odd, "<script>alert(1)</script>\u202e"],
      ["2", "two"]
    ])
    const troupe = await shop({ features: [notes(kept)] })
    const olga = await signedIn(troupe, "olga")
    const { text } = await olga.get(`${at}/notes`)
    assert.include(text, `href="${at}/anything"`)
    assert.notInclude(text, `${at}/found`)
    const path = `${at}/notes/${encodeURIComponent(odd)}`
    assert.include(text, `href="${path}"`)
    assert.notMatch(text, /<script>alert|<i>|\u202e/)
    const one = await olga.get(path)
    includes(one.text, "<h1>a &lt;i&gt;</h1>", "Remove note …", 'class="no"')
    const anything = await olga.get(`${at}/anything`)
    includes(anything.text, "&quot;&lt;i&gt;&quot;", `href="${at}/anything?after=x+%26+y"`)
    assert.include((await olga.get(`${at}/anything?after=x+%26+y`)).text, "x &amp; y&quot;")
    const box = `href="${at}/boxes/b"`
    assert.include(one.text, box)
    const vera = await signedIn(troupe, "vera")
    assert.notInclude((await vera.get(path)).text, box)
    assert.strictEqual((await vera.post(path, { act: "removeNote" })).status, 403)
    assert.strictEqual(kept.size, 2)
    const gone = await olga.post(path, { act: "removeNote" })
    assert.strictEqual(gone.location, `${at}/notes`)
    assert.deepStrictEqual([...kept.keys()], ["2"])
    await troupe.stop()
  })
})
