/** The bytes of files: kept once, named by uploads and runs, found by their tenant alone, and removed when nothing names them. */
import { createHash } from "node:crypto"
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { BlobHolder, BlobLabel } from "../../services/BlobStore.ts"
import { BlobStore } from "../../services/BlobStore.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { ConversationId, RunId } from "../../src/value/Ids.ts"
import { Tenant } from "../../src/value/Ids.ts"
import * as Samples from "./Samples.ts"

let count = 0
const fresh = () => Tenant.make(`files-${++count}`)
const enough = 1_000_000
/** Everything that was named until now is older. */
const later = Effect.sync(() => Date.now() + 60_000)

const bytesOf = (text: string) => new TextEncoder().encode(`\0\xff${text}`)
const labelOf = (bytes: Uint8Array, name?: string): BlobLabel => ({
  digest: createHash("sha256").update(bytes).digest("hex"),
  media_type: "image/png",
  ...(name === undefined ? undefined : { name })
})

const runOf = (run: RunId, conversation: ConversationId): BlobHolder => ({
  run,
  conversation,
  as: "message"
})

const keepingTests = (it: Vitest.MethodsNonLive<BlobStore>): void => {
  it.effect(
    "bytes are kept once for a tenant, read in pieces, and no other tenant finds them",
    () =>
      Effect.gen(function* () {
        const blobs = yield* BlobStore
        const [tenant, other] = [fresh(), fresh()]
        const bytes = bytesOf("a picture")
        const label = labelOf(bytes, "ä.png")
        yield* blobs.put(tenant, label, bytes, { uploaded_by: "olga" }, bytes.length)
        // The same bytes again take no more room, and others do not fit.
        yield* blobs.put(tenant, label, bytes, { uploaded_by: 'p"\0' }, bytes.length)
        const more = bytesOf("more")
        const full = yield* Effect.flip(
          blobs.put(tenant, labelOf(more), more, { uploaded_by: "olga" }, bytes.length)
        )
        assert.strictEqual(full._tag, "FilesFull")
        assert.deepStrictEqual(
          new Uint8Array((yield* blobs.read(tenant, label.digest, 0, 1_000)) ?? []),
          bytes
        )
        const piece = yield* blobs.read(tenant, label.digest, 2, 1)
        assert.deepStrictEqual(new Uint8Array(piece ?? []), bytes.slice(2, 3))
        for (const read of [blobs.read, blobs.get]) {
          assert.deepStrictEqual(yield* read(tenant, label.digest, 2, 1), piece)
          assert.isUndefined(yield* read(other, label.digest, 0, 1_000))
        }
        const task = Samples.newTask()
        const holder = runOf(task.id, task.conversation)
        const missing = yield* Effect.flip(blobs.hold(other, label, holder))
        assert.deepInclude(missing, { _tag: "FileNotFound", digest: label.digest })
        // An upload is the uploader's alone, where that matters.
        const foreign = yield* Effect.flip(blobs.hold(tenant, label, holder, "mallory"))
        assert.strictEqual(foreign._tag, "FileNotFound")
        assert.strictEqual(yield* blobs.hold(tenant, label, holder, "olga"), bytes.length)
        assert.deepStrictEqual(yield* blobs.heldBy(tenant, task.conversation, label.digest), [
          { ...label, size: bytes.length, as: "message" }
        ])
        const elsewhere = Samples.newTask().conversation
        assert.lengthOf(yield* blobs.heldBy(tenant, elsewhere, label.digest), 0)
        assert.lengthOf(yield* blobs.heldBy(other, task.conversation, label.digest), 0)
      })
  )
}

