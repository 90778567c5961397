/** Forms with a file, as programs send them, and as nobody should. */
import { assert, describe, it } from "@effect/vitest"
import { readFileForm } from "../../layers/http/FileForm.ts"

const utf8 = (text: string) => new TextEncoder().encode(text)
const textOf = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes)
const type = "multipart/form-data; boundary=x"

const field = (disposition: string, data: string, ...headers: ReadonlyArray<string>) =>
  ["--x", `Content-Disposition: form-data; ${disposition}`, ...headers, "", data, ""].join("\r\n")
const file = field('name="file"; filename="a.png"', "bytes", "Content-Type: image/png")
const digest = field('name="digest"', "ABC")
const read = (text: string, as = type) => readFileForm(utf8(text), as)

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
        const found = readFileForm(
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

  it("is read as other programs send it", () => {
    assert.strictEqual(read(`${file}--x--`)?.name, "a.png")
    assert.strictEqual(read(`${file}${digest}--x--\r\n`)?.digest, "ABC")
    assert.strictEqual(
      read(`${file}--x--`, 'Multipart/Form-Data; Boundary="x"; a=b')?.name,
      "a.png"
    )
    const quoted = field(String.raw`name="file"; filename="a\"b\\.png"`, "")
    assert.strictEqual(read(`${quoted}--x--`)?.name, String.raw`a"b\.png`)
    const encoded = field(`name="file"; filename="_"; filename*=UTF-8''%C3%A4.png`, "1")
    assert.strictEqual(read(`${encoded}--x--`)?.name, "ä.png")
    const bare = read(`${field('name="file"; filename=""', "1")}--x--`)
    assert.deepStrictEqual([bare?.name, bare?.media_type], [undefined, undefined])
    assert.strictEqual(textOf(read(`${file}--x--`)?.data), "bytes")
  })

  it("is none with other fields, without an end, or with broken parts", () => {
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
      assert.isUndefined(read(text), JSON.stringify(text))
    }
    for (const as of ["multipart/form-data", "multipart/form-data; boundary=", `${type}y`]) {
      assert.isUndefined(read(`${file}--x--`, as), as)
    }
  })

  it("is refused at its third part, and at headers that are too long, without reading the rest", () => {
    const begun = performance.now()
    for (const text of [
      digest.repeat(300_000),
      `--x\r\n${"A: b\r\n".repeat(2_000_000)}\r\n1\r\n--x--`,
      field(`name="${String.raw`\"`.repeat(5_000_000)}`, "1"),
      field(`name="file"${";".repeat(5_000_000)}`, "1"),
      field(`name="file"; filename="${"%22".repeat(5_000_000)}"`, "1"),
      `--x\r\nContent-Disposition: form-data${`; name="`.repeat(1_000)}\r\n\r\n1\r\n--x--`,
      `--x\r\nContent-Disposition: form-data${";\t".repeat(4_000)}\r\n\r\n1\r\n--x--`
    ]) {
      assert.isUndefined(read(`${text}--x--`))
    }
    // A parser of any form takes seconds for the first of them alone.
    assert.isBelow(performance.now() - begun, 2_000)
  })
})
