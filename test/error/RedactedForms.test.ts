/** Secrets in the forms in which programs and people write them: flags, JSON in JSON, XML, webhooks, blocks, other languages and digits. */
import { assert, describe, it } from "vitest"
import { argsSummary } from "../../src/approval/ArgsSummary.ts"
import { read_units_max, redact } from "../../src/error/Redaction.ts"

/** The secret, which is in none of the texts below when they are redacted. */
const s = "hunter2"

const inner = JSON.stringify({ password: s, user: "jane" })
const nested = JSON.stringify({ body: inner })
const deeper = JSON.stringify({ body: nested })
const html = inner.replaceAll('"', "&quot;")

const forms: ReadonlyArray<readonly [text: string, clean: string]> = [
  // flags
  [`mysql --password=${s} -h x`, "mysql --password=[secret] -h x"],
  [`--password ${s}`, "--password [secret]"],
  [`--password "${s} more" -x`, '--password "[secret]" -x'],
  [`--password='${s}' -x`, "--password='[secret]' -x"],
  [`login -password ${s}`, "login -password [secret]"],
  [`tool --api-key ${s} --verbose`, "tool --api-key [secret] --verbose"],
  [`plink -pw ${s} host`, "plink -pw [secret] host"],
  [`["--token","${s}","x"]`, '["--token","[secret]","x"]'],
  [`{"args":["--token", "${s}"]}`, '{"args":["--token", "[secret]"]}'],
  [`app --passwort=${s}`, "app --passwort=[secret]"],
  [`mysqldump -u root -p${s} db`, "mysqldump -u root -p[secret] db"],
  [`mariadb -uroot -p'${s}'`, "mariadb -uroot -p'[secret]'"],
  [`sshpass -p ${s} ssh x`, "sshpass -p [secret] ssh x"],
  [`docker login -u jane -p ${s} x`, "docker login -u jane -p [secret] x"],
  [`redis-cli -h x -a ${s} ping`, "redis-cli -h x -a [secret] ping"],
  [`curl -u jane:${s} https://x/`, "curl -u jane:[secret] https://x/"],
  [`curl --user "jane:${s}" https://x/`, 'curl --user "jane:[secret]" https://x/'],
  [`7z x a.7z -p${s}`, "7z x a.7z -p[secret]"],
  [`zip -P ${s} a.zip b`, "zip -P [secret] a.zip b"],
  [`openssl rsa -passin pass:${s} -in k`, "openssl rsa -passin pass:[secret] -in k"],
  [`PGPASSWORD=${s} psql -U jane`, "PGPASSWORD=[secret] psql -U jane"],
  // JSON in JSON
  [inner, '{"password":"[secret]","user":"jane"}'],
  [nested, JSON.stringify({ body: inner.replace(s, "[secret]") })],
  [deeper, deeper.replace(s, "[secret]")],
  [`{\\u0022token\\u0022:\\u0022${s}\\u0022}`, "{\\u0022token\\u0022:\\u0022[secret]\\u0022}"],
  [html, html.replace(s, "[secret]")],
  [`%7B%22password%22%3A%22${s}%22%7D`, "%7B%22password%22%3A%22[secret]%22%7D"],
  [`{"password":"pa\\"${s}"}`, '{"password":"[secret]"}'],
  [`{"name":"DB_PASSWORD","value":"${s}"}`, '{"name":"DB_PASSWORD","value":"[secret]"}'],
  [`- name: API_TOKEN\n  value: ${s}\n`, "- name: API_TOKEN\n  value: [secret]\n"],
  [`:password => "${s}"`, ':password => "[secret]"'],
  // XML
  [`<password>${s}</password>`, "<password>[secret]</password>"],
  [`<w:Password Type="x">${s}</w:Password>`, '<w:Password Type="x">[secret]</w:Password>'],
  [`<a><token><![CDATA[${s}]]></token></a>`, "<a><token><![CDATA[[secret]]]></token></a>"],
  [`&lt;password&gt;${s}&lt;/password&gt;`, "&lt;password&gt;[secret]&lt;/password&gt;"],
  [`<user name="jane" password="${s}"/>`, '<user name="jane" password="[secret]"/>'],
  [`<add key="ApiToken" value="${s}" />`, '<add key="ApiToken" value="[secret]" />'],
  // webhooks
  [`https://hooks.slack.com/services/T0/B0/${s}`, "https://hooks.slack.com/[secret]"],
  [`https://hooks.slack.com/workflows/T0/${s}`, "https://hooks.slack.com/[secret]"],
  [`https:\\/\\/hooks.slack.com\\/services\\/T0\\/${s}`, "https:\\/\\/hooks.slack.com\\/[secret]"],
  [
    `https%3A%2F%2Fhooks.slack.com%2Fservices%2FT0%2F${s}`,
    "https%3A%2F%2Fhooks.slack.com%2F[secret]"
  ],
  [`https://discord.com/api/webhooks/1/${s}`, "https://discord.com/api/webhooks/[secret]"],
  [
    `https://ptb.discordapp.com/api/v10/webhooks/1/${s}`,
    "https://ptb.discordapp.com/api/v10/webhooks/[secret]"
  ],
  [`https://acme.webhook.office.com/webhookb2/${s}@x`, "https://acme.webhook.office.com/[secret]"],
  [`https://outlook.office.com/webhook/${s}`, "https://outlook.office.com/webhook/[secret]"],
  [
    `https://prod-1.westus.logic.azure.com:443/workflows/${s}?sig=x`,
    "https://prod-1.westus.logic.azure.com:443/[secret]"
  ],
  [
    `https://chat.googleapis.com/v1/spaces/A/messages?key=${s}`,
    "https://chat.googleapis.com/v1/spaces/[secret]"
  ],
  [`https://api.telegram.org/bot1:${s}/getMe now`, "https://api.telegram.org/bot[secret] now"],
  // blocks
  [
    `a -----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: x-1\n\n${s}\n=ab\n-----END PGP PRIVATE KEY BLOCK----- b`,
    "a [secret] b"
  ],
  [`-----BEGIN PGP MESSAGE-----\n${s}\n-----END PGP MESSAGE-----`, "[secret]"],
  [
    `-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,7\n\n${s}\n-----END RSA PRIVATE KEY-----`,
    "[secret]"
  ],
  [`-----BEGIN OPENSSH PRIVATE KEY-----\\n${s}`, "[secret]"],
  [
    `---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n${s}\n---- END SSH2 ENCRYPTED PRIVATE KEY ----`,
    "[secret]"
  ],
  // other scripts of digits
  ["٤١١١ ١١١١ ١١١١ ١١١١", "[card]"],
  ["۴۱۱۱۱۱۱۱۱۱۱۱۱۱۱۱", "[card]"],
  ["４１１１-１１１１-１１１１-１１１１", "[card]"],
  ["४१११ ११११ ११११ ११११", "[card]"],
  ["+٩٧١ ٥٠ ١٢٣ ٤٥٦٧", "[phone]"],
  ["＋４９ １５１ ７９６８８５２６", "[phone]"],
  ["+۴۹ ۱۵۱ ۷۹۶۸۸۵۲۶", "[phone]"]
]

