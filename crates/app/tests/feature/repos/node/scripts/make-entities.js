// Makes build/entities.json from data/entities.txt, unless it is there already.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'

const source = new URL('../data/entities.txt', import.meta.url)
const made = new URL('../build/entities.json', import.meta.url)

if (!existsSync(made) || process.argv.includes('--force')) {
  const table = {}
  for (const [index, line] of readFileSync(source, 'utf8').trimEnd().split('\n').entries()) {
    const words = line.split(' ')
    if (words.length !== 2) {
      console.error(`data/entities.txt:${index + 1}: expected a name and a character`)
      process.exit(1)
    }
    table[words[0]] = words[1]
  }
  mkdirSync(new URL('.', made), { recursive: true })
  writeFileSync(made, JSON.stringify(table))
}
