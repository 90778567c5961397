/**
 * What people call a password, a secret or a token in other languages than English, one row each. Words that only mean a key are
 * left out, as `key` is.
 */

const rows: ReadonlyArray<string> = [
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

const phrases: ReadonlyArray<string> = rows.flatMap((row) => row.split(", "))

const folded: ReadonlySet<string> = new Set(phrases.map(foldedWord))

/** Words that are too long to be part of another one, or of a script that is written without spaces. */
const anywhere = new RegExp(
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
    anywhere.test(whole)
  )
}

/** A pattern of every phrase, as it is written, with any white space between its words. */
export const foreign_phrases: string = phrases
  .toSorted((a, b) => b.length - a.length)
  .map((phrase) => phrase.normalize("NFKC").replaceAll(" ", "[\\s_-]{1,4}"))
  .join("|")
