/**
 * Decides by a member's name whether its value is a secret. Names are split into words, so `author` and `compass` are not
 * secrets; neither is a count of tokens.
 */

const foreign_rows: ReadonlyArray<string> = [
  // German
  "passwort, kennwort, geheimnis, geheimwort, zugangscode",
  // French
  "mot de passe, mdp, jeton, code secret, clé secrète",
  // Spanish
  "contraseña, clave, secreto, palabra de paso",
  // Portuguese
  "senha, palavra-passe, segredo",
  // Italian
  "parola d'ordine, parola, segreto, gettone",
  // Dutch
  "wachtwoord, geheim",
  // Catalan
  "contrasenya",
  // Polish
  "hasło, haslo, sekret",
  // Czech, Slovak
  "heslo, tajemství, tajomstvo",
  // Hungarian
  "jelszó, titok",
  // Swedish
  "lösenord, hemlighet",
  // Norwegian, Danish, Icelandic
  "passord, hemmelighet, adgangskode, kodeord, hemmelighed, lykilorð",
  // Finnish, Estonian
  "salasana, salaisuus, parool, salasõna",
  // Lithuanian
  "slaptažodis",
  // Croatian, Serbian, Slovenian
  "lozinka, zaporka, geslo, лозинка",
  // Turkish
  "şifre",
  // Romanian
  "parolă",
  // Russian, Ukrainian, Bulgarian
  "пароль, секрет, токен, парола, гасло",
  // Greek
  "κωδικός, συνθηματικό, μυστικό",
  // Hebrew
  "סיסמה, סיסמא",
  // Arabic
  "كلمة السر, كلمة المرور, كلمة سر, كلمة مرور, الرمز السري",
  // Persian
  "رمز عبور, گذرواژه",
  // Hindi, Bengali, Tamil
  "पासवर्ड, कूटशब्द, পাসওয়ার্ড, கடவுச்சொல்",
  // Thai
  "รหัสผ่าน",
  // Vietnamese
  "mật khẩu",
  // Indonesian, Malay
  "kata sandi, kata laluan, rahasia",
  // Swahili
  "neno la siri, nenosiri",
  // Chinese
  "密码, 密碼, 口令, 密钥, 密鑰, 令牌",
  // Japanese
  "パスワード, 暗証番号, 合言葉, トークン",
  // Korean
  "비밀번호, 암호, 토큰"
]

const plain = /^[a-z0-9]*$/

/** The text without case, accents and what joins words, so that all ways of writing a word are equal. */
const foldedWord = (text: string): string =>
  plain.test(text)
    ? text
    : text
        .normalize("NFD")
        .replace(/[\p{Mn}\s_.'’-]/gu, "")
        .toLowerCase()

const phrases: ReadonlyArray<string> = foreign_rows.flatMap((row) => row.split(", "))

const folded: ReadonlySet<string> = new Set(phrases.map(foldedWord))

/** Words that are too long to be part of another one, or of a script that is written without spaces. */
const foreign_anywhere = new RegExp(
  [...folded]
    .filter((word) => word.length >= 8 || /[\p{Lo}]/u.test(word))
    .sort((a, b) => b.length - a.length)
    .join("|")
)

/** Whether a name, which has these words, is that of a secret in another language. */
export const isForeignSecret = (name: string, words: ReadonlyArray<string>): boolean => {
  const whole = foldedWord(name)
  return (
    folded.has(whole) ||
    (words.length > 1 && words.some((word) => folded.has(foldedWord(word)))) ||
    foreign_anywhere.test(whole)
  )
}

/** A pattern of every phrase, as it is written, with any white space between its words. */
export const foreign_phrases: string = phrases
  .toSorted((a, b) => b.length - a.length)
  .map((phrase) => phrase.normalize("NFKC").replaceAll(" ", "[\\s_-]{1,4}"))
  .join("|")

/** Parts that mark a name as secret anywhere in it. */
const anywhere =
  /passw|passphrase|passcode|secret|credential|authorization|api[-_ ]?key|access[-_ ]?key|private[-_ ]?key|secret[-_ ]?key|signing[-_ ]?key|encryption[-_ ]?key|account[-_ ]?key|shared[-_ ]?key|storage[-_ ]?key|license[-_ ]?key|master[-_ ]?key|ssh[-_ ]?key|deploy[-_ ]?key|cookie|connection[-_ ]?string|token(?!s?[-_ ]?(?:max|min|count|limit|used|total|ize))/i
const counted =
  /(?:max|min|input|output|total|used|cached|reasoning|num|count|prompt|completion)[-_ ]?tokens?$|^tokens?$/i
/** Words that mark a name as secret only as whole words. */
const words: ReadonlySet<string> = new Set(
  "pass pwd pw passwd psw auth oauth bearer jwt pin otp totp cvv cvc cvv2 ssn sig signature hmac nonce sid sessionid apikey dsn".split(
    " "
  )
)

const name_units_max = 200

/** Whether a member of this name is a secret. `value`, where known: null, booleans and counts of tokens are not. */
export const isSecretName = (name: string, value?: unknown): boolean => {
  if (value === null || typeof value === "boolean") return false
  const short = name.slice(0, name_units_max)
  if (typeof value === "number" && counted.test(short)) return false
  if (anywhere.test(short)) return true
  const parts = short
    .replace(/([\p{Ll}\d])(\p{Lu})/gu, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{M}\p{N}]+/u)
  return parts.some((word) => words.has(word)) || isForeignSecret(short, parts)
}

const amount =
  /(?:^|[^\p{L}])(?:amount|amt|price|total|sum|subtotal|cost|value|balance|quantity|qty|count|limit|fee|tax|charge|credit|debit|refund|payment|budget|rate|percent|used|bound)s?(?:[^\p{L}]|$)/iu

/** Whether a member of this name is an amount, which is not redacted: an approver has to see it. */
export const isAmountName = (name: string): boolean =>
  amount.test(name.slice(0, name_units_max).replace(/(\p{Ll})(\p{Lu})/gu, "$1 $2"))
