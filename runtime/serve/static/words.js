// The page's messages in the reader's language, as the server put them into the page, and how numbers are written in it.

const { lang, words } = JSON.parse(document.getElementById("words").textContent);
const plural = new Intl.PluralRules(lang);

export const locale = lang === "en" ? "en-GB" : lang;
export const number = (value, digits = 0) => value.toLocaleString(locale, { minimumFractionDigits: digits, maximumFractionDigits: digits });

// A message with its places filled: t("photos", { n: 3 }) is "3 photos". `n` decides its plural form; numbers are written as the language does.
export function t(key, given = {}) {
  const message = words[key], text = typeof message === "string" ? message : message[plural.select(given.n)] ?? message.other;
  return text.replace(/\{(\w+)\}/g, (_, name) => (typeof given[name] === "number" ? number(given[name]) : given[name]));
}

const lists = new Intl.ListFormat(locale, { type: "unit", style: "long" });
export const list = (names) => lists.format(names);

// A message for a line of its own: `code` is not marked as such.
export const plain = (key) => t(key).replaceAll("`", "");

// What a search remarks on. A value with words of its own ("portrait") has a message of its own.
export function remarked({ code, ...given }) {
  if (code === "line") return given.text;
  const one = `remark.${code}.${given.name}`;
  return t(words[one] ? one : `remark.${code}`, given);
}

// What the server refuses: its message, or its English line where the page has none.
export const refused = ({ code, given, detail }) => (words[`problem.${code}`] ? t(`problem.${code}`, given) : detail);

// Of a name that the server gives: its message, or the name itself where the page has none.
export const named = (key, name) => words[key] ?? name;