/** In words: how people name a password, and tell it. */
const told: ReadonlyArray<string> = [
  "das Passwort ist",
  "Kennwort:",
  "le mot de passe est",
  "Mot de passe :",
  "mdp=",
  "la contraseña es",
  "contrasena:",
  "clave=",
  "a senha é",
  "palavra-passe:",
  "la parola d'ordine è",
  "het wachtwoord is",
  "hasło to",
  "haslo:",
  "heslo je",
  "jelszó:",
  "lösenordet är".replace("et", ""),
  "passord er",
  "adgangskode:",
  "salasana on",
  "şifre:",
  "sifre=",
  "parola:",
  "пароль:",
  "Пароль —",
  "токен=",
  "κωδικός:",
  "סיסמה:",
  "كلمة المرور:",
  "كلمة السر هي",
  "رمز عبور:",
  "पासवर्ड:",
  "รหัสผ่าน:",
  "mật khẩu:",
  "kata sandi:",
  "密码：",
  "密碼是",
  "口令=",
  "パスワード：",
  "パスワードは",
  "暗証番号:",
  "비밀번호:",
  "비밀번호는 "
]

const readable = [
  "git push -p origin main",
  "docker run -p 8080:80 nginx",
  "ssh -p 2222 host",
  "mkdir -p a/b",
  "docker login --password-stdin registry.example.com",
  "--token-file /run/token",
  "mysql -p -h db.example",
  "--pass-through --verbose",
  "<title>password policy</title>",
  "<keyword>sale</keyword>",
  "https://discord.com/channels/1/2",
  "https://slack.com/help",
  "-----BEGIN PGP SIGNED MESSAGE-----\nPay 5 EUR",
  "٢٠٢٦-١١-٢٢",
  "order ١٠٠٣",
  "la clave del éxito",
  "die Geheimnisse der Küche",
  "パスワードを変更してください",
  "忘记密码了",
  "the parole board met",
  "name: jane, value: 7"
]