const collectionTests = (it: Vitest.MethodsNonLive<BlobStore | TaskStore>): void => {
  it.effect(
    "what nothing names is collected, and what an accepted run names stays until it is released",
    () =>
      Effect.gen(function* () {
        const blobs = yield* BlobStore
        const tasks = yield* TaskStore
        const tenant = fresh()
        const task = Samples.newTask({ tenant })
        const never = Samples.newTask({ tenant })
        const [sent, lost, unsent] = [bytesOf("sent"), bytesOf("lost"), bytesOf("unsent")]
        const [kept, gone, upload] = [labelOf(sent), labelOf(lost), labelOf(unsent)]
        yield* blobs.put(tenant, kept, sent, runOf(task.id, task.conversation), enough)
        yield* blobs.put(tenant, gone, lost, runOf(never.id, never.conversation), enough)
        yield* blobs.put(tenant, upload, unsent, { uploaded_by: "olga" }, enough)
        yield* tasks.accept(task)
        const isKept = ({ digest }: BlobLabel) =>
          Effect.map(blobs.read(tenant, digest, 0, 1), (bytes) => bytes !== undefined)
        // Nothing of it is old enough.
        while ((yield* blobs.collect(Date.now() - 3_600_000, 1_000)) > 0) continue
        for (const each of [kept, gone, upload]) assert.isTrue(yield* isKept(each))
        const before = yield* later
        while ((yield* blobs.collect(before, 1)) > 0) continue
        assert.isTrue(yield* isKept(kept))
        assert.isFalse(yield* isKept(gone))
        assert.isFalse(yield* isKept(upload))
        // Their room is free again.
        const exact = bytesOf("x".repeat(50))
        const room = sent.length + exact.length
        yield* blobs.put(tenant, labelOf(exact), exact, { uploaded_by: "olga" }, room)
        // Of another tenant nothing is released.
        yield* blobs.release(fresh(), [task.id])
        assert.isTrue(yield* isKept(kept))
        yield* blobs.release(tenant, [task.id, never.id])
        assert.isFalse(yield* isKept(kept))
        assert.lengthOf(yield* blobs.heldBy(tenant, task.conversation, kept.digest), 0)
      })
  )
}

const shareTests = (it: Vitest.MethodsNonLive<BlobStore>): void => {
  it.effect(
    "a customer's files have a share, customers leave room, and what is removed is free",
    () =>
      Effect.gen(function* () {
        const blobs = yield* BlobStore
        const [tenant, other] = [fresh(), fresh()]
        const size = bytesOf("1").length
        const put = (of: Tenant, by: string, text: string, isCustomer = true) => {
          const bytes = bytesOf(text)
          return Effect.map(
            Effect.result(
              blobs.put(
                of,
                labelOf(bytes),
                bytes,
                { uploaded_by: by },
                8 * size,
                isCustomer
                  ? { customer: by, bytes_max: 2 * size, customers_bytes_max: 5 * size }
                  : undefined
              )
            ),
            (result) => (result._tag === "Success" ? "stored" : result.failure)
          )
        }
        assert.strictEqual(yield* put(tenant, "carl", "1"), "stored")
        assert.strictEqual(yield* put(tenant, "carl", "2"), "stored")
        assert.deepInclude(yield* put(tenant, "carl", "3"), {
          _tag: "FilesFull",
          share: "customer"
        })
        // What the tenant has already takes no room, and of another tenant nothing counts.
        assert.strictEqual(yield* put(tenant, "carl", "2"), "stored")
        assert.strictEqual(yield* put(other, "carl", "3"), "stored")
        // Of many at once as many are stored as fit.
        const at_once = yield* Effect.forEach(
          ["3", "4", "5", "6", "7"],
          (text, index) => put(tenant, `c${index % 3}`, text),
          { concurrency: "unbounded" }
        )
        assert.lengthOf(
          at_once.filter((each) => each === "stored"),
          3
        )
        assert.deepInclude(yield* put(tenant, "cora", "8"), {
          share: "customers",
          bytes_max: 5 * size
        })
        for (const text of ["a", "b", "c"]) {
          assert.strictEqual(yield* put(tenant, "olga", text, false), "stored")
        }
        const full = yield* put(tenant, "olga", "d", false)
        assert.deepInclude(full, { _tag: "FilesFull", bytes_max: 8 * size })
        assert.notProperty(full, "share")
        assert.strictEqual(yield* blobs.withdraw(tenant, "carl"), 2)
        assert.strictEqual(yield* put(tenant, "carl", "1"), "stored")
        assert.strictEqual(yield* put(tenant, "cora", "8"), "stored")
        assert.deepInclude(yield* put(tenant, "cora", "9"), { share: "customers" })
      })
  )
}

export const blobStoreTests = (it: Vitest.MethodsNonLive<BlobStore | TaskStore>): void => {
  keepingTests(it)
  shareTests(it)
  collectionTests(it)
}
