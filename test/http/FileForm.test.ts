/** Forms with a file, as programs send them, and as nobody should. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileForm } from "../../layers/http/stream/FileForm.ts"

const utf8 = (text: string) => new TextEncoder().encode(text)
const textOf = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes)
const type = "multipart/form-data; boundary=x"

const field = (disposition: string, data: string, ...headers: ReadonlyArray<string>) =>
  ["--x", `Content-Disposition: form-data; ${disposition}`, ...headers, "", data, ""].join("\r\n")
const file = field('name="file"; filename="a.png"', "bytes", "Content-Type: image/png")
const digest = field('name="digest"', "ABC")
const readBytes = (bytes: Uint8Array, as: string) => Effect.runPromise(readFileForm(bytes, as))
const read = (text: string, as = type) => readBytes(utf8(text), as)
const nameOf = async (text: string, as?: string) => (await read(text, as))?.name

describe("a form with a file", () => {
  it("is read as `fetch` and browsers send it, whatever bytes the file has", async () => {
    const bytes = Uint8Array.from({ length: 70_000 }, (_, i) => (i * 31) % 256)
    const tricky = utf8("\r\n--\r\n------formdata-undici-\r\n\r\n--")
    for (const data of [bytes, tricky, new Uint8Array()]) {
      for (const name of ['an "ä" %22 \\ b.png', "a;b=c.png", "plain.png"]) {
        const form = new FormData()
        form.append("digest", "abc")
        form.append("file", new File([data], name, { type: "image/png" }))
        const sent = new Response(form)
        const found = await readBytes(
          new Uint8Array(await sent.clone().arrayBuffer()),
          sent.headers.get("content-type")!
        )
        const parsed = (await sent.formData()).get("file") as File
        assert.deepStrictEqual(found?.data, data)
        assert.deepStrictEqual([found?.media_type, found?.digest], ["image/png", "abc"])
        // A percent sign that was typed cannot be told from one that was made.
        if (!name.includes("%22")) assert.strictEqual(found?.name, parsed.name)
      }
    }
  })

  it("is read as other programs send it", async () => {
    assert.strictEqual(await nameOf(`${file}--x--`), "a.png")
    assert.strictEqual((await read(`${file}${digest}--x--\r\n`))?.digest, "ABC")
    const as = 'Multipart/Form-Data; Boundary="x"; a=b'
    assert.strictEqual(await nameOf(`${file}--x--`, as), "a.png")
    const quoted = field(String.raw`name="file"; filename="a\"b\\.png"`, "")
    assert.strictEqual(await nameOf(`${quoted}--x--`), String.raw`a"b\.png`)
    const encoded = field(`name="file"; filename="_"; filename*=UTF-8''%C3%A4.png`, "1")
    assert.strictEqual(await nameOf(`${encoded}--x--`), "ä.png")
    const bare = await read(`${field('name="file"; filename=""', "1")}--x--`)
    assert.deepStrictEqual([bare?.name, bare?.media_type], [undefined, "application/octet-stream"])
    assert.strictEqual(textOf((await read(`${file}--x--`))?.data), "bytes")
  })

  it("is none with other fields, without an end, or with broken parts", async () => {
    for (const text of [
      "",
      "--x--",
      file,
      `${digest}--x--`,
      `${file}${file}--x--`,
      `${file}${digest}${digest}--x--`,
      `${file}${field('name="other"', "1")}--x--`,
      `${file}${field('name="digest"; filename="d"', "1")}--x--`,
      `${field('name="file"', "a text")}--x--`,
      '--x\r\nContent-Disposition: attachment; name="file"\r\n\r\n1\r\n--x--',
      "--x\r\nContent-Type: image/png\r\n\r\n1\r\n--x--",
      '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n--x--',
      `${file}--xy`
    ]) {
      assert.isUndefined(await read(text), JSON.stringify(text))
    }
    for (const as of ["multipart/form-data", "multipart/form-data; boundary=", `${type}y`]) {
      assert.isUndefined(await read(`${file}--x--`, as), as)
    }
  })

  it("is refused at its third part, and at headers that are too long, in few turns of the event loop", async () => {
    for (const begins of [
      digest.repeat(1_000),
      `--x\r\n${"A: b\r\n".repeat(20_000)}`,
      field(`name="${String.raw`\"`.repeat(50_000)}`, "1"),
      `--x\r\nContent-Disposition: form-data; name="file"${";".repeat(100_000)}`,
      `--x\r\nContent-Disposition: form-data; name="digest"\r\n\r\n${"1".repeat(100_000)}`
    ]) {
      const bytes = new Uint8Array(20_000_000)
      bytes.set(utf8(begins))
      let read_to = 0
      bytes.subarray = (from = 0, to) => {
        read_to = from
        return new Uint8Array(bytes.buffer, from, (to ?? bytes.length) - from)
      }
      assert.isUndefined(await readBytes(bytes, type), begins.slice(0, 40))
      assert.isBelow(read_to, 200_000, begins.slice(0, 40))
    }
  })
})