describe("redaction of secrets as programs and people write them", () => {
  for (const [text, clean] of forms) {
    it(`ST-28 hides the secret in ${JSON.stringify(text).slice(0, 90)}`, () => {
      assert.strictEqual(redact(text), clean)
      assert.strictEqual(redact(clean), clean)
      assert.notInclude(argsSummary({ text }), s)
    })
  }

  for (const words of told) {
    it(`ST-28 hides what is told after ${JSON.stringify(words)}`, () => {
      const clean = redact(`x, ${words} ${s}, y`)
      assert.notInclude(clean, s)
      assert.isTrue(clean.startsWith("x, ") && clean.endsWith(", y"), clean)
    })
  }

  for (const text of readable) {
    it(`ST-28 leaves ${JSON.stringify(text)} as it is`, () => {
      assert.strictEqual(redact(text), text)
    })
  }

  it("ST-28 hides a member under the name of a secret in another language, and one behind a flag", () => {
    for (const name of [
      "passwort",
      "db_heslo",
      "motDePasse",
      "mot_de_passe",
      "CONTRASEÑA",
      "userSenha",
      "wachtwoord",
      "пароль",
      "密码",
      "用户密码",
      "パスワード",
      "비밀번호",
      "كلمة المرور",
      "mật_khẩu",
      "รหัสผ่าน"
    ]) {
      assert.notInclude(argsSummary({ [name]: s }), s, name)
    }
    assert.notInclude(argsSummary({ args: ["--password", s, "-h", "x"] }), s)
    assert.notInclude(argsSummary({ program: "mysql", args: ["-u", "root", `-p${s}`] }), s)
    assert.notInclude(argsSummary({ env: [{ name: "API_TOKEN", value: s }] }), s)
    assert.include(argsSummary({ args: ["--verbose", "plain"] }), "plain")
    assert.include(argsSummary({ env: [{ name: "LANG", value: "plain" }] }), "plain")
  })

  it("reads a bounded beginning of a hostile text", { timeout: 10_000 }, () => {
    const pieces = [
      "--password ",
      "-p",
      "mysql -p",
      "curl -u a:",
      "<password>",
      "<a ",
      '\\"password\\":',
      '\\\\\\\\"',
      "pw=",
      "name:password value:",
      "-----BEGIN A-----",
      "---- BEGIN A ----",
      "https://hooks.slack.com/",
      "//a/hooks/",
      "%22",
      "&quot;",
      "密码是",
      "пароль: ",
      "٤",
      "Private-Lines: 1 "
    ]
    for (const piece of pieces) {
      const text = redact(piece.repeat(1_000_000 / piece.length))
      assert.isAtMost(text.length, 4 * read_units_max, piece)
    }
  })
})
