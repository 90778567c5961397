/** Pieces of a turn in progress that a slow watcher has not taken. */
import { assert, describe, it } from "@effect/vitest"
import { Feed } from "../../layers/runtime/feed/Feed.ts"
import { channelKey } from "../../layers/runtime/feed/ChannelKey.ts"
import { ConversationId, FrameId, Tenant } from "../../src/value/Ids.ts"
import type { CallId } from "../../src/value/Ids.ts"
import * as Samples from "../contracts/Samples.ts"

const conversation = ConversationId.make("c-1")
const position = { run: Samples.runId(), ordinal: 1, frame: FrameId.make("0"), step: 1 }

const watched = (feed: Feed, tenant = "acme") =>
  feed.watch(Tenant.make(tenant), conversation, { wake: () => undefined })

/** Outputs of calls: no turn in progress has their text. */
const show = (feed: Feed, tenant: string, value: string, times: number) => {
  for (let n = 0; n < times; n++) {
    const output = { kind: "output", call: "0/1.0" as CallId, value } as const
    feed.delta(channelKey(Tenant.make(tenant), conversation), position, output)
  }
}

describe("pieces that wait for a watcher", () => {
  it("are as many as 256, and the turn from its start where there are more", () => {
    const feed = new Feed()
    const watcher = watched(feed)
    const key = channelKey(Tenant.make("acme"), conversation)
    const piece = (offset: number) => feed.delta(key, position, { kind: "text", text: "x", offset })
    for (let n = 0; n < 256; n++) piece(n)
    assert.strictEqual(watcher.take().length, 256)
    for (let n = 256; n < 600; n++) piece(n)
    const [whole, ...more] = watcher.take()
    assert.deepInclude(whole, { text: "x".repeat(600), offset: 0 })
    assert.deepStrictEqual(more, [])
    piece(600)
    assert.deepInclude(watcher.take()[0], { text: "x", offset: 600 })
    watcher.close()
    assert.strictEqual(feed.waiting, 0)
  })

  it("have at most 1,000,000 UTF-16 units together", () => {
    const feed = new Feed()
    const watcher = watched(feed)
    // 10,002 units with its quotes, and 200 for the piece.
    show(feed, "acme", "y".repeat(10_000), 98)
    assert.strictEqual(watcher.take().length, 98)
    assert.strictEqual(feed.waiting, 0)
    show(feed, "acme", "y".repeat(10_000), 99)
    assert.deepStrictEqual(watcher.take(), [])
    show(feed, "acme", "y".repeat(10_000), 1)
    assert.strictEqual(watcher.take().length, 1)
  })

  it("share the bound of their tenant, and take nothing from another tenant's", () => {
    const feed = new Feed()
    const watchers = Array.from({ length: 17 }, () => watched(feed))
    const other = watched(feed, "other")
    show(feed, "acme", "y".repeat(10_000), 97)
    show(feed, "other", "y".repeat(10_000), 97)
    // There is room for those of 16: one loses what waits for it, and gets the turn from its start.
    const taken = watchers.map((each) => each.take().length)
    assert.deepStrictEqual(taken.toSorted(), [0, ...Array.from({ length: 16 }, () => 97)])
    assert.strictEqual(other.take().length, 97)
    assert.strictEqual(feed.waiting, 0)
    show(feed, "acme", "y".repeat(10_000), 1)
    for (const each of [...watchers, other]) each.close()
    assert.strictEqual(feed.waiting, 0)
  })
})
