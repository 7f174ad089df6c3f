// Named entities in a text, as the characters that they stand for.

import { readFileSync } from 'node:fs'

let table

/** The text with every entity that is known replaced; others stay as they are. */
export function decode(text) {
  if (!text.includes('&')) return text
  table ??= JSON.parse(readFileSync(new URL('../build/entities.json', import.meta.url), 'utf8'))
  return text.replace(/&([a-z]+);/g, (whole, name) => table[name] ?? whole)
}
